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
func fantasyCall(messages []wireMessage, r model.Request) (fantasy.Call, error) {
	call := fantasy.Call{
		Prompt:      fantasy.Prompt{{Role: fantasy.MessageRoleUser, Content: []fantasy.MessagePart{promptPart{messages}}}},
		Temperature: r.Temperature,
		TopP:        r.TopP,
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

// fields are those of the body that the library knows no word for.
func fields(r model.Request) (map[string]json.RawMessage, error) {
	ours := map[string]any{}
	if len(r.StopSequences) > 0 {
		ours["stop"] = r.StopSequences
	}
	if r.Seed != nil {
		ours["seed"] = *r.Seed
	}
	if len(r.Schema) > 0 {
		ours["response_format"] = map[string]any{
			"type": "json_schema", "json_schema": map[string]any{"name": "answer", "schema": r.Schema},
		}
	}
	raw, err := content.Marshal(ours, r, metadataKey)
	if err != nil {
		return nil, err
	}
	var out map[string]json.RawMessage
	return out, json.Unmarshal(raw, &out)
}

// promptPart carries finished messages through the library.
type promptPart struct{ messages []wireMessage }

func (promptPart) GetType() fantasy.ContentType     { return "holdfast.prompt" }
func (promptPart) Options() fantasy.ProviderOptions { return nil }

// wireMessage is a message as Chat Completions has it. Content is a string or a
// list of wireContent.
type wireMessage struct {
	Role           string            `json:"role"`
	Content        any               `json:"content,omitempty"`
	Reasoning      *string           `json:"reasoning_content,omitempty"`
	OtherReasoning *string           `json:"reasoning,omitempty"`
	Details        []json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls      []wireCall        `json:"tool_calls,omitempty"`
	ToolCallID     string            `json:"tool_call_id,omitempty"`
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

// messages are those of the request, or the error of the one that cannot be sent.
func (m *Model) messages(r model.Request, ids *content.CallIDs) (out []wireMessage, err error) {
	if r.Instructions != "" {
		out = append(out, wireMessage{Role: "system", Content: r.Instructions})
	}
	for i, message := range r.Messages {
		switch message.Role {
		case model.User:
			out, err = appendUser(out, message)
		case model.Assistant:
			out = m.appendAssistant(out, message, ids)
		case model.ToolRole:
			for _, c := range message.Content {
				out = append(out, wireMessage{Role: "tool", Content: content.ToolOutput(c), ToolCallID: ids.Wire(c.CallID)})
			}
		default:
			err = fmt.Errorf("role %q is not user, assistant or tool", message.Role)
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
func (m *Model) appendAssistant(out []wireMessage, message model.Message, ids *content.CallIDs) []wireMessage {
	w := wireMessage{Role: "assistant"}
	var text strings.Builder
	previous := model.TextContent
	for _, c := range message.Content {
		switch c.Kind {
		case model.TextContent:
			if previous != model.TextContent && text.Len() > 0 {
				text.WriteString("\n\n")
			}
			text.WriteString(c.Text)
		case model.ReasoningContent:
			if t, ours := unpackThought(c.Metadata); ours && !m.OmitsReasoning {
				w.addReasoning(c.Text, t.Field)
			}
		case model.ToolCallContent:
			w.ToolCalls = append(w.ToolCalls, wireCall{
				ID: ids.Wire(c.CallID), Type: "function", Extra: c.Metadata[metadataKey],
				Function: wireFunction{Name: c.Tool, Arguments: content.ToolInput(c)},
			})
		default: // nothing else is an assistant's that the protocol takes back
		}
		if t, _ := unpackThought(c.Metadata); !m.OmitsReasoning {
			w.Details = append(w.Details, t.Details...)
		}
		previous = c.Kind
	}
	if text.Len() > 0 {
		w.Content = text.String()
	}
	if w.Content == nil && w.ToolCalls == nil && w.Reasoning == nil && w.OtherReasoning == nil {
		return out
	}
	return append(out, w)
}

func (w *wireMessage) addReasoning(text, field string) {
	to := &w.Reasoning
	if field == "reasoning" {
		to = &w.OtherReasoning
	}
	if *to != nil {
		text = **to + text
	}
	*to = &text
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
