package uimessage

import "encoding/json"

var emptyObject = json.RawMessage(`{}`)

// NormalizeInput makes a tool input that every provider accepts: an object
// stays as it is, a string that holds a JSON object becomes that object, and
// everything else becomes {}.
func NormalizeInput(raw json.RawMessage) json.RawMessage {
	out, _ := normalizeInput(raw)
	return out
}

// normalizeInput also reports whether a value was lost by it.
func normalizeInput(raw json.RawMessage) (out json.RawMessage, lost bool) {
	if len(raw) == 0 {
		return emptyObject, false
	}
	if raw[0] == '{' {
		return raw, false
	}
	var s string
	if unquote(raw, &s) {
		if inner, bad := clean([]byte(s)); bad == nil && len(inner) > 0 && inner[0] == '{' {
			return inner, false
		}
		return emptyObject, s != ""
	}
	return emptyObject, string(raw) != "null" && json.Valid(raw)
}

// setInput gives p its final input. What normalizing would lose stays in
// RawInput: it is the only trace of what the model has really said.
func (p *Part) setInput(raw json.RawMessage) {
	in, lost := normalizeInput(raw)
	p.Input, p.RawInput, p.InputEncoding = in, nil, ""
	if lost {
		p.RawInput = raw
	}
}
