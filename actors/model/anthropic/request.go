package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
)

// object is a JSON object of the request.
type object = map[string]any

// turn is a message as the API has it: user and assistant take turns.
type turn struct {
	Role    string   `json:"role"`
	Content []object `json:"content"`
}

// body is the request in the API's words. trimmed is the white space at the end
// of a partial answer, which the API refuses.
func (m *messagesModel) body(r model.Request, ids *content.CallIDs) (body []byte, trimmed string, err error) {
	turns, err := turns(r.Messages, ids)
	if err != nil {
		return nil, "", err
	}
	trimmed = trimPrefill(turns)
	b := object{"model": m.config.Model, "stream": true, "max_tokens": m.config.MaxOutputTokens, "messages": turns}
	if r.MaxOutputTokens > 0 {
		b["max_tokens"] = r.MaxOutputTokens
	}
	if r.Instructions != "" {
		b["system"] = []object{{"type": "text", "text": r.Instructions}}
	}
	if len(r.StopSequences) > 0 {
		b["stop_sequences"] = r.StopSequences
	}
	m.think(b, r)
	if len(r.Tools) > 0 {
		if b["tools"], err = tools(r.Tools); err != nil {
			return nil, "", err
		}
		if r.ToolChoice != "" {
			b["tool_choice"] = toolChoice(r.ToolChoice)
		}
	}
	if m.config.CacheTTL != "" {
		m.cache(b, turns)
	}
	body, err = content.Marshal(b, r, metadataKey)
	return body, trimmed, err
}

// think sets how the model thinks, or else how it picks words: the API wants no
// temperature beside thinking, and no thinking where a tool is demanded.
func (m *messagesModel) think(b object, r model.Request) {
	demanded := len(r.Tools) > 0 && r.ToolChoice != "" && r.ToolChoice != "auto" && r.ToolChoice != "none"
	switch {
	case m.config.AdaptiveThinking && !demanded:
		b["thinking"] = object{"type": "adaptive", "display": "summarized"}
	case m.config.ThinkingTokens > 0 && !demanded:
		b["thinking"] = object{"type": "enabled", "budget_tokens": m.config.ThinkingTokens}
		if r.MaxOutputTokens > 0 {
			b["max_tokens"] = max(r.MaxOutputTokens, m.config.ThinkingTokens+1)
		}
	default:
		if r.Temperature != nil {
			b["temperature"] = *r.Temperature
		}
		if r.TopP != nil {
			b["top_p"] = *r.TopP
		}
	}
}

// cache sets cache points behind the tools, the instructions and the last two
// turns of the user: the API takes four, and finds the longest beginning that an
// earlier request has left.
func (m *messagesModel) cache(b object, turns []turn) {
	point := object{"type": "ephemeral"}
	if m.config.CacheTTL != "5m" {
		point["ttl"] = m.config.CacheTTL
	}
	if tools, ok := b["tools"].([]object); ok {
		tools[len(tools)-1]["cache_control"] = point
	}
	if system, ok := b["system"].([]object); ok {
		system[0]["cache_control"] = point
	}
	for _, t := range turns {
		for _, block := range t.Content {
			if block["cache_control"] != nil {
				return
			}
		}
	}
	left := 2
	for _, t := range slices.Backward(turns) {
		if t.Role == "user" && left > 0 {
			t.Content[len(t.Content)-1]["cache_control"] = point
			left--
		}
	}
}

func tools(tools []model.Tool) ([]object, error) {
	out := make([]object, 0, len(tools))
	for _, t := range tools {
		schema, err := content.Schema(t)
		if err != nil {
			return nil, err
		}
		out = append(out, object{"name": t.Name, "description": t.Description, "input_schema": schema})
	}
	return out, nil
}

func toolChoice(choice string) object {
	switch choice {
	case "auto", "none":
		return object{"type": choice}
	case "required":
		return object{"type": "any"}
	}
	return object{"type": "tool", "name": choice}
}

// turns joins what one side says in a row: results of tools belong to the user's
// side and have to come first in it.
func turns(messages []model.Message, ids *content.CallIDs) ([]turn, error) {
	var out []turn
	for i, m := range messages {
		role, blocks, err := blocks(m, ids)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, turn{Role: role, Content: blocks})
	}
	return out, nil
}

