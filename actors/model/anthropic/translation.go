package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
)

// metadataKey is where our metadata lives in model.Metadata.
const metadataKey = "anthropic"

// metadata is what has to come back with a block of thinking. The names are the
// AI SDK's.
type metadata struct {
	Signature    string `json:"signature,omitempty"`
	RedactedData string `json:"redactedData,omitempty"`
	// CacheControl is the author's: a cache point behind this content.
	CacheControl json.RawMessage `json:"cacheControl,omitempty"`
}

func (m metadata) pack() model.Metadata {
	raw, err := json.Marshal(m)
	if err != nil || m.Signature == "" && m.RedactedData == "" {
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

// A translation turns one answer's events into parts.
type translation struct {
	ids *content.CallIDs
	// overlap is white space at the end of the partial answer that the request
	// had to leave out: if the model begins with it, it is already there.
	overlap string

	open     []*block // blocks that have not ended, in order
	blocks   int      // so far: their ids
	doubtful []*block // calls that have ended, but are no JSON
	called   bool

	usage    model.Usage
	reason   model.FinishReason
	sources  int
	finished bool
}

// A block is a content block under way.
type block struct {
	index    int64
	kind     string // "text", "thinking", "redacted_thinking", "tool_use", other
	id       string // of the block, or of the call
	tool     string
	input    strings.Builder
	metadata metadata
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
		return t.delta(e)
	case "content_block_stop":
		if b := t.at(e.Index); b != nil {
			return t.stop(b)
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			t.reason = finishReason(e.Delta.StopReason)
		}
		t.count(e.Usage)
	case "message_stop":
		return t.finish()
	}
	return nil
}

// finish ends the answer, and what has had no end of its own. A call that the
// limit has cut is none; input that is no JSON for another reason is the model's
// mistake, of which it has to be told.
func (t *translation) finish() (out []model.Part) {
	t.finished = true
	for len(t.open) > 0 {
		out = append(out, t.stop(t.open[0])...)
	}
	if t.reason != model.Length {
		for _, b := range t.doubtful {
			out = append(out, t.call(b))
		}
	}
	switch {
	case t.called && t.reason == model.Stop || t.called && t.reason == "": // some servers say so after calls
		t.reason = model.ToolCalls
	case !t.called && t.reason == model.ToolCalls: // and some this after none
		t.reason = model.Stop
	case t.reason == "":
		t.reason = model.OtherReason
	}
	return append(out, model.FinishPart{Reason: t.reason, Usage: t.usage})
}

// at is the open block of the index, or nil.
func (t *translation) at(index int64) *block {
	for _, b := range slices.Backward(t.open) {
		if b.index == index {
			return b
		}
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

func (t *translation) start(e sdk.MessageStreamEventUnion) (out []model.Part) {
	if last := t.at(e.Index); last != nil { // its end was forgotten
		out = t.stop(last)
	}
	c := e.ContentBlock
	b := &block{index: e.Index, kind: c.Type, metadata: metadata{Signature: c.Signature, RedactedData: c.Data}}
	t.open = append(t.open, b)
	b.id = strconv.Itoa(t.blocks)
	t.blocks++
	switch b.kind {
	case "text":
		return append(append(out, model.TextStart{ID: b.id}), t.text(b, c.Text)...)
	case "thinking":
		return append(append(out, model.ReasoningStart{ID: b.id}), thinking(b, c.Thinking)...)
	case "redacted_thinking":
		return append(out, model.ReasoningStart{ID: b.id})
	case "tool_use":
		b.id, b.tool = t.ids.Take(c.ID), c.Name
		out = append(out, model.ToolInputStart{CallID: b.id, Tool: b.tool})
		if whole, err := json.Marshal(c.Input); err == nil && string(whole) != "{}" && string(whole) != "null" {
			out = append(out, b.piece(string(whole))...) // of a server that does not stream it
		}
	}
	return out
}

func (t *translation) delta(e sdk.MessageStreamEventUnion) []model.Part {
	b, d := t.at(e.Index), e.Delta
	switch {
	case b == nil:
		return nil
	case d.Type == "text_delta" && b.kind == "text":
		return t.text(b, d.Text)
	case d.Type == "thinking_delta" && b.kind == "thinking":
		return thinking(b, d.Thinking)
	case d.Type == "signature_delta":
		b.metadata.Signature += d.Signature
	case d.Type == "input_json_delta" && b.kind == "tool_use":
		return b.piece(d.PartialJSON)
	case d.Type == "citations_delta":
		return t.source(d.Citation)
	}
	return nil
}

func (t *translation) text(b *block, s string) []model.Part {
	if t.overlap != "" && s != "" {
		s, t.overlap = strings.TrimPrefix(s, t.overlap), ""
	}
	if s == "" {
		return nil
	}
	return []model.Part{model.TextDelta{ID: b.id, Text: s}}
}

func thinking(b *block, s string) []model.Part {
	if s == "" {
		return nil
	}
	return []model.Part{model.ReasoningDelta{ID: b.id, Text: s}}
}

// piece is more of a call's input.
func (b *block) piece(s string) []model.Part {
	if s == "" {
		return nil
	}
	b.input.WriteString(s)
	return []model.Part{model.ToolInputDelta{CallID: b.id, Text: s}}
}

func (t *translation) stop(b *block) []model.Part {
	t.open = slices.DeleteFunc(t.open, func(other *block) bool { return other == b })
	switch b.kind {
	case "text":
		return []model.Part{model.TextEnd{ID: b.id}}
	case "thinking", "redacted_thinking":
		return []model.Part{model.ReasoningEnd{ID: b.id, Metadata: b.metadata.pack()}}
	case "tool_use":
		if b.input.Len() > 0 && !json.Valid([]byte(b.input.String())) {
			t.doubtful = append(t.doubtful, b)
			return nil
		}
		return []model.Part{t.call(b)}
	}
	return nil
}

func (t *translation) call(b *block) model.Part {
	t.called = true
	input := cmp.Or(b.input.String(), "{}") // a tool without parameters
	return model.ToolCall{CallID: b.id, Tool: b.tool, Input: json.RawMessage(input), Metadata: t.ids.Metadata(b.id, nil)}
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
	case "end_turn", "stop_sequence", "stop":
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
