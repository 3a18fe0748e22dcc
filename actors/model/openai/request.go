package openai

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
)

// object is a JSON object of the request.
type object = map[string]any

// body is the request in the API's words. Nothing is stored at OpenAI, so all
// that is to come back travels with the conversation.
func (m *responsesModel) body(r model.Request, ids *content.CallIDs) ([]byte, error) {
	input, err := input(r.Messages, ids)
	if err != nil {
		return nil, err
	}
	b := object{"model": m.config.Model, "store": false, "input": input}
	if r.Instructions != "" {
		b["instructions"] = r.Instructions
	}
	if r.MaxOutputTokens > 0 {
		b["max_output_tokens"] = r.MaxOutputTokens
	}
	if m.reasons {
		b["include"] = []string{"reasoning.encrypted_content"}
		if reasoning := m.reasoning(); len(reasoning) > 0 {
			b["reasoning"] = reasoning
		}
	} else { // reasoning models refuse these
		if r.Temperature != nil {
			b["temperature"] = *r.Temperature
		}
		if r.TopP != nil {
			b["top_p"] = *r.TopP
		}
	}
	if len(r.Schema) > 0 {
		b["text"] = object{"format": object{"type": "json_schema", "name": "answer", "schema": r.Schema}}
	}
	if len(r.Tools) > 0 {
		if b["tools"], err = tools(r.Tools); err != nil {
			return nil, err
		}
		if choice := toolChoice(r.ToolChoice); choice != nil {
			b["tool_choice"] = choice
		}
	}
	return content.Marshal(b, r, metadataKey)
}

func (m *responsesModel) reasoning() object {
	o := object{}
	if m.config.ReasoningEffort != "" {
		o["effort"] = m.config.ReasoningEffort
	}
	if m.config.ReasoningSummary != "" {
		o["summary"] = m.config.ReasoningSummary
	}
	return o
}

func tools(tools []model.Tool) ([]object, error) {
	out := make([]object, 0, len(tools))
	for _, t := range tools {
		schema, err := content.Schema(t)
		if err != nil {
			return nil, err
		}
		out = append(out, object{"type": "function", "name": t.Name, "description": t.Description, "parameters": schema, "strict": false})
	}
	return out, nil
}

func toolChoice(choice string) any {
	switch choice {
	case "":
		return nil
	case "auto", "none", "required":
		return choice
	}
	return object{"type": "function", "name": choice}
}

func input(messages []model.Message, ids *content.CallIDs) ([]object, error) {
	items := []object{}
	for i, m := range messages {
		switch m.Role {
		case model.User:
			parts, err := userParts(m)
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
			if len(parts) > 0 {
				items = append(items, object{"type": "message", "role": "user", "content": parts})
			}
		case model.Assistant:
			items = append(items, assistantItems(m.Content, ids)...)
		case model.ToolRole:
			for _, c := range m.Content {
				items = append(items, object{"type": "function_call_output", "call_id": ids.Wire(c.CallID), "output": content.ToolOutput(c)})
			}
		default:
			return nil, fmt.Errorf("message %d: role %q is not user, assistant or tool", i, m.Role)
		}
	}
	return items, nil
}

func userParts(m model.Message) ([]object, error) {
	var parts []object
	for _, c := range m.Content {
		switch c.Kind {
		case model.TextContent:
			parts = append(parts, object{"type": "input_text", "text": c.Text})
		case model.FileContent:
			c, err := content.Resolve(c)
			if err != nil {
				return nil, err
			}
			parts = append(parts, filePart(c))
		default: // nothing else is a user's
		}
	}
	return parts, nil
}

func filePart(c model.Content) object {
	switch {
	case strings.HasPrefix(c.MediaType, "image/"):
		return object{"type": "input_image", "image_url": content.FileURL(c), "detail": "auto"}
	case len(c.Data) == 0:
		return object{"type": "input_file", "file_url": c.URL}
	case strings.HasPrefix(c.MediaType, "text/"):
		return object{"type": "input_text", "text": content.TextFile(c)}
	}
	return object{"type": "input_file", "filename": content.Filename(c), "file_data": content.FileURL(c)}
}

// assistantItems gives back the items that the message was. The API refuses
// reasoning without the item that it led to, so what has lost its follower (an
// answer that was cut off) is left out.
func assistantItems(contents []model.Content, ids *content.CallIDs) []object {
	var out, reasoning []object // reasoning waits for its follower
	for _, c := range contents {
		m := unpack(c.Metadata)
		var item object
		switch c.Kind {
		case model.ReasoningContent:
			reasoning = addReasoning(reasoning, c, m)
			continue
		case model.TextContent:
			if c.Text == "" {
				continue
			}
			if joined(out, reasoning, c, m) {
				continue
			}
			item = textItem(c, m)
		case model.ToolCallContent:
			item = object{"type": "function_call", "call_id": ids.Wire(c.CallID), "name": c.Tool, "arguments": content.ToolInput(c)}
			if m.ItemID != "" {
				item["id"] = m.ItemID
			}
		default:
			continue
		}
		if m.ItemID != "" {
			out = append(out, complete(reasoning)...)
		}
		reasoning = nil
		out = append(out, item)
	}
	return out
}

// joined adds text to the text before it if neither is an item of its own: they
// are pieces of one answer that was cut off.
func joined(out, reasoning []object, c model.Content, m metadata) bool {
	if len(out) == 0 || len(reasoning) > 0 || m.ItemID != "" {
		return false
	}
	last := out[len(out)-1]
	text, ok := last["content"].(string)
	if ok {
		last["content"] = text + c.Text
	}
	return ok
}

func textItem(c model.Content, m metadata) object {
	if m.ItemID == "" {
		return object{"type": "message", "role": "assistant", "content": c.Text}
	}
	item := object{
		"type": "message", "role": "assistant", "id": m.ItemID, "status": "completed",
		"content": []object{{"type": "output_text", "text": c.Text, "annotations": []object{}}},
	}
	if m.Phase != "" {
		item["phase"] = m.Phase
	}
	return item
}

// addReasoning joins the blocks of one item.
func addReasoning(items []object, c model.Content, m metadata) []object {
	if m.ItemID == "" {
		return items
	}
	if n := len(items); n == 0 || items[n-1]["id"] != m.ItemID {
		items = append(items, object{"type": "reasoning", "id": m.ItemID, "summary": []object{}})
	}
	item := items[len(items)-1]
	if c.Text != "" {
		item["summary"] = append(item["summary"].([]object), object{"type": "summary_text", "text": c.Text}) //nolint:forcetypeassert // made above
	}
	if m.EncryptedContent != "" {
		item["encrypted_content"] = m.EncryptedContent
	}
	return items
}

// complete leaves out reasoning whose content never came: without it OpenAI
// would look for an item that it has not stored.
func complete(items []object) []object {
	var out []object
	for _, item := range items {
		if item["encrypted_content"] != nil {
			out = append(out, item)
		}
	}
	return out
}
