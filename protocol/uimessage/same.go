package uimessage

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// SameParts reports whether a and b have the same parts once sanitized. The
// order of JSON members does not count, nor do the two things in which client
// and store name one part differently: a reasoning part's id, and the toolName
// of a part whose type says it already.
func SameParts(a, b Message) bool {
	return slices.EqualFunc(Sanitize(a).Parts, Sanitize(b).Parts, samePart)
}

func samePart(a, b Part) bool {
	return sameJSON(a.compared(), b.compared())
}

func (p Part) compared() []byte {
	switch {
	case p.Type == ReasoningPart:
		p.ID = ""
	case p.IsTool():
		p.ToolName = p.Tool()
	}
	return p.AppendJSON(nil)
}

// sameJSON compares two JSON texts by what they mean to JavaScript: members in
// any order, numbers as 64-bit floats.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return sameValue(x, y)
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	}
	return a == b
}

// SameJSON reports whether a and b are the same JSON value: order of keys,
// white space and the writing of strings do not count.
func SameJSON(a, b json.RawMessage) bool { return sameJSON(a, b) }