func blocks(m model.Message, ids *content.CallIDs) (role string, out []object, err error) {
	role = "user"
	switch m.Role {
	case model.Assistant:
		return "assistant", assistantBlocks(m.Content, ids), nil
	case model.ToolRole:
		for _, c := range m.Content {
			out = append(out, withPoint(object{"type": "tool_result", "tool_use_id": callID(ids, c.CallID), "content": resultContent(c), "is_error": c.IsError}, c))
		}
	case model.User:
		for _, c := range m.Content {
			switch c.Kind {
			case model.TextContent:
				if strings.TrimSpace(c.Text) != "" { // the API refuses blank text
					out = append(out, withPoint(object{"type": "text", "text": c.Text}, c))
				}
			case model.FileContent:
				b, err := fileBlock(c)
				if err != nil {
					return "", nil, err
				}
				out = append(out, withPoint(b, c))
			default: // nothing else is a user's
			}
		}
	default:
		err = fmt.Errorf("role %q is not user, assistant or tool", m.Role)
	}
	return role, out, err
}

// withPoint gives a block the cache point that its author wants.
func withPoint(b object, c model.Content) object {
	if point := unpack(c.Metadata).CacheControl; point != nil {
		b["cache_control"] = point
	}
	return b
}

var validID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// callID is the provider's id of a call. What another provider has made up may
// have characters that the API refuses.
func callID(ids *content.CallIDs, id string) string {
	if id = ids.Wire(id); validID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "toolu_" + hex.EncodeToString(sum[:12])
}

// resultContent is the result as text. The API refuses a blank one.
func resultContent(c model.Content) []object {
	text := content.ToolOutput(c)
	if strings.TrimSpace(text) == "" {
		return []object{}
	}
	return []object{{"type": "text", "text": text}}
}

// assistantBlocks joins texts that follow each other, the pieces of one answer.
// Thinking whose signature never came (an answer that was cut off) is left out:
// the API accepts only what it has signed.
func assistantBlocks(contents []model.Content, ids *content.CallIDs) []object {
	var out []object
	for _, c := range contents {
		switch c.Kind {
		case model.TextContent:
			if n := len(out); n > 0 && out[n-1]["type"] == "text" {
				out[n-1]["text"] = out[n-1]["text"].(string) + c.Text //nolint:forcetypeassert // made below
			} else {
				out = append(out, object{"type": "text", "text": c.Text})
			}
		case model.ReasoningContent:
			if m := unpack(c.Metadata); m.RedactedData != "" {
				out = append(out, object{"type": "redacted_thinking", "data": m.RedactedData})
			} else if m.Signature != "" {
				out = append(out, object{"type": "thinking", "thinking": c.Text, "signature": m.Signature})
			}
		case model.ToolCallContent:
			out = append(out, object{"type": "tool_use", "id": callID(ids, c.CallID), "name": c.Tool, "input": json.RawMessage(content.ToolInput(c))})
		default: // nothing else is an assistant's that the API takes back
		}
	}
	return withoutBlank(out)
}

func withoutBlank(blocks []object) []object {
	kept := blocks[:0]
	for _, b := range blocks {
		if text, ok := b["text"].(string); !ok || strings.TrimSpace(text) != "" {
			kept = append(kept, b)
		}
	}
	return kept
}

// trimPrefill cuts the white space off the end of a partial answer.
func trimPrefill(turns []turn) (trimmed string) {
	if len(turns) == 0 || turns[len(turns)-1].Role != "assistant" {
		return ""
	}
	blocks := turns[len(turns)-1].Content
	last := blocks[len(blocks)-1]
	text, ok := last["text"].(string)
	if !ok {
		return ""
	}
	cut := strings.TrimRight(text, " \t\r\n")
	last["text"] = cut
	return text[len(cut):]
}

func fileBlock(c model.Content) (object, error) {
	c, err := content.Resolve(c)
	if err != nil {
		return nil, err
	}
	kind, source := "document", object{"type": "base64", "media_type": c.MediaType, "data": base64.StdEncoding.EncodeToString(c.Data)}
	switch {
	case strings.HasPrefix(c.MediaType, "image/"):
		kind = "image"
	case strings.HasPrefix(c.MediaType, "text/") && len(c.Data) > 0:
		return object{"type": "text", "text": content.TextFile(c)}, nil
	case c.MediaType != "application/pdf":
		return nil, fmt.Errorf("file %q: the API takes images, text and application/pdf, not %q", c.Filename, c.MediaType)
	}
	if len(c.Data) == 0 {
		source = object{"type": "url", "url": c.URL}
	}
	return object{"type": kind, "source": source}, nil
}
