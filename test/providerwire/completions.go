package providerwire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// completions is OpenAI Chat Completions. Its state is that of one answer.
type completions struct {
	id, model  string
	wantsUsage bool
	calls      int // so far
}

func (*completions) api() API { return Completions }

func (*completions) key(h http.Header) (string, bool) { return bearer(h) }

func bearer(h http.Header) (string, bool) {
	key, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return key, ok && key != ""
}

func (d *completions) begin(r *Request) {
	d.id, d.model, d.wantsUsage = fmt.Sprintf("chatcmpl-%d", r.N), r.Model, r.wantsUsage
}

func (*completions) errorBody(r *refusal) string { return openAIError(r) }

func openAIError(r *refusal) string {
	b, _ := json.Marshal(obj{"error": obj{"message": r.message, "type": r.kind, "param": nil, "code": r.code}})
	return string(b)
}

// obj is a JSON object.
type obj = map[string]any

func (*completions) decode(r *Request) error {
	var in struct {
		Model         string
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		MaxTokens           int64 `json:"max_tokens"`
		MaxCompletionTokens int64 `json:"max_completion_tokens"`
		Messages            []completionsMessage
		Tools               []struct{ Function struct{ Name string } }
		ToolChoice          toolChoice `json:"tool_choice"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return err
	}
	r.Model, r.Stream, r.wantsUsage = in.Model, in.Stream, in.StreamOptions.IncludeUsage
	r.ToolChoice = in.ToolChoice.name()
	r.MaxTokens = max(in.MaxTokens, in.MaxCompletionTokens)
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for i, m := range in.Messages {
		if err := m.into(r); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return nil
}

type completionsMessage struct {
	Role             string
	Content          json.RawMessage
	ReasoningContent string `json:"reasoning_content"`
	ToolCallID       string `json:"tool_call_id"`
	ToolCalls        []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (m completionsMessage) into(r *Request) error {
	text, files, err := contentText(m.Content)
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		r.Instructions += text
		return nil
	case "user", "assistant", "tool":
	default:
		return fmt.Errorf("role %q is not one of system, developer, user, assistant, tool", m.Role)
	}
	out := Message{Role: m.Role, Text: text, Files: files, Reasoning: m.ReasoningContent, CallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		if !json.Valid([]byte(c.Function.Arguments)) {
			return fmt.Errorf("tool_calls: arguments of %q are not JSON", c.ID)
		}
		out.Calls = append(out.Calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
	}
	if m.Role == "assistant" && text == "" && len(out.Calls) == 0 && out.Reasoning == "" {
		return fmt.Errorf("an assistant message needs content or tool calls")
	}
	r.Messages = append(r.Messages, out)
	return nil
}

// toolChoice is a word, or an object with a name somewhere.
type toolChoice struct {
	word   string
	object struct {
		Type, Name string
		Function   struct{ Name string }
	}
}

func (c *toolChoice) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &c.word)
	}
	return json.Unmarshal(raw, &c.object)
}

func (c *toolChoice) name() string {
	switch {
	case c.word != "":
		return c.word
	case c.object.Type == "any":
		return "required"
	case c.object.Name+c.object.Function.Name != "":
		return c.object.Name + c.object.Function.Name
	}
	return c.object.Type
}

// contentText reads content that is a string, null, or a list of parts.
func contentText(raw json.RawMessage) (text string, files int, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", 0, nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, 0, err
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", 0, fmt.Errorf("content: %w", err)
	}
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			text += p.Text
		case "image_url", "input_image", "file", "input_file", "input_audio", "image", "document":
			files++
		default:
			return "", 0, fmt.Errorf("content: a part of type %q", p.Type)
		}
	}
	return text, files, nil
}

func (d *completions) chunk(delta obj, finish any) []event {
	return []event{{"", obj{
		"id": d.id, "object": "chat.completion.chunk", "created": 1700000000, "model": d.model,
		"choices": []any{obj{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
	}}}
}

func (d *completions) start() []event { return d.chunk(obj{"role": "assistant", "content": ""}, nil) }

func (d *completions) text(piece string) []event { return d.chunk(obj{"content": piece}, nil) }

func (d *completions) reasoning(piece string) []event {
	return d.chunk(obj{"reasoning_content": piece}, nil)
}

func (d *completions) signature(string) []event { return nil }

func (d *completions) callStart(id, tool string) []event {
	d.calls++
	return d.chunk(obj{"tool_calls": []any{obj{
		"index": d.calls - 1, "id": id, "type": "function", "function": obj{"name": tool, "arguments": ""},
	}}}, nil)
}

func (d *completions) callDelta(piece string) []event {
	return d.chunk(obj{"tool_calls": []any{obj{"index": d.calls - 1, "function": obj{"arguments": piece}}}}, nil)
}

func (d *completions) finish(reason string, u Usage) []event {
	if reason == "stop" && d.calls > 0 {
		reason = "tool_calls"
	}
	events := d.chunk(obj{}, reason)
	if d.wantsUsage {
		events = append(events, event{"", obj{
			"id": d.id, "object": "chat.completion.chunk", "created": 1700000000, "model": d.model, "choices": []any{},
			"usage": obj{
				"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
				"prompt_tokens_details":     obj{"cached_tokens": u.CacheRead},
				"completion_tokens_details": obj{"reasoning_tokens": u.Reasoning},
			},
		}})
	}
	return append(events, event{"", rawData("data: [DONE]\n\n")})
}

func (*completions) streamError(kind, message string) []event {
	return []event{{"", obj{"error": obj{"message": message, "type": kind, "code": kind}}}}
}

func (*completions) keepAlive() []event { return []event{{"", rawData(": keep-alive\n\n")}} }
