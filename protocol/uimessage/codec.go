package uimessage

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// A field is one JSON member of a T (a Part or a Chunk): how it is read and
// written. The tables of kinds are made of fields, so that parsing, checking
// and encoding cannot drift apart.
type field[T any] struct {
	name     string
	key      string // `,"name":`
	required bool   // must be there when read, is always written
	nullable bool   // JSON null is a value, not absence
	has      func(*T) bool
	put      func([]byte, *T) []byte
	set      func(*T, json.RawMessage) (reason string) // "" if the value fits
}

// need returns the field as one that its kind cannot do without.
func (f field[T]) need() field[T] {
	f.required = true
	return f
}

// text is a string that may be empty.
func text[T any](name string, at func(*T) *string) field[T] {
	return field[T]{
		name: name, key: `,"` + name + `":`,
		has: func(v *T) bool { return *at(v) != "" },
		put: func(dst []byte, v *T) []byte { return AppendString(dst, *at(v)) },
		set: func(v *T, raw json.RawMessage) string {
			if !unquote(raw, at(v)) {
				return "must be a string"
			}
			return ""
		},
	}
}

// name is a string that identifies something, so it must not be empty.
func name[T any](label string, at func(*T) *string) field[T] {
	f := text(label, at)
	set := f.set
	f.set = func(v *T, raw json.RawMessage) string {
		if reason := set(v, raw); reason != "" {
			return reason
		}
		if *at(v) == "" {
			return "must not be empty"
		}
		return ""
	}
	return f
}

// flag is a boolean; false is the same as absent.
func flag[T any](name string, at func(*T) *bool) field[T] {
	return field[T]{
		name: name, key: `,"` + name + `":`,
		has: func(v *T) bool { return *at(v) },
		put: func(dst []byte, v *T) []byte {
			if *at(v) {
				return append(dst, "true"...)
			}
			return append(dst, "false"...)
		},
		set: func(v *T, raw json.RawMessage) string {
			*at(v) = string(raw) == "true"
			if !*at(v) && string(raw) != "false" {
				return "must be true or false"
			}
			return ""
		},
	}
}

// value is any JSON, carried as it is.
func value[T any](name string, at func(*T) *json.RawMessage) field[T] {
	return field[T]{
		name: name, key: `,"` + name + `":`, nullable: true,
		has: func(v *T) bool { return len(*at(v)) > 0 },
		put: func(dst []byte, v *T) []byte {
			if raw := *at(v); len(raw) > 0 {
				return append(dst, raw...)
			}
			return append(dst, "null"...)
		},
		set: func(v *T, raw json.RawMessage) string {
			*at(v) = bytes.Clone(raw)
			return ""
		},
	}
}

// decode fills v from obj and returns what it does not know as extra fields.
func decode[T any](fields []field[T], obj members, v *T) (extra map[string]json.RawMessage, bad *InvalidError) {
	for i := range fields {
		f := &fields[i]
		raw := obj.take(f.name)
		if len(raw) == 0 || !f.nullable && string(raw) == "null" {
			if f.required {
				return nil, invalid(f.name, nil, "is missing")
			}
			continue
		}
		if reason := f.set(v, raw); reason != "" {
			return nil, invalid(f.name, raw, reason)
		}
	}
	return obj.rest(), nil
}

// encode appends {"type":typ, the fields of v, the extra fields by name}.
func encode[T any](dst []byte, typ string, fields []field[T], v *T, extra map[string]json.RawMessage) []byte {
	dst = append(dst, `{"type":`...)
	dst = AppendString(dst, typ)
	for i := range fields {
		f := &fields[i]
		if f.required || f.has(v) {
			dst = append(dst, f.key...)
			dst = f.put(dst, v)
		}
	}
	return append(appendExtra(dst, extra), '}')
}

func appendExtra(dst []byte, extra map[string]json.RawMessage) []byte {
	if len(extra) == 0 {
		return dst
	}
	for _, k := range slices.Sorted(maps.Keys(extra)) {
		dst = append(dst, ',')
		dst = AppendString(dst, k)
		dst = append(dst, ':')
		dst = append(dst, extra[k]...)
	}
	return dst
}

// clean returns data as compact JSON in valid UTF-8.
func clean(data []byte) (json.RawMessage, *InvalidError) {
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	var buf bytes.Buffer
	buf.Grow(len(data))
	if err := json.Compact(&buf, data); err != nil {
		return nil, invalid("", data, "is not JSON")
	}
	return buf.Bytes(), nil
}

// object splits clean JSON into its members.
func object(raw json.RawMessage) (members, *InvalidError) {
	list, ok := split(raw)
	if !ok {
		return nil, invalid("", raw, "must be an object")
	}
	return list, nil
}

// takeType removes and returns the member "type" of a part or chunk.
func takeType(obj *members) (string, *InvalidError) {
	raw := obj.take("type")
	if len(raw) == 0 {
		return "", invalid("type", nil, "is missing")
	}
	var typ string
	if !unquote(raw, &typ) || typ == "" {
		return "", invalid("type", raw, "must be a non-empty string")
	}
	return typ, nil
}

// unquote reads a JSON string.
func unquote(raw json.RawMessage, s *string) bool {
	if len(raw) < 2 || raw[0] != '"' {
		return false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && raw[len(raw)-1] == '"' && utf8.Valid(inner) {
		*s = string(inner)
		return true
	}
	return json.Unmarshal(raw, s) == nil
}
