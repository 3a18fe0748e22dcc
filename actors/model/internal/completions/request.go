package completions

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"charm.land/fantasy"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
)

// fantasyCall puts the request into the library's terms. The messages travel
// through it as one part, which toPrompt takes apart.
func fantasyCall(r model.Request) (fantasy.Call, error) {
	messages, err := wireMessages(r)
	if err != nil {
		return fantasy.Call{}, err
	}
	call := fantasy.Call{
		Prompt:      fantasy.Prompt{{Role: fantasy.MessageRoleUser, Content: []fantasy.MessagePart{promptPart{messages}}}},
		Temperature: r.Temperature,
	}
	if r.MaxOutputTokens > 0 {
		call.MaxOutputTokens = &r.MaxOutputTokens
	}
	if r.Key != "" {
		call.Headers = map[string]string{"Idempotency-Key": r.Key}
	}
	for _, t := range r.Tools {
		schema, err := content.Schema(t)
		if err != nil {
			return fantasy.Call{}, err
		}
		call.Tools = append(call.Tools, fantasy.FunctionTool{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	if r.ToolChoice != "" && len(r.Tools) > 0 {
		choice := fantasy.ToolChoice(r.ToolChoice)
		call.ToolChoice = &choice
	}
	return call, nil
}

// promptPart carries finished messages through the library.
type promptPart struct{ messages []wireMessage }

func (promptPart) GetType() fantasy.ContentType     { return "holdfast.prompt" }
func (promptPart) Options() fantasy.ProviderOptions { return nil }

// wireMessage is a message as Chat Completions has it. Content is a string or a
// list of wireContent.
type wireMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content,omitempty"`
	Reasoning  *string    `json:"reasoning_content,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function wireFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type wireContent struct {
	Type     string     `json:"type"`
	Text     string     `json:"text,omitempty"`
	ImageURL *wireURL   `json:"image_url,omitempty"`
	File     *wireFile  `json:"file,omitempty"`
	Audio    *wireAudio `json:"input_audio,omitempty"`
}

type wireURL struct {
	URL string `json:"url"`
}

type wireFile struct {
	Filename string `json:"filename,omitempty"`
	Data     string `json:"file_data"`
}

type wireAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

func wireMessages(r model.Request) ([]wireMessage, error) {
	var out []wireMessage
	if r.Instructions != "" {
		out = append(out, wireMessage{Role: "system", Content: r.Instructions})
	}
	for i, m := range r.Messages {
		var err error
		switch m.Role {
		case model.User:
			out, err = appendUser(out, m)
		case model.Assistant:
			out = appendAssistant(out, m)
		case model.ToolRole:
			for _, c := range m.Content {
				out = append(out, wireMessage{Role: "tool", Content: content.ToolOutput(c), ToolCallID: c.CallID})
			}
		default:
			err = fmt.Errorf("role %q is not user, assistant or tool", m.Role)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return out, nil
}

func appendUser(out []wireMessage, m model.Message) ([]wireMessage, error) {
	var parts []wireContent
	for _, c := range m.Content {
		switch c.Kind {
		case model.TextContent:
			parts = append(parts, wireContent{Type: "text", Text: c.Text})
		case model.FileContent:
			w, err := fileContent(c)
			if err != nil {
				return nil, err
			}
			parts = append(parts, w)
		default: // nothing else is a user's
		}
	}
	switch {
	case len(parts) == 0:
		return out, nil
	case len(parts) == 1 && parts[0].Type == "text":
		return append(out, wireMessage{Role: "user", Content: parts[0].Text}), nil
	}
	return append(out, wireMessage{Role: "user", Content: parts}), nil
}

// appendAssistant joins the texts of the message: the protocol has one. Texts
// that follow each other are pieces of one answer; what was between others
// becomes a blank line.
func appendAssistant(out []wireMessage, m model.Message) []wireMessage {
	w := wireMessage{Role: "assistant"}
	var text, reasoning strings.Builder
	previous := model.TextContent
	for _, c := range m.Content {
		switch c.Kind {
		case model.TextContent:
			if previous != model.TextContent && text.Len() > 0 {
				text.WriteString("\n\n")
			}
			text.WriteString(c.Text)
		case model.ReasoningContent:
			reasoning.WriteString(c.Text)
			s := reasoning.String()
			w.Reasoning = &s
		case model.ToolCallContent:
			w.ToolCalls = append(w.ToolCalls, wireCall{
				ID: c.CallID, Type: "function", Extra: c.Metadata[metadataKey],
				Function: wireFunction{Name: c.Tool, Arguments: content.ToolInput(c)},
			})
		default: // nothing else is an assistant's that the protocol takes back
		}
		previous = c.Kind
	}
	if text.Len() > 0 {
		w.Content = text.String()
	}
	if w.Content == nil && w.ToolCalls == nil && w.Reasoning == nil {
		return out
	}
	return append(out, w)
}

func fileContent(c model.Content) (wireContent, error) {
	c, err := content.Resolve(c)
	if err != nil {
		return wireContent{}, err
	}
	switch {
	case strings.HasPrefix(c.MediaType, "image/"):
		return wireContent{Type: "image_url", ImageURL: &wireURL{content.FileURL(c)}}, nil
	case len(c.Data) == 0:
		return wireContent{}, fmt.Errorf("file %q of type %q: only images can be given by URL", c.Filename, c.MediaType)
	case c.MediaType == "audio/wav", c.MediaType == "audio/x-wav":
		return wireContent{Type: "input_audio", Audio: &wireAudio{base64.StdEncoding.EncodeToString(c.Data), "wav"}}, nil
	case c.MediaType == "audio/mpeg", c.MediaType == "audio/mp3":
		return wireContent{Type: "input_audio", Audio: &wireAudio{base64.StdEncoding.EncodeToString(c.Data), "mp3"}}, nil
	case strings.HasPrefix(c.MediaType, "text/"):
		return wireContent{Type: "text", Text: content.TextFile(c)}, nil
	}
	return wireContent{Type: "file", File: &wireFile{Filename: content.Filename(c), Data: content.FileURL(c)}}, nil
}
