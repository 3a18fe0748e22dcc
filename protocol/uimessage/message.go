package uimessage

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// Role says who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	System    Role = "system"
)

const maxID = 256 // bytes of a message id

// A Message is one entry of a conversation as clients show and store it.
type Message struct {
	ID       string // unique in the conversation, at most 256 bytes
	Role     Role
	Parts    []Part
	Metadata json.RawMessage            // the author's; nil if there is none
	Extra    map[string]json.RawMessage // fields that are not named above, by name
}

// ParseMessage reads one message and checks what a client may have got wrong:
// the id (not empty, at most 256 bytes), the role, each part's type and the
// fields that its type is made of. Errors are *InvalidError.
//
// It is for messages in today's form: what this system has written itself, and
// what an author hands in. What a client sends, and rows of unknown age, go
// through Heal.
func ParseMessage(data []byte) (Message, error) {
	raw, bad := clean(data)
	if bad != nil {
		return Message{}, bad
	}
	m, bad := parseMessage(raw)
	if bad != nil {
		return Message{}, bad
	}
	return m, nil
}

// ParseMessages reads a JSON array of messages as ParseMessage does. The paths
// in its errors begin with "messages".
func ParseMessages(data []byte) ([]Message, error) { return parseMessages(data, parseMessage) }

func parseMessages(data []byte, parse func(json.RawMessage) (Message, *InvalidError)) ([]Message, error) {
	raw, bad := clean(data)
	if bad != nil {
		return nil, bad.In("messages")
	}
	list, ok := elements(raw)
	if !ok {
		return nil, invalid("messages", raw, "must be an array")
	}
	out := make([]Message, len(list))
	for i := range list {
		if out[i], bad = parse(list[i]); bad != nil {
			return nil, bad.In("messages[" + strconv.Itoa(i) + "]")
		}
	}
	return out, nil
}

func parseMessage(raw json.RawMessage) (m Message, bad *InvalidError) {
	obj, bad := object(raw)
	if bad != nil {
		return Message{}, bad
	}
	if m.ID, bad = parseID(obj.take("id")); bad != nil {
		return Message{}, bad
	}
	if m.Role, bad = parseRole(obj.take("role")); bad != nil {
		return Message{}, bad
	}
	if m.Parts, bad = parseParts(obj.take("parts")); bad != nil {
		return Message{}, bad
	}
	if raw := obj.take("metadata"); string(raw) != "null" {
		m.Metadata = bytes.Clone(raw)
	}
	m.Extra = obj.rest()
	return m, nil
}

func parseID(raw json.RawMessage) (string, *InvalidError) {
	var id string
	switch {
	case len(raw) == 0:
		return "", invalid("id", nil, "is missing")
	case !unquote(raw, &id) || id == "":
		return "", invalid("id", raw, "must be a non-empty string")
	case len(id) > maxID:
		return "", invalid("id", raw, "must be at most "+strconv.Itoa(maxID)+" bytes long")
	}
	return id, nil
}

func parseRole(raw json.RawMessage) (Role, *InvalidError) {
	if len(raw) == 0 {
		return "", invalid("role", nil, "is missing")
	}
	var role string
	if !unquote(raw, &role) || !slices.Contains([]Role{User, Assistant, System}, Role(role)) {
		return "", invalid("role", raw, `must be "user", "assistant" or "system"`)
	}
	return Role(role), nil
}

func parseParts(raw json.RawMessage) ([]Part, *InvalidError) {
	if len(raw) == 0 {
		return nil, invalid("parts", nil, "is missing")
	}
	list, ok := elements(raw)
	if !ok {
		return nil, invalid("parts", raw, "must be an array")
	}
	parts := make([]Part, len(list))
	for i := range list {
		var bad *InvalidError
		if parts[i], bad = parsePart(list[i]); bad != nil {
			return nil, bad.In("parts[" + strconv.Itoa(i) + "]")
		}
	}
	return parts, nil
}

// AppendJSON appends the message as one JSON object: id, role, parts, metadata,
// then Extra by name. Equal messages give equal bytes.
func (m Message) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = AppendString(dst, m.ID)
	dst = append(dst, `,"role":`...)
	dst = AppendString(dst, string(m.Role))
	dst = append(dst, `,"parts":[`...)
	for i := range m.Parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.Parts[i].AppendJSON(dst)
	}
	dst = append(dst, ']')
	if len(m.Metadata) > 0 {
		dst = append(dst, `,"metadata":`...)
		dst = append(dst, m.Metadata...)
	}
	return append(appendExtra(dst, m.Extra), '}')
}

// MarshalJSON is AppendJSON for encoding/json.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// UnmarshalJSON is ParseMessage for encoding/json.
func (m *Message) UnmarshalJSON(data []byte) error {
	out, err := ParseMessage(data)
	if err != nil {
		return err
	}
	*m = out
	return nil
}

// AppendList appends a JSON array out of messages that are encoded already.
func AppendList(dst []byte, messages [][]byte) []byte {
	dst = append(dst, '[')
	for i, m := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m...)
	}
	return append(dst, ']')
}

// TrailingUsers returns the ids of the run of user messages at the end of ms,
// oldest first: what a request asks to be answered.
func TrailingUsers(ms []Message) []string {
	from := len(ms)
	for from > 0 && ms[from-1].Role == User {
		from--
	}
	var ids []string
	for _, m := range ms[from:] {
		ids = append(ids, m.ID)
	}
	return ids
}
