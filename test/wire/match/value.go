package match

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// bindings are the variables and their values. A binding is never changed, only copied.
type bindings map[string]string

var variable = regexp.MustCompile(`^<([a-z]+):([\w-]+)>$`)

// bind adds name, or checks it; nil if it has another value or the value belongs
// to another variable of its kind.
func (b bindings) bind(name, value string) bindings {
	if old, ok := b[name]; ok {
		if old != value {
			return nil
		}
		return b
	}
	kind, _, _ := strings.Cut(name, ":")
	for other, v := range b {
		if v == value && strings.HasPrefix(other, kind+":") {
			return nil
		}
	}
	out := maps.Clone(b)
	out[name] = value
	return out
}

// kind says what a value is, and so how strict the comparison is.
type kind string

const (
	inFrame    kind = "frame"
	inChunk    kind = "chunk"
	inMessages kind = "messages"
	inMessage  kind = "message"
	inParts    kind = "parts"
	inPart     kind = "part"
	inMetadata kind = "metadata"
	inHeaders  kind = "headers"
	loose      kind = "loose" // more fields are fine
	exact      kind = "exact"
)

// child is the kind of a field's value.
func (k kind) child(key string, got any) kind {
	_, isObject := got.(map[string]any)
	_, isList := got.([]any)
	switch {
	case k == inFrame && key == "messages", k == inFrame && key == "body" && isList:
		return inMessages
	case k == inFrame && key == "message", k == inMessages:
		return inMessage
	case k == inFrame && key == "body" && isObject:
		return inChunk
	case k == inFrame && key == "headers":
		return inHeaders
	case k == inMessage && key == "parts":
		return inParts
	case k == inMessage && key == "metadata":
		return inMetadata
	case k == inParts:
		return inPart
	case k == inPart && key == "approval":
		return loose
	}
	return exact
}

// matcher keeps the first difference of the comparison under way.
type matcher struct{ diff string }

func (m *matcher) no(path, format string, args ...any) bindings {
	if m.diff == "" {
		m.diff = path + ": " + fmt.Sprintf(format, args...)
	}
	return nil
}

// value compares; it returns the bindings, extended, or nil.
func (m *matcher) value(want, got any, b bindings, k kind, path string) bindings {
	switch want := want.(type) {
	case string:
		return m.text(want, got, b, path)
	case map[string]any:
		return m.object(want, got, b, k, path)
	case []any:
		list, ok := got.([]any)
		if !ok {
			return m.no(path, "expected a list, got %s", show(got))
		}
		return m.list(want, list, b, k, path)
	}
	if want != got {
		return m.no(path, "expected %s, got %s", show(want), show(got))
	}
	return b
}

func (m *matcher) text(want string, got any, b bindings, path string) bindings {
	s, isText := got.(string)
	ok := isText && s == want
	switch {
	case want == "<any>":
		ok = true
	case want == "<number>":
		_, ok = got.(float64)
	case want == "<words>":
		ok = strings.TrimSpace(s) != "" && !strings.HasPrefix(strings.TrimSpace(s), "{")
	case variable.MatchString(want):
		if s != "" {
			if bound := b.bind(strings.Trim(want, "<>"), s); bound != nil {
				return bound
			}
		}
		ok = false
	}
	if !ok {
		return m.no(path, "expected %s, got %s", show(want), show(got))
	}
	return b
}

func (m *matcher) object(want map[string]any, got any, b bindings, k kind, path string) bindings {
	if choices, ok := want["$or"].([]any); ok {
		for _, c := range choices {
			if out := m.value(c, got, b, k, path); out != nil {
				return out
			}
		}
		m.diff = ""
		return m.no(path, "expected one of %s, got %s", show(choices), show(got))
	}
	if inner, ok := want["$opt"]; ok {
		return m.value(inner, got, b, k, path)
	}
	if pattern, ok := want["$re"].(string); ok {
		if s, isText := got.(string); isText && regexp.MustCompile(pattern).MatchString(s) {
			return b
		}
		return m.no(path, "expected text like %s, got %s", pattern, show(got))
	}
	if inner, ok := want["$some"]; ok {
		return m.value(inner, got, b, loose, path)
	}
	fields, ok := got.(map[string]any)
	if !ok {
		return m.no(path, "expected an object, got %s", show(got))
	}
	for key, w := range want {
		if b = m.field(key, w, fields, b, k, path); b == nil {
			return nil
		}
	}
	return m.extras(want, fields, b, k, path)
}

func (m *matcher) field(key string, want any, got map[string]any, b bindings, k kind, path string) bindings {
	sub := path + "." + key
	g, there := got[key]
	if !there {
		if want == nil && k != exact || optional(want) || want == false && flags[key] {
			return b
		}
		return m.no(sub, "expected %s, got nothing", show(want))
	}
	if k == inPart && key == "type" && g == "dynamic-tool" {
		if name, ok := strings.CutPrefix(fmt.Sprint(want), "tool-"); ok && got["toolName"] == name {
			return b
		}
	}
	if k == inHeaders && key == "content-type" {
		if !strings.HasPrefix(strings.ToLower(fmt.Sprint(g)), fmt.Sprint(want)) {
			return m.no(sub, "expected %s, got %s", show(want), show(g))
		}
		return b
	}
	return m.value(want, g, b, k.child(key, g), sub)
}

func optional(v any) bool {
	o, ok := v.(map[string]any)
	return ok && o["$opt"] != nil
}

// extras refuses fields that are not expected and mean something.
func (m *matcher) extras(want, got map[string]any, b bindings, k kind, path string) bindings {
	if k == inHeaders || k == loose {
		return b
	}
	known := vocabulary(k, got)
	for key, g := range got {
		switch _, expected := want[key]; {
		case expected:
		case k != exact && g == false && flags[key]:
		case key == "outcome" && g == "completed":
		case k == inMessage && key == "metadata" && onlyFinishReason(g):
		case k == inMetadata && key == "finishReason":
		case k == exact || known[key]:
			return m.no(path+"."+key, "unexpected %s", show(g))
		}
	}
	return b
}

func onlyFinishReason(v any) bool {
	fields, _ := v.(map[string]any)
	for k := range fields {
		if k != "finishReason" {
			return false
		}
	}
	return true
}

func (m *matcher) list(want, got []any, b bindings, k kind, path string) bindings {
	if len(want) == 0 {
		if len(got) > 0 {
			return m.no(path, "unexpected element %s", show(got[0]))
		}
		return b
	}
	first, maybe := want[0], false
	if o, ok := first.(map[string]any); ok && o["$maybe"] != nil {
		first, maybe = o["$maybe"], true
	}
	if len(got) > 0 {
		if bound := m.value(first, got[0], b, k.child("", got[0]), path+"[]"); bound != nil {
			if rest := m.list(want[1:], got[1:], bound, k, path); rest != nil {
				return rest
			}
		}
	} else if !maybe {
		return m.no(path, "a further element is missing: %s", show(first))
	}
	if maybe {
		return m.list(want[1:], got, b, k, path)
	}
	return nil
}

func show(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if s := string(data); len(s) <= 240 {
		return s
	}
	return string(data[:240]) + "…"
}
