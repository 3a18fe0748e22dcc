package completions

import (
	"encoding/json"
	"strconv"

	"charm.land/fantasy"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// A translation turns one answer's stream parts into ours. Blocks get numbers
// of their own: the library uses "0" for each text and each reasoning.
type translation struct {
	wire      *mender
	blocks    int
	text      string // id of the open text; "" if none is open
	reasoning string // id of the open reasoning; "" if none is open
	calls     int
	extra     map[string]json.RawMessage // by call id
}

func (t *translation) parts(p fantasy.StreamPart) []model.Part {
	switch p.Type {
	case fantasy.StreamPartTypeTextDelta:
		return t.textDelta(p.Delta)
	case fantasy.StreamPartTypeTextEnd:
		return t.endText(nil)
	case fantasy.StreamPartTypeReasoningDelta:
		return t.reasoningDelta(p.Delta)
	case fantasy.StreamPartTypeReasoningEnd:
		return t.endReasoning(nil)
	case fantasy.StreamPartTypeToolInputStart:
		return append(t.endReasoning(t.endText(nil)), model.ToolInputStart{CallID: p.ID, Tool: p.ToolCallName})
	case fantasy.StreamPartTypeToolInputDelta:
		return []model.Part{model.ToolInputDelta{CallID: p.ID, Text: p.Delta}}
	case extraContent:
		if t.extra == nil {
			t.extra = map[string]json.RawMessage{}
		}
		t.extra[p.ID] = json.RawMessage(p.Delta)
		return nil
	case fantasy.StreamPartTypeToolCall:
		t.calls++
		return []model.Part{t.call(p)}
	case fantasy.StreamPartTypeSource:
		return []model.Part{model.Source{ID: p.ID, URL: p.URL, Title: p.Title}}
	case fantasy.StreamPartTypeFinish:
		return append(t.endReasoning(t.endSigned(nil)), t.finish(p))
	}
	return nil // starts, which come with their first delta; ends of tool input; warnings
}

func (t *translation) textDelta(s string) (out []model.Part) {
	out = t.endReasoning(out)
	if t.text == "" {
		t.text = t.block()
		out = append(out, model.TextStart{ID: t.text})
	}
	return append(out, model.TextDelta{ID: t.text, Text: s})
}

func (t *translation) reasoningDelta(s string) (out []model.Part) {
	if t.reasoning == "" {
		t.reasoning = t.block()
		out = append(out, model.ReasoningStart{ID: t.reasoning})
	}
	return append(out, model.ReasoningDelta{ID: t.reasoning, Text: s})
}

func (t *translation) endText(out []model.Part) []model.Part {
	if t.text != "" {
		out = append(out, model.TextEnd{ID: t.text})
		t.text = ""
	}
	return out
}

func (t *translation) endReasoning(out []model.Part) []model.Part {
	if t.reasoning != "" {
		out = append(out, model.ReasoningEnd{ID: t.reasoning, Metadata: t.thought().pack()})
		t.reasoning = ""
	}
	return out
}

// endSigned is endText at the end of the answer: it takes what of reasoning came
// too late for a block of its own.
func (t *translation) endSigned(out []model.Part) []model.Part {
	if t.text != "" && t.reasoning == "" && len(t.wire.details) > 0 {
		out = append(out, model.TextEnd{ID: t.text, Metadata: thought{Details: t.wire.takeDetails()}.pack()})
		t.text = ""
	}
	return t.endText(out)
}

func (t *translation) thought() thought {
	out := thought{Details: t.wire.takeDetails()}
	if t.wire.field != usualField {
		out.Field = t.wire.field
	}
	return out
}

func (t *translation) block() string {
	t.blocks++
	return strconv.Itoa(t.blocks)
}

func (t *translation) call(p fantasy.StreamPart) model.Part {
	c := model.ToolCall{CallID: p.ID, Tool: p.ToolCallName, Input: json.RawMessage(p.ToolCallInput)}
	if details := t.wire.takeDetails(); len(details) > 0 {
		c.Metadata = thought{Details: details}.pack()
	}
	if x := t.extra[p.ID]; x != nil {
		if c.Metadata == nil {
			c.Metadata = model.Metadata{}
		}
		c.Metadata[metadataKey] = x
	}
	c.Metadata = t.wire.ids.Metadata(p.ID, c.Metadata)
	return c
}

func (t *translation) finish(p fantasy.StreamPart) model.Part {
	reason := map[fantasy.FinishReason]model.FinishReason{
		fantasy.FinishReasonStop:          model.Stop,
		fantasy.FinishReasonLength:        model.Length,
		fantasy.FinishReasonContentFilter: model.ContentFilter,
		fantasy.FinishReasonToolCalls:     model.ToolCalls,
	}[p.FinishReason]
	switch {
	case t.calls > 0 && (reason == model.Stop || reason == ""): // some servers say so after calls
		reason = model.ToolCalls
	case t.calls == 0 && reason == model.ToolCalls: // and some this after none
		reason = model.Stop
	case reason == "":
		reason = model.OtherReason
	}
	return model.FinishPart{Reason: reason, Usage: model.Usage{
		Input: p.Usage.InputTokens, Output: p.Usage.OutputTokens,
		Reasoning: p.Usage.ReasoningTokens, CacheRead: p.Usage.CacheReadTokens,
	}}
}
