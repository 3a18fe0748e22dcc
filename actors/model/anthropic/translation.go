package anthropic

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// metadataKey is where our metadata lives in model.Metadata.
const metadataKey = "anthropic"

// metadata is what has to come back with a block of thinking. The names are the
// AI SDK's.
type metadata struct {
	Signature    string `json:"signature,omitempty"`
	RedactedData string `json:"redactedData,omitempty"`
}

func (m metadata) pack() model.Metadata {
	raw, err := json.Marshal(m)
	if err != nil || m == (metadata{}) {
		return nil
	}
	return model.Metadata{metadataKey: raw}
}

func unpack(m model.Metadata) (out metadata) {
	if raw, ok := m[metadataKey]; ok {
		json.Unmarshal(raw, &out) //nolint:errcheck // someone else's metadata reads as none
	}
	return out
}

// A translation turns one answer's events into parts. One content block is open
// at a time.
type translation struct {
	// overlap is white space at the end of the partial answer that the request
	// had to leave out: if the model begins with it, it is already there.
	overlap string

	kind     string // of the open block: "text", "thinking", "redacted_thinking", "tool_use", other
	id       string // of the open block, or of the call
	tool     string
	input    strings.Builder
	metadata metadata

	usage    model.Usage
	reason   model.FinishReason
	sources  int
	finished bool
}

func (t *translation) event(e sdk.MessageStreamEventUnion) []model.Part {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		t.usage = model.Usage{
			Input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Output: u.OutputTokens,
			CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens,
		}
	case "content_block_start":
		return t.start(e)
	case "content_block_delta":
		return t.delta(e.Delta)
	case "content_block_stop":
		return t.stop()
	case "message_delta":
		t.reason = finishReason(e.Delta.StopReason)
		t.count(e.Usage)
	case "message_stop":
		t.finished = true
		return []model.Part{model.FinishPart{Reason: t.reason, Usage: t.usage}}
	}
	return nil
}

// count takes over the totals; what the event does not give stays.
func (t *translation) count(u sdk.MessageDeltaUsage) {
	if u.JSON.InputTokens.Valid() {
		if u.JSON.CacheReadInputTokens.Valid() {
			t.usage.CacheRead = u.CacheReadInputTokens
		}
		if u.JSON.CacheCreationInputTokens.Valid() {
			t.usage.CacheWrite = u.CacheCreationInputTokens
		}
		t.usage.Input = u.InputTokens + t.usage.CacheRead + t.usage.CacheWrite
	}
	t.usage.Output = u.OutputTokens
	t.usage.Reasoning = u.OutputTokensDetails.ThinkingTokens
}

func (t *translation) start(e sdk.MessageStreamEventUnion) []model.Part {
	b := e.ContentBlock
	t.kind, t.id, t.metadata = b.Type, strconv.FormatInt(e.Index, 10), metadata{Signature: b.Signature, RedactedData: b.Data}
	switch t.kind {
	case "text":
		return append([]model.Part{model.TextStart{ID: t.id}}, t.text(b.Text)...)
	case "thinking":
		return append([]model.Part{model.ReasoningStart{ID: t.id}}, t.thinking(b.Thinking)...)
	case "redacted_thinking":
		return []model.Part{model.ReasoningStart{ID: t.id}}
	case "tool_use":
		t.id, t.tool = b.ID, b.Name
		t.input.Reset()
		return []model.Part{model.ToolInputStart{CallID: t.id, Tool: t.tool}}
	}
	return nil
}

func (t *translation) delta(d sdk.MessageStreamEventUnionDelta) []model.Part {
	switch d.Type {
	case "text_delta":
		return t.text(d.Text)
	case "thinking_delta":
		return t.thinking(d.Thinking)
	case "signature_delta":
		t.metadata.Signature += d.Signature
	case "input_json_delta":
		if t.kind == "tool_use" && d.PartialJSON != "" {
			t.input.WriteString(d.PartialJSON)
			return []model.Part{model.ToolInputDelta{CallID: t.id, Text: d.PartialJSON}}
		}
	case "citations_delta":
		return t.source(d.Citation)
	}
	return nil
}

func (t *translation) text(s string) []model.Part {
	if t.overlap != "" && s != "" {
		s, t.overlap = strings.TrimPrefix(s, t.overlap), ""
	}
	if s == "" {
		return nil
	}
	return []model.Part{model.TextDelta{ID: t.id, Text: s}}
}

func (t *translation) thinking(s string) []model.Part {
	if s == "" {
		return nil
	}
	return []model.Part{model.ReasoningDelta{ID: t.id, Text: s}}
}

func (t *translation) stop() []model.Part {
	kind := t.kind
	t.kind = ""
	switch kind {
	case "text":
		return []model.Part{model.TextEnd{ID: t.id}}
	case "thinking", "redacted_thinking":
		return []model.Part{model.ReasoningEnd{ID: t.id, Metadata: t.metadata.pack()}}
	case "tool_use":
		input := t.input.String()
		if input == "" {
			input = "{}" // a tool without parameters
		}
		return []model.Part{model.ToolCall{CallID: t.id, Tool: t.tool, Input: json.RawMessage(input)}}
	}
	return nil
}

func (t *translation) source(c sdk.CitationsDeltaCitationUnion) []model.Part {
	t.sources++
	s := model.Source{ID: fmt.Sprintf("source-%d", t.sources), Title: c.Title}
	switch {
	case c.URL != "":
		s.URL = c.URL
	case c.DocumentTitle != "":
		s.Title, s.Filename, s.MediaType = c.DocumentTitle, c.DocumentTitle, "application/octet-stream"
	case c.Source != "":
		s.URL = c.Source
	default:
		return nil
	}
	return []model.Part{s}
}

func finishReason(stop sdk.StopReason) model.FinishReason {
	switch stop {
	case "end_turn", "stop_sequence":
		return model.Stop
	case "max_tokens", "model_context_window_exceeded":
		return model.Length
	case "tool_use":
		return model.ToolCalls
	case "refusal":
		return model.ContentFilter
	}
	return model.OtherReason
}
