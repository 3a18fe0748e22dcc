package openai

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/responses"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
	"github.com/holdfast-dev/holdfast/actors/model/internal/openaisdk"
)

// metadataKey is where our metadata lives in model.Metadata.
const metadataKey = "openai"

// metadata is what has to come back with the item. The names are the AI SDK's.
type metadata struct {
	ItemID           string `json:"itemId"`
	EncryptedContent string `json:"reasoningEncryptedContent,omitempty"`
	Phase            string `json:"phase,omitempty"`
}

func (m metadata) pack() model.Metadata {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil // cannot be: strings always marshal
	}
	return model.Metadata{metadataKey: raw}
}

func unpack(m model.Metadata) (out metadata) {
	if raw, ok := m[metadataKey]; ok {
		json.Unmarshal(raw, &out) //nolint:errcheck // someone else's metadata reads as none
	}
	return out
}

// A translation turns one answer's events into parts. An item of text is one
// block; each part of a reasoning's summary is one.
type translation struct {
	sdk       openaisdk.Config
	ids       *content.CallIDs
	text      string            // item whose text is open
	reasoning string            // block that is open: item and summary part
	reasoned  string            // item of the last reasoning block that was opened
	calls     map[string]string // our ids of function calls that have begun, by item
	ended     map[string]bool   // items that have
	said      map[string]bool   // items of text that have begun
	called    bool
	sources   int
	finished  bool
}

func (t *translation) event(e responses.ResponseStreamEventUnion) ([]model.Part, error) {
	switch e.Type {
	case "response.output_item.added":
		return t.added(e), nil
	case "response.output_text.delta", "response.refusal.delta":
		return t.textDelta(e.ItemID, e.Delta), nil
	case "response.reasoning_summary_text.delta":
		return t.reasoningDelta(e.ItemID, fmt.Sprintf("%s:%d", e.ItemID, e.SummaryIndex), e.Delta), nil
	case "response.reasoning_text.delta":
		return t.reasoningDelta(e.ItemID, e.ItemID, e.Delta), nil
	case "response.function_call_arguments.delta":
		if id, ok := t.calls[e.ItemID]; ok {
			return []model.Part{model.ToolInputDelta{CallID: id, Text: e.Delta}}, nil
		}
	case "response.output_text.annotation.added":
		return t.source(e.RawJSON()), nil
	case "response.output_item.done":
		return t.done(e.Item), nil
	case "response.completed", "response.incomplete":
		return t.finish(e.Response), nil
	case "response.failed":
		return nil, t.failed(string(e.Response.Error.Code), e.Response.Error.Message)
	case "error":
		return nil, t.failed(e.Code, e.Message)
	}
	return nil, nil
}

func (t *translation) failed(code, message string) error {
	return failure.Of(failure.Answer{Provider: t.sdk.Provider, Secret: t.sdk.APIKey, Kind: code, Message: message})
}

func (t *translation) added(e responses.ResponseStreamEventUnion) []model.Part {
	if e.Item.Type != "function_call" {
		return nil
	}
	return t.begin(nil, e.Item)
}

// begin begins the call of an item.
func (t *translation) begin(out []model.Part, item responses.ResponseOutputItemUnion) []model.Part {
	if t.calls == nil {
		t.calls = map[string]string{}
	}
	id := t.ids.Take(cmp.Or(item.CallID, item.ID))
	t.calls[item.ID] = id
	return append(out, model.ToolInputStart{CallID: id, Tool: item.Name})
}

func (t *translation) textDelta(item, delta string) (out []model.Part) {
	if t.text != item {
		out = t.endText(out, metadata{ItemID: t.text})
		t.text = item
		if t.said == nil {
			t.said = map[string]bool{}
		}
		t.said[item] = true
		out = append(out, model.TextStart{ID: item})
	}
	return append(out, model.TextDelta{ID: item, Text: delta})
}

func (t *translation) reasoningDelta(item, block, delta string) (out []model.Part) {
	if t.reasoning != block {
		out = t.startReasoning(t.endReasoning(out, metadata{ItemID: t.reasoned}), item, block)
	}
	return append(out, model.ReasoningDelta{ID: block, Text: delta})
}

func (t *translation) startReasoning(out []model.Part, item, block string) []model.Part {
	t.reasoned, t.reasoning = item, block
	return append(out, model.ReasoningStart{ID: block})
}

