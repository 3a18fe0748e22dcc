package actors

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// goOnText asks a model that cannot go on with its own partial answer to do so
// all the same. It is never part of the transcript.
const goOnText = "Your answer was cut off. Continue it exactly where it stopped, without repeating anything and without comment."

// prompt builds what the model sees: its own words where step records have
// them, else what the UI message says.
func prompt(entries []chat.Entry, continues bool, m model.Model) []model.Message {
	var out []model.Message
	for _, e := range entries {
		switch uimessage.Role(e.Role) {
		case uimessage.Assistant:
			out = append(out, assistantMessages(e)...)
		case uimessage.User:
			if c := contents(e.JSON); len(c) > 0 {
				out = append(out, model.Message{Role: model.User, Content: c})
			}
		case uimessage.System: // instructions are the author's, not the transcript's
		}
	}
	if n := len(out); continues && n > 0 && out[n-1].Role != model.User && !model.Prefills(m) {
		out = append(out, model.Message{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: goOnText}}})
	}
	return out
}

func assistantMessages(e chat.Entry) []model.Message {
	var out []model.Message
	for _, step := range e.Steps {
		var c []model.Content
		if json.Unmarshal(step.Content, &c) != nil {
			out = nil
			break
		}
		if len(c) > 0 {
			out = append(out, model.Message{Role: model.Assistant, Content: c})
		}
	}
	if out != nil {
		return out
	}
	if c := contents(e.JSON); len(c) > 0 {
		out = append(out, model.Message{Role: model.Assistant, Content: c})
	}
	return out
}

// contents are the parts of a UI message that a model can read.
func contents(raw []byte) []model.Content {
	m, err := uimessage.ParseMessage(raw)
	if err != nil {
		return nil
	}
	var out []model.Content
	for _, p := range m.Parts {
		switch p.Type {
		case "text":
			if p.Text != "" {
				out = append(out, model.Content{Kind: model.TextContent, Text: p.Text})
			}
		case "file":
			out = append(out, fileContent(p))
		}
	}
	return out
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
