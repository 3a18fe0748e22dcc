package completions

import (
	"encoding/json"
	"strings"
)

// chunk is what counts of an event, as servers send it.
type chunk struct {
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
}

type choice struct {
	Index        int64           `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"` // of a server that does not stream
	FinishReason string          `json:"finish_reason"`
	Error        json.RawMessage `json:"error"`
	Usage        json.RawMessage `json:"usage"`
}

type delta struct {
	Content          json.RawMessage `json:"content"` // a string, null, or a list of parts
	Refusal          string          `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta     `json:"tool_calls"`
	FunctionCall     *callFunction   `json:"function_call"` // what came before tool_calls
	Annotations      json.RawMessage `json:"annotations"`
}

type callDelta struct {
	Index    *int64          `json:"index"`
	ID       string          `json:"id"`
	Function callFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content"`
}

type callFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string; some servers send an object
}

// input is the piece of the call's input, as text.
func (f callFunction) input() string {
	if isNull(f.Arguments) {
		return ""
	}
	if s, ok := text(f.Arguments); ok {
		return s
	}
	return string(f.Arguments)
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// said splits a delta's text and reasoning, and names the field of the latter.
// Content that is a list has both in it.
func (d *delta) said() (content, reasoning, field string) {
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"reasoning_content", d.ReasoningContent}, {"reasoning", d.Reasoning}} {
		if s, ok := text(f.raw); ok && (field == "" || reasoning == "") {
			reasoning, field = s, f.name
		}
	}
	if s, ok := text(d.Content); ok {
		return s + d.Refusal, reasoning, field
	}
	var parts []struct {
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	json.Unmarshal(d.Content, &parts) //nolint:errcheck // what is no list says nothing
	var said, thought strings.Builder
	said.WriteString(d.Refusal)
	for _, p := range parts {
		said.WriteString(p.Text)
		if s, ok := text(p.Thinking); ok {
			thought.WriteString(s)
			continue
		}
		var inner []struct{ Text string }
		json.Unmarshal(p.Thinking, &inner) //nolint:errcheck // as above
		for _, t := range inner {
			thought.WriteString(t.Text)
		}
	}
	if thought.Len() > 0 {
		reasoning, field = reasoning+thought.String(), "reasoning_content"
	}
	return said.String(), reasoning, field
}
