package uimessage

import (
	"bytes"
	"encoding/json"
)

// A member is one name and value of a JSON object whose order counts.
type member struct {
	name string
	raw  json.RawMessage
}

// members splits a JSON object in order; ok is false if raw is no object. Of
// equal names the last value counts, at the first one's place.
func members(raw json.RawMessage) (list []member, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	at := make(map[string]int)
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, false
		}
		key, _ := tok.(string)
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return nil, false
		}
		if i, seen := at[key]; seen {
			list[i].raw = v
			continue
		}
		at[key] = len(list)
		list = append(list, member{key, v})
	}
	return list, true
}

func appendMembers(dst []byte, list []member) []byte {
	dst = append(dst, '{')
	for i, m := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, m.name)
		dst = append(dst, ':')
		dst = append(dst, m.raw...)
	}
	return append(dst, '}')
}

// merge lays over on base the way clients merge a message's metadata: objects
// member by member, to any depth; everything else is replaced. An empty or null
// over changes nothing. Neither argument is changed.
func merge(base, over json.RawMessage) json.RawMessage { return lay(base, over, true) }

// overlay does it for provider metadata: each provider's object is replaced as
// a whole.
func overlay(base, over json.RawMessage) json.RawMessage { return lay(base, over, false) }

func lay(base, over json.RawMessage, deep bool) json.RawMessage {
	if len(over) == 0 || string(over) == "null" {
		return base
	}
	if len(base) == 0 {
		return over
	}
	list, ok := members(base)
	if !ok {
		return over
	}
	news, ok := members(over)
	if !ok {
		return over
	}
	at := make(map[string]int, len(list))
	for i, m := range list {
		at[m.name] = i
	}
	for _, m := range news {
		i, known := at[m.name]
		switch {
		case !known:
			at[m.name] = len(list)
			list = append(list, m)
		case deep && string(m.raw) != "null": // null replaces a member, unlike the whole
			list[i].raw = lay(list[i].raw, m.raw, deep)
		default:
			list[i].raw = m.raw
		}
	}
	return appendMembers(nil, list)
}
