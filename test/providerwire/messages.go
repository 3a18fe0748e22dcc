package providerwire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// messages is Anthropic Messages. Its state is that of one answer.
type messages struct {
	id, model string
	open      string // kind of the open content block: "", "text", "thinking", "tool_use"
	index     int    // of the open block, or of the next one if none is open
	calls     int
}

func (*messages) api() API { return Messages }

func (*messages) key(h http.Header) (string, bool) {
	if key := h.Get("X-Api-Key"); key != "" {
		return key, true
	}
	return bearer(h)
}

func (d *messages) begin(r *Request) { d.id, d.model = fmt.Sprintf("msg_%d", r.N), r.Model }

func (*messages) errorBody(r *refusal) string {
	b, _ := json.Marshal(obj{"type": "error", "error": obj{"type": r.kind, "message": r.message}, "request_id": "req_secret_123"})
	return string(b)
}

func (*messages) decode(r *Request) error {
	var in struct {
		Model     string
		Stream    bool
		MaxTokens int64 `json:"max_tokens"`
		System    json.RawMessage
		Messages  []struct {
			Role    string
			Content json.RawMessage
		}
		Tools      []struct{ Name string }
		ToolChoice toolChoice `json:"tool_choice"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return err
	}
	if in.MaxTokens <= 0 {
		return fmt.Errorf("max_tokens: field required")
	}
	if r.Header.Get("Anthropic-Version") == "" {
		return fmt.Errorf("anthropic-version: header is required")
	}
	system, _, err := contentText(in.System)
	if err != nil {
		return fmt.Errorf("system: %w", err)
	}
	r.Model, r.Stream, r.MaxTokens, r.Instructions = in.Model, in.Stream, in.MaxTokens, system
	r.ToolChoice = in.ToolChoice.name()
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for i, m := range in.Messages {
		if i == 0 && m.Role != "user" {
			return fmt.Errorf("messages: first message must use the %q role", "user")
		}
		if err := messageInto(r, m.Role, m.Content); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if p := r.Partial(); p != strings.TrimRight(p, " \t\n") {
		return fmt.Errorf("messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

type messagesBlock struct {
	Type, Text, Thinking, Signature, Data string
	ID, Name                              string
	Input                                 json.RawMessage
	ToolUseID                             string `json:"tool_use_id"`
	Content                               json.RawMessage
}

// messageInto splits a message's blocks: tool results become messages of their own.
func messageInto(r *Request, role string, content json.RawMessage) error {
	if role != "user" && role != "assistant" {
		return fmt.Errorf("role: %q is not user or assistant", role)
	}
	var blocks []messagesBlock
	if len(content) > 0 && content[0] == '"' {
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return err
		}
		blocks = []messagesBlock{{Type: "text", Text: text}}
	} else if err := json.Unmarshal(content, &blocks); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	out := Message{Role: role}
	for i, b := range blocks {
		if err := b.into(r, &out); err != nil {
			return fmt.Errorf("content.%d: %w", i, err)
		}
	}
	if out.Text == "" && out.Reasoning == "" && len(out.Calls)+out.Files+len(out.Signatures) == 0 {
		if len(blocks) == 0 {
			return fmt.Errorf("content: at least one block is required")
		}
		return nil // tool results only
	}
	r.Messages = append(r.Messages, out)
	return nil
}

func (b messagesBlock) into(r *Request, out *Message) error {
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("text content blocks must contain non-whitespace text")
		}
		out.Text += b.Text
	case "thinking":
		if b.Signature == "" {
			return fmt.Errorf("thinking.signature: field required")
		}
		out.Reasoning += b.Thinking
		out.Signatures = append(out.Signatures, b.Signature)
	case "redacted_thinking":
		out.Signatures = append(out.Signatures, b.Data)
	case "tool_use":
		if len(b.Input) == 0 || b.Input[0] != '{' {
			return fmt.Errorf("tool_use.input: should be an object")
		}
		out.Calls = append(out.Calls, Call{b.ID, b.Name, string(b.Input)})
	case "tool_result":
		text, files, err := contentText(b.Content)
		if err != nil {
			return err
		}
		r.Messages = append(r.Messages, Message{Role: "tool", CallID: b.ToolUseID, Text: text, Files: files})
	case "image", "document":
		out.Files++
	default:
		return fmt.Errorf("a block of type %q", b.Type)
	}
	return nil
}

func (d *messages) start() []event {
	return []event{{"message_start", obj{"type": "message_start", "message": obj{
		"id": d.id, "type": "message", "role": "assistant", "model": d.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": obj{"input_tokens": 1, "output_tokens": 1},
	}}}}
}

// block opens a block of the kind, unless one is open; it closes another one.
func (d *messages) block(kind string, body obj) []event {
	if d.open == kind && kind != "tool_use" {
		return nil
	}
	events := d.close()
	d.open = kind
	body["type"] = kind
	return append(events, event{"content_block_start", obj{"type": "content_block_start", "index": d.index, "content_block": body}})
}

func (d *messages) close() []event {
	if d.open == "" {
		return nil
	}
	d.open = ""
	d.index++
	return []event{{"content_block_stop", obj{"type": "content_block_stop", "index": d.index - 1}}}
}

func (d *messages) delta(delta obj) event {
	return event{"content_block_delta", obj{"type": "content_block_delta", "index": d.index, "delta": delta}}
}

func (d *messages) text(piece string) []event {
	return append(d.block("text", obj{"text": ""}), d.delta(obj{"type": "text_delta", "text": piece}))
}

func (d *messages) reasoning(piece string) []event {
	return append(d.block("thinking", obj{"thinking": "", "signature": ""}), d.delta(obj{"type": "thinking_delta", "thinking": piece}))
}

func (d *messages) signature(sig string) []event {
	events := append(d.block("thinking", obj{"thinking": "", "signature": ""}), d.delta(obj{"type": "signature_delta", "signature": sig}))
	return append(events, d.close()...)
}

func (d *messages) callStart(id, tool string) []event {
	d.calls++
	return d.block("tool_use", obj{"id": id, "name": tool, "input": obj{}})
}

func (d *messages) callDelta(piece string) []event {
	return []event{d.delta(obj{"type": "input_json_delta", "partial_json": piece})}
}

func (d *messages) finish(reason string, u Usage) []event {
	stop := map[string]string{"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}[reason]
	if reason == "stop" && d.calls > 0 {
		stop = "tool_use"
	}
	return append(d.close(),
		event{"message_delta", obj{
			"type": "message_delta", "delta": obj{"stop_reason": stop, "stop_sequence": nil},
			"usage": obj{"input_tokens": u.Input - u.CacheRead, "output_tokens": u.Output, "cache_read_input_tokens": u.CacheRead},
		}},
		event{"message_stop", obj{"type": "message_stop"}},
	)
}

func (*messages) streamError(kind, message string) []event {
	return []event{{"error", obj{"type": "error", "error": obj{"type": kind, "message": message}}}}
}

func (*messages) keepAlive() []event { return []event{{"ping", obj{"type": "ping"}}} }
