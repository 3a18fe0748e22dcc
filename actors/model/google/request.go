package google

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
)

// object is a JSON object of the request.
type object = map[string]any

// turn is a message as the API has it.
type turn struct {
	Role  string   `json:"role"`
	Parts []object `json:"parts"`

	results bool // of tools
}

// unsigned stands for the signature of a call that another model has made. Newer
// models refuse a call without one; this is the documented way to say so.
const unsigned = "skip_thought_signature_validator"

// conversation is what the messages of a request have in common.
type conversation struct {
	ids    *content.CallIDs
	tools  map[string]string // names of called tools by call id, ours
	given  map[string]bool   // calls whose id is the provider's
	strict bool              // the model refuses calls without a signature
}

func (m *gemini) prepare(r model.Request) (*conversation, []byte, error) {
	p := &conversation{
		ids: content.NewCallIDs(metadataKey, r.Messages), tools: map[string]string{}, given: map[string]bool{},
		strict: !strings.HasPrefix(m.config.Model, "gemini-1") && !strings.HasPrefix(m.config.Model, "gemini-2"),
	}
	for _, message := range r.Messages {
		for _, c := range message.Content {
			if c.Kind == model.ToolCallContent {
				p.tools[c.CallID], p.given[c.CallID] = c.Tool, unpack(c.Metadata).GaveID
			}
		}
	}
	turns, err := p.turns(r.Messages)
	if err != nil {
		return nil, nil, err
	}
	b := object{"contents": turns}
	if r.Instructions != "" {
		b["systemInstruction"] = object{"parts": []object{{"text": r.Instructions}}}
	}
	if g := m.generation(r); len(g) > 0 {
		b["generationConfig"] = g
	}
	if len(r.Tools) > 0 {
		declarations, err := declarations(r.Tools)
		if err != nil {
			return nil, nil, err
		}
		b["tools"] = []object{{"functionDeclarations": declarations}}
		if r.ToolChoice != "" {
			b["toolConfig"] = object{"functionCallingConfig": calling(r.ToolChoice)}
		}
	}
	body, err := content.Marshal(b, r, metadataKey)
	return p, body, err
}

func (m *gemini) generation(r model.Request) object {
	g := object{}
	if r.MaxOutputTokens > 0 {
		g["maxOutputTokens"] = r.MaxOutputTokens
	}
	if r.Temperature != nil {
		g["temperature"] = *r.Temperature
	}
	if r.TopP != nil {
		g["topP"] = *r.TopP
	}
	if len(r.StopSequences) > 0 {
		g["stopSequences"] = r.StopSequences
	}
	if r.Seed != nil {
		g["seed"] = *r.Seed
	}
	if len(r.Schema) > 0 {
		g["responseMimeType"], g["responseJsonSchema"] = "application/json", r.Schema
	}
	thinking := object{}
	if m.config.ThinkingTokens != nil {
		thinking["thinkingBudget"] = *m.config.ThinkingTokens
	}
	if m.config.ThinkingLevel != "" {
		thinking["thinkingLevel"] = m.config.ThinkingLevel
	}
	if m.config.ShowThoughts {
		thinking["includeThoughts"] = true
	}
	if len(thinking) > 0 {
		g["thinkingConfig"] = thinking
	}
	return g
}

func declarations(tools []model.Tool) ([]object, error) {
	out := make([]object, 0, len(tools))
	for _, t := range tools {
		d := object{"name": t.Name, "description": t.Description}
		if len(t.Schema) > 0 {
			schema, err := content.Schema(t)
			if err != nil {
				return nil, err
			}
			d["parametersJsonSchema"] = schema
		}
		out = append(out, d)
	}
	return out, nil
}

func calling(choice string) object {
	switch choice {
	case "auto":
		return object{"mode": "AUTO"}
	case "none":
		return object{"mode": "NONE"}
	case "required":
		return object{"mode": "ANY"}
	}
	return object{"mode": "ANY", "allowedFunctionNames": []string{choice}}
}

// turns joins what one side says in a row. Results of tools are a turn of their
// own: the API wants as many of them as there were calls.
func (p *conversation) turns(messages []model.Message) ([]turn, error) {
	var out []turn
	for i, m := range messages {
		t, err := p.turn(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if len(t.Parts) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == t.Role && out[n-1].results == t.results {
			out[n-1].Parts = append(out[n-1].Parts, t.Parts...)
			continue
		}
		out = append(out, t)
	}
	return out, nil
}

func (p *conversation) turn(m model.Message) (t turn, err error) {
	switch m.Role {
	case model.Assistant:
		return turn{Role: "model", Parts: p.said(m.Content)}, nil
	case model.ToolRole:
		t = turn{Role: "user", results: true}
		for _, c := range m.Content {
			t.Parts = append(t.Parts, p.result(c))
		}
		return t, nil
	case model.User:
		t.Role = "user"
		for _, c := range m.Content {
			switch {
			case c.Kind == model.TextContent && c.Text != "":
				t.Parts = append(t.Parts, object{"text": c.Text})
			case c.Kind == model.FileContent:
				part, err := filePart(c)
				if err != nil {
					return t, err
				}
				t.Parts = append(t.Parts, part)
			}
		}
		return t, nil
	}
	return t, fmt.Errorf("role %q is not user, assistant or tool", m.Role)
}

// said gives back the parts that the message was, each with its own signature.
// Thinking without one says nothing to the API.
func (p *conversation) said(contents []model.Content) (parts []object) {
	signed := !p.strict // whether a call needs a signature no more
	for _, c := range contents {
		m := unpack(c.Metadata)
		part := object{}
		switch c.Kind {
		case model.TextContent:
			if c.Text == "" && m.Signature == "" {
				continue
			}
			part["text"] = c.Text
		case model.ReasoningContent:
			if m.Signature == "" {
				continue
			}
			part["text"] = c.Text
			if c.Text != "" {
				part["thought"] = true
			}
		case model.FileContent:
			if len(c.Data) == 0 {
				continue
			}
			part["inlineData"] = inline(c)
		case model.ToolCallContent:
			call := object{"name": c.Tool, "args": json.RawMessage(content.ToolInput(c))}
			if m.GaveID {
				call["id"] = p.ids.Wire(c.CallID)
			}
			part["functionCall"] = call
			if m.Signature == "" && !signed {
				m.Signature = unsigned
			}
			signed = true
		default:
			continue
		}
		if m.Signature != "" {
			part["thoughtSignature"] = m.Signature
		}
		parts = append(parts, part)
	}
	return parts
}

func (p *conversation) result(c model.Content) object {
	var output any = content.ToolOutput(c)
	if len(c.Output) > 0 && json.Valid(c.Output) {
		output = c.Output
	}
	field := "output"
	if c.IsError {
		field = "error"
	}
	name := p.tools[c.CallID]
	if name == "" {
		name = c.Tool
	}
	response := object{"name": name, "response": object{field: output}}
	if p.given[c.CallID] {
		response["id"] = p.ids.Wire(c.CallID)
	}
	return object{"functionResponse": response}
}

func filePart(c model.Content) (object, error) {
	c, err := content.Resolve(c)
	switch {
	case err != nil:
		return nil, err
	case len(c.Data) == 0:
		return object{"fileData": object{"mimeType": c.MediaType, "fileUri": c.URL}}, nil
	case strings.HasPrefix(c.MediaType, "text/"):
		return object{"text": content.TextFile(c)}, nil
	}
	return object{"inlineData": inline(c)}, nil
}

func inline(c model.Content) object {
	return object{"mimeType": c.MediaType, "data": base64.StdEncoding.EncodeToString(c.Data)}
}
