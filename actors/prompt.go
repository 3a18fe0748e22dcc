package actors

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// What a model is told that no person is. None of it is part of the transcript.
const (
	// goOnText asks a model that cannot go on with its own partial answer to do so
	// all the same.
	goOnText = "Your answer was cut off. Continue it exactly where it stopped, without repeating anything and without comment."
	// openText and lostText stand for the outcome of a call that has none.
	openText = "not answered yet"
	lostText = "The tool call was interrupted before a result was recorded."
	// deniedText is the outcome of a call that a person has not approved.
	deniedText = "The user has denied this call."
	// summaryText begins what stands for a conversation that is summed up.
	summaryText = "Summary of the conversation so far:\n\n"
)

// entries is the conversation that t answers, with its own answer so far last.
func (a *shell) entries(t *chat.Turn) []chat.Entry {
	s := &a.core.State
	entries := s.PromptFor(t)
	if st := &s.Stream; st.Open && st.Turn == t.ID {
		m := st.Message()
		var others []chat.Entry
		for _, e := range entries {
			if e.ID != m.ID || e.Summary != "" {
				others = append(others, e)
			}
		}
		entries = append(others, chat.Entry{
			ID: m.ID, Role: string(uimessage.Assistant), JSON: m.AppendJSON(nil), Steps: s.Transcript.Steps(m.ID),
		})
	}
	return entries
}

// split cuts entries in front of the answer that is being written, if that has begun.
func split(answer string, entries []chat.Entry) (before, own []chat.Entry) {
	n := len(entries)
	if n > 0 && entries[n-1].ID == answer {
		return entries[:n-1], entries[n-1:]
	}
	return entries, nil
}

// prompt builds what the model sees: its own words where step records have
// them, else what the UI message says.
func prompt(entries []chat.Entry) []model.Message {
	var out []model.Message
	for _, e := range entries {
		switch {
		case e.Summary != "":
			out = append(out, model.Message{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: summaryText + e.Summary}}})
		case uimessage.Role(e.Role) == uimessage.Assistant:
			out = append(out, assistantMessages(e)...)
		case uimessage.Role(e.Role) == uimessage.User:
			if m, err := uimessage.ParseMessage(e.JSON); err == nil {
				if c := contents(m.Parts); len(c) > 0 {
					out = append(out, model.Message{Role: model.User, Content: c})
				}
			}
		} // the system's words are the author's, not the transcript's
	}
	return out
}

// goOn asks m to continue its own words if messages end with them.
func goOn(messages []model.Message, m model.Model) []model.Message {
	if n := len(messages); n > 0 && messages[n-1].Role == model.Assistant && !model.Prefills(m) {
		return append(messages, model.Message{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: goOnText}}})
	}
	return messages
}

// assistantMessages walks an answer step by step. What calls have led to is in the
// parts alone.
func assistantMessages(e chat.Entry) []model.Message {
	m, err := uimessage.ParseMessage(e.JSON)
	if err != nil {
		m = uimessage.Message{}
	}
	var out []model.Message
	recorded, placed := recordsOf(e)
	if !placed && len(recorded[0]) > 0 {
		return withResults(nil, recorded[0], m.Parts)
	}
	for i, parts := range segments(m.Parts) {
		said := recorded[uint32(i)]
		if said == nil {
			said = contents(parts)
		}
		out = withResults(out, said, m.Parts)
	}
	return out
}

// recordsOf are the contents of an answer's records by their place. Records of old
// journals have no place and are the whole answer.
func recordsOf(e chat.Entry) (recorded map[uint32][]model.Content, placed bool) {
	recorded = make(map[uint32][]model.Content)
	for _, r := range e.Steps {
		var c []model.Content
		if json.Unmarshal(r.Content, &c) != nil {
			continue
		}
		placed = placed || r.Segment > 0
		recorded[r.Segment] = append(recorded[r.Segment], c...)
	}
	return recorded, placed
}

// segments cuts parts in front of each step; the first is what stands before all.
func segments(parts []uimessage.Part) [][]uimessage.Part {
	out := [][]uimessage.Part{nil}
	for _, p := range parts {
		if p.Type == uimessage.StepStart {
			out = append(out, nil)
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// withResults appends what was said, and the outcomes of its calls in their order.
func withResults(out []model.Message, said []model.Content, parts []uimessage.Part) []model.Message {
	if len(said) == 0 {
		return out
	}
	out = append(out, model.Message{Role: model.Assistant, Content: said})
	var results []model.Content
	for _, c := range said {
		if c.Kind == model.ToolCallContent {
			results = append(results, result(c, parts))
		}
	}
	if len(results) > 0 {
		out = append(out, model.Message{Role: model.ToolRole, Content: results})
	}
	return out
}

// result is the outcome of a call as its newest part has it.
func result(call model.Content, parts []uimessage.Part) model.Content {
	r := model.Content{Kind: model.ToolResultContent, CallID: call.CallID, Tool: call.Tool}
	fail := func(text string) model.Content {
		r.IsError, r.Output = true, quoted(text)
		return r
	}
	p, ok := partOf(parts, call.CallID)
	if !ok {
		return fail(lostText)
	}
	switch p.State {
	case uimessage.OutputAvailable:
		if p.Preliminary {
			return fail(lostText)
		}
		if r.Output = p.Output; len(r.Output) == 0 {
			r.Output = json.RawMessage("null")
		}
		return r
	case uimessage.OutputError:
		return fail(p.ErrorText)
	case uimessage.OutputDenied:
		if p.Approval != nil && p.Approval.Reason != "" {
			return fail(deniedText + " Reason: " + p.Approval.Reason)
		}
		return fail(deniedText)
	default:
		r.Output = quoted(openText)
		return r
	}
}

func partOf(parts []uimessage.Part, callID string) (uimessage.Part, bool) {
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i].IsTool() && parts[i].ToolCallID == callID {
			return parts[i], true
		}
	}
	return uimessage.Part{}, false
}

func quoted(text string) json.RawMessage {
	data, err := encode(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return data
}

// contents are the parts that a model can read.
func contents(parts []uimessage.Part) []model.Content {
	var out []model.Content
	for _, p := range parts {
		switch {
		case p.Type == uimessage.TextPart:
			if p.Text != "" {
				out = append(out, model.Content{Kind: model.TextContent, Text: p.Text})
			}
		case p.Type == "file":
			out = append(out, fileContent(p))
		case p.IsTool() && p.State != uimessage.InputStreaming:
			c := model.Content{
				Kind: model.ToolCallContent, CallID: p.ToolCallID, Tool: toolOf(p), Input: uimessage.NormalizeInput(p.Input),
			}
			_ = json.Unmarshal(p.CallProviderMetadata, &c.Metadata) // none is as good
			out = append(out, c)
		}
	}
	return out
}

// toolOf is the name of the tool that p calls.
func toolOf(p uimessage.Part) string {
	if p.ToolName != "" {
		return p.ToolName
	}
	return strings.TrimPrefix(p.Type, "tool-")
}

func fileContent(p uimessage.Part) model.Content {
	c := model.Content{Kind: model.FileContent, MediaType: p.MediaType, Filename: p.Filename}
	if rest, ok := strings.CutPrefix(p.URL, "data:"); ok {
		if _, b64, ok := strings.Cut(rest, ";base64,"); ok {
			if data, err := base64.StdEncoding.DecodeString(b64); err == nil {
				c.Data = data
				return c
			}
		}
	}
	c.URL = p.URL
	return c
}
