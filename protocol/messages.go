package protocol

import (
	"encoding/json"
	"fmt"
)

// maxID is the longest id of a message or a request that a client may choose.
const maxID = 256

// checkMessages checks a client's messages and takes the list apart. Errors
// name the message, its field, the value and the limit.
func checkMessages(raw json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, invalid("messages is not a list")
	}
	for i, m := range list {
		if err := checkMessage(m); err != nil {
			return nil, invalid(fmt.Sprintf("messages[%d]%v", i, err))
		}
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return list, nil
}

func checkMessage(raw json.RawMessage) error {
	var m struct {
		ID    json.RawMessage   `json:"id"`
		Role  json.RawMessage   `json:"role"`
		Parts []json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(raw, &m); err != nil || len(raw) == 0 || raw[0] != '{' {
		if len(raw) > 0 && raw[0] == '{' {
			return fmt.Errorf(".parts is not a list")
		}
		return fmt.Errorf(" is not an object")
	}
	id, ok := text(m.ID)
	if !ok || id == "" {
		return fmt.Errorf(".id is %s, must be a text", shown(m.ID))
	}
	if len(id) > maxID {
		return fmt.Errorf(".id has %d bytes, the limit is %d", len(id), maxID)
	}
	switch role, _ := text(m.Role); role {
	case "user", "assistant", "system":
	default:
		return fmt.Errorf(".role is %s, must be user, assistant or system", shown(m.Role))
	}
	if m.Parts == nil {
		return fmt.Errorf(".parts is missing")
	}
	for i, p := range m.Parts {
		var part struct {
			Type json.RawMessage `json:"type"`
		}
		json.Unmarshal(p, &part)
		if t, ok := text(part.Type); !ok || t == "" {
			return fmt.Errorf(".parts[%d].type is %s, must be a text", i, shown(part.Type))
		}
	}
	return nil
}

// text decodes a JSON string.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// shown is a value as an error names it.
func shown(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return "missing"
	case len(raw) > 40:
		return string(raw[:40]) + "…"
	}
	return string(raw)
}