func (t *translation) endText(out []model.Part, m metadata) []model.Part {
	if t.text == "" {
		return out
	}
	out = append(out, model.TextEnd{ID: t.text, Metadata: m.pack()})
	t.text = ""
	return out
}

func (t *translation) endReasoning(out []model.Part, m metadata) []model.Part {
	if t.reasoning == "" {
		return out
	}
	out = append(out, model.ReasoningEnd{ID: t.reasoning, Metadata: m.pack()})
	t.reasoning = ""
	return out
}

// done ends an item. Only now is its encrypted content final. What a server has
// not streamed of it comes now.
func (t *translation) done(item responses.ResponseOutputItemUnion) (out []model.Part) {
	if t.ended == nil {
		t.ended = map[string]bool{}
	}
	if item.ID != "" && t.ended[item.ID] {
		return nil
	}
	t.ended[item.ID] = true
	m := metadata{ItemID: item.ID, EncryptedContent: item.EncryptedContent, Phase: phase(item)}
	switch item.Type {
	case "message":
		if !t.said[item.ID] {
			for _, c := range item.Content {
				if s := c.Text + c.Refusal; s != "" {
					out = append(out, t.textDelta(item.ID, s)...)
				}
			}
		}
		return t.endText(out, m)
	case "reasoning":
		if t.reasoned != item.ID && m.EncryptedContent != "" { // thinking that nobody may read
			out = t.startReasoning(out, item.ID, item.ID)
		}
		return t.endReasoning(out, m)
	case "function_call":
		return t.call(item, m)
	}
	return out
}

// call ends a call. One that the answer's limit has cut is none.
func (t *translation) call(item responses.ResponseOutputItemUnion, m metadata) (out []model.Part) {
	if _, begun := t.calls[item.ID]; !begun {
		out = t.begin(out, item)
	}
	if item.Status == "incomplete" {
		return out
	}
	t.called = true
	id := t.calls[item.ID]
	delete(t.calls, item.ID)
	return append(out, model.ToolCall{
		CallID: id, Tool: item.Name, Input: json.RawMessage(cmp.Or(item.Arguments.OfString, "{}")), Metadata: t.ids.Metadata(id, m.pack()),
	})
}

// phase reads a field that only some models send.
func phase(item responses.ResponseOutputItemUnion) string {
	var fields struct{ Phase string }
	json.Unmarshal([]byte(item.RawJSON()), &fields) //nolint:errcheck // the library has read it already
	return fields.Phase
}

func (t *translation) source(raw string) []model.Part {
	var e struct {
		Annotation struct {
			Type, URL, Title, Filename string
			FileID                     string `json:"file_id"`
		}
	}
	if json.Unmarshal([]byte(raw), &e) != nil {
		return nil
	}
	t.sources++
	s := model.Source{ID: fmt.Sprintf("source-%d", t.sources), Title: e.Annotation.Title}
	switch e.Annotation.Type {
	case "url_citation":
		s.URL = e.Annotation.URL
	case "file_citation", "container_file_citation":
		s.MediaType, s.Filename = "application/octet-stream", e.Annotation.Filename
		if s.Title == "" {
			s.Title = e.Annotation.Filename
		}
	default:
		return nil
	}
	return []model.Part{s}
}

func (t *translation) finish(r responses.Response) []model.Part {
	t.finished = true
	var rest []model.Part
	if r.IncompleteDetails.Reason == "" {
		for _, item := range r.Output { // what has had no event of its own
			rest = append(rest, t.done(item)...)
		}
	}
	out := t.endReasoning(t.endText(rest, metadata{ItemID: t.text}), metadata{ItemID: t.reasoned})
	reason := model.Stop
	switch {
	case r.IncompleteDetails.Reason == "max_output_tokens":
		reason = model.Length
	case r.IncompleteDetails.Reason == "content_filter":
		reason = model.ContentFilter
	case r.IncompleteDetails.Reason != "":
		reason = model.OtherReason
	case t.called:
		reason = model.ToolCalls
	}
	return append(out, model.FinishPart{Reason: reason, Usage: model.Usage{
		Input: r.Usage.InputTokens, Output: r.Usage.OutputTokens,
		Reasoning: r.Usage.OutputTokensDetails.ReasoningTokens,
		CacheRead: r.Usage.InputTokensDetails.CachedTokens,
	}})
}
