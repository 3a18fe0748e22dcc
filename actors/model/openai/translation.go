package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

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
	ItemID           string `json:"itemId,omitempty"`
	EncryptedContent string `json:"reasoningEncryptedContent,omitempty"`
	Phase            string `json:"phase,omitempty"`
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
		return t.textDelta(key(e.ItemID, e.OutputIndex), e.Delta), nil
	case "response.reasoning_summary_text.delta":
		item := key(e.ItemID, e.OutputIndex)
		return t.reasoningDelta(item, fmt.Sprintf("%s:%d", item, e.SummaryIndex), e.Delta), nil
	case "response.reasoning_text.delta":
		item := key(e.ItemID, e.OutputIndex)
		return t.reasoningDelta(item, item, e.Delta), nil
	case "response.function_call_arguments.delta":
		if id, ok := t.calls[key(e.ItemID, e.OutputIndex)]; ok {
			return []model.Part{model.ToolInputDelta{CallID: id, Text: e.Delta}}, nil
		}
	case "response.output_text.annotation.added":
		return t.source(e.RawJSON()), nil
	case "response.output_item.done":
		return t.done(key(e.Item.ID, e.OutputIndex), e.Item), nil
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
	return t.begin(nil, key(e.Item.ID, e.OutputIndex), e.Item)
}

// key names an item within the answer: by its id or, where a server gives none,
// by its place.
func key(id string, index int64) string {
	return cmp.Or(id, fmt.Sprintf("#%d", index))
}

// idOf is the provider's id of the item with the key.
func idOf(key string) string {
	if strings.HasPrefix(key, "#") {
		return ""
	}
	return key
}

// begin begins the call of an item.
func (t *translation) begin(out []model.Part, key string, item responses.ResponseOutputItemUnion) []model.Part {
	if t.calls == nil {
		t.calls = map[string]string{}
	}
	id := t.ids.Take(cmp.Or(item.CallID, item.ID))
	t.calls[key] = id
	return append(out, model.ToolInputStart{CallID: id, Tool: item.Name})
}

func (t *translation) textDelta(item, delta string) (out []model.Part) {
	if t.text != item {
		out = t.endText(out, metadata{ItemID: idOf(t.text)})
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
		out = t.startReasoning(t.endReasoning(out, metadata{ItemID: idOf(t.reasoned)}), item, block)
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
func (t *translation) done(key string, item responses.ResponseOutputItemUnion) (out []model.Part) {
	if t.ended == nil {
		t.ended = map[string]bool{}
	}
	if t.ended[key] {
		return nil
	}
	t.ended[key] = true
	m := metadata{ItemID: item.ID, EncryptedContent: item.EncryptedContent, Phase: phase(item)}
	switch item.Type {
	case "message":
		if !t.said[key] {
			for _, c := range item.Content {
				if s := c.Text + c.Refusal; s != "" {
					out = append(out, t.textDelta(key, s)...)
				}
			}
		}
		return t.endText(out, m)
	case "reasoning":
		if t.reasoned != key && m.EncryptedContent != "" { // thinking that nobody may read
			out = t.startReasoning(out, key, key)
			for i, s := range item.Summary {
				if i > 0 {
					out = append(out, model.ReasoningDelta{ID: key, Text: "\n\n"})
				}
				out = append(out, model.ReasoningDelta{ID: key, Text: s.Text})
			}
		}
		return t.endReasoning(out, m)
	case "function_call":
		return t.call(key, item, m)
	}
	return out
}

// call ends a call. One that the answer's limit has cut is none.
func (t *translation) call(key string, item responses.ResponseOutputItemUnion, m metadata) (out []model.Part) {
	if _, begun := t.calls[key]; !begun {
		out = t.begin(out, key, item)
	}
	if item.Status == "incomplete" {
		return out
	}
	t.called = true
	id := t.calls[key]
	delete(t.calls, key)
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
		for i, item := range r.Output { // what has had no event of its own
			rest = append(rest, t.done(key(item.ID, int64(i)), item)...)
		}
	}
	out := t.endReasoning(t.endText(rest, metadata{ItemID: idOf(t.text)}), metadata{ItemID: idOf(t.reasoned)})
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
