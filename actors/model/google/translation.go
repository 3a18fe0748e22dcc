package google

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
)

// metadataKey is where our metadata lives in model.Metadata.
const metadataKey = "google"

// metadata is what has to come back with a part. The name of the signature is
// the AI SDK's.
type metadata struct {
	Signature string `json:"thoughtSignature,omitempty"`
	GaveID    bool   `json:"gaveId,omitempty"` // the call's id is the provider's
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

// chunk is one event: a piece of a whole response.
type chunk struct {
	Error      *apiError
	Candidates []struct {
		Index        int
		Content      struct{ Parts []part }
		FinishReason string
		Grounding    struct {
			Chunks []struct {
				Web struct{ URI, Title string }
			} `json:"groundingChunks"`
		} `json:"groundingMetadata"`
	}
	PromptFeedback struct{ BlockReason string }
	UsageMetadata  *usage
}

type part struct {
	Text         string
	Thought      bool
	Signature    string `json:"thoughtSignature"`
	FunctionCall *struct {
		ID, Name string
		Args     json.RawMessage
	}
	InlineData *struct {
		MimeType string
		Data     []byte
	}
}

type usage struct {
	PromptTokenCount, ToolUsePromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, CachedContentTokenCount int64
}

// A translation turns one answer's events into parts. Pieces of text that follow
// each other are one block, up to the one that is signed.
type translation struct {
	ids    *content.CallIDs
	blocks int
	text   string // id of the open text; "" if none is open
	reason string // the API's; "" until it came
	called bool
	usage  usage
	cited  map[string]bool // URLs

	reasoning string // id of the open thinking; "" if none is open
}

func (t *translation) chunk(c chunk) (out []model.Part, err error) {
	if c.UsageMetadata != nil {
		t.usage = *c.UsageMetadata
	}
	if why := c.PromptFeedback.BlockReason; why != "" {
		return nil, failure.Of(failure.Answer{Provider: provider, Kind: "content_filter", Message: "the prompt was blocked: " + why})
	}
	for _, candidate := range c.Candidates {
		if candidate.Index != 0 { // nobody has asked for more than one
			continue
		}
		for _, p := range candidate.Content.Parts {
			out = append(out, t.part(p)...)
		}
		for _, g := range candidate.Grounding.Chunks {
			out = append(out, t.source(g.Web.URI, g.Web.Title)...)
		}
		switch why := candidate.FinishReason; why {
		case "", "FINISH_REASON_UNSPECIFIED":
		case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
			return out, failure.Of(failure.Answer{Provider: provider, Kind: why, Message: "the model has made a call that the provider could not read"})
		default:
			t.reason = why
		}
	}
	return out, nil
}

func (t *translation) part(p part) (out []model.Part) {
	m := metadata{Signature: p.Signature}
	switch {
	case p.FunctionCall != nil:
		out = t.end(metadata{})
		input := p.FunctionCall.Args
		if len(input) == 0 || string(input) == "null" {
			input = json.RawMessage("{}")
		}
		m.GaveID, t.called = p.FunctionCall.ID != "", true
		id := t.ids.Take(p.FunctionCall.ID)
		return append(out,
			model.ToolInputStart{CallID: id, Tool: p.FunctionCall.Name},
			model.ToolInputDelta{CallID: id, Text: string(input)},
			model.ToolCall{CallID: id, Tool: p.FunctionCall.Name, Input: input, Metadata: t.ids.Metadata(id, m.pack())})
	case p.InlineData != nil:
		return append(t.end(metadata{}), model.File{MediaType: p.InlineData.MimeType, Data: p.InlineData.Data})
	case p.Thought:
		return t.thinking(p.Text, m)
	case p.Text == "" && t.text == "" && m.Signature != "":
		return append(t.end(metadata{}), t.thinking("", m)...) // a signature of nothing that can be seen
	}
	if p.Text != "" && t.text == "" {
		out = t.end(metadata{})
		t.text = t.block()
		out = append(out, model.TextStart{ID: t.text})
	}
	if p.Text != "" {
		out = append(out, model.TextDelta{ID: t.text, Text: p.Text})
	}
	if m.Signature != "" {
		out = append(out, t.end(m)...)
	}
	return out
}

func (t *translation) thinking(text string, m metadata) (out []model.Part) {
	if t.reasoning == "" && (text != "" || m.Signature != "") {
		out = t.end(metadata{})
		t.reasoning = t.block()
		out = append(out, model.ReasoningStart{ID: t.reasoning})
	}
	if text != "" {
		out = append(out, model.ReasoningDelta{ID: t.reasoning, Text: text})
	}
	if m.Signature != "" {
		out = append(out, t.end(m)...)
	}
	return out
}

// end ends the open block.
func (t *translation) end(m metadata) (out []model.Part) {
	switch {
	case t.text != "":
		out = append(out, model.TextEnd{ID: t.text, Metadata: m.pack()})
	case t.reasoning != "":
		out = append(out, model.ReasoningEnd{ID: t.reasoning, Metadata: m.pack()})
	}
	t.text, t.reasoning = "", ""
	return out
}

func (t *translation) block() string {
	t.blocks++
	return strconv.Itoa(t.blocks)
}

func (t *translation) source(url, title string) []model.Part {
	if url == "" || t.cited[url] {
		return nil
	}
	if t.cited == nil {
		t.cited = map[string]bool{}
	}
	t.cited[url] = true
	return []model.Part{model.Source{ID: fmt.Sprintf("source-%d", len(t.cited)), URL: url, Title: title}}
}

func (t *translation) finish() []model.Part {
	reason := model.OtherReason
	switch t.reason {
	case "STOP":
		reason = model.Stop
		if t.called {
			reason = model.ToolCalls
		}
	case "MAX_TOKENS":
		reason = model.Length
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		reason = model.ContentFilter
	}
	u := t.usage
	return append(t.end(metadata{}), model.FinishPart{Reason: reason, Usage: model.Usage{
		Input: u.PromptTokenCount + u.ToolUsePromptTokenCount, Output: u.CandidatesTokenCount + u.ThoughtsTokenCount,
		Reasoning: u.ThoughtsTokenCount, CacheRead: u.CachedContentTokenCount,
	}})
}
