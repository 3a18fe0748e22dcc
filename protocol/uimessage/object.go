package uimessage

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A member is one name and value of a JSON object.
type member struct {
	name string
	raw  json.RawMessage
}

// members are a JSON object in its order. Each name is there once.
type members []member

// take removes and returns the value of a member; nil if there is none. It
// shares memory with the whole: who keeps it makes a copy.
func (m *members) take(name string) json.RawMessage {
	for i := range *m {
		if (*m)[i].name == name {
			raw := (*m)[i].raw
			*m = slices.Delete(*m, i, i+1)
			return raw
		}
	}
	return nil
}

// get returns the value of a member; nil if there is none.
func (m members) get(name string) json.RawMessage {
	for i := range m {
		if m[i].name == name {
			return m[i].raw
		}
	}
	return nil
}

// set gives a member another value, or appends it.
func (m *members) set(name string, raw json.RawMessage) {
	for i := range *m {
		if (*m)[i].name == name {
			(*m)[i].raw = raw
			return
		}
	}
	*m = append(*m, member{name, raw})
}

// rename gives a member another name, unless that is taken.
func (m members) rename(from, to string) {
	for i := range m {
		if m[i].name == from && m.get(to) == nil {
			m[i].name = to
		}
	}
}

// rest returns copies of what has not been taken; nil if that is nothing.
func (m members) rest() map[string]json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(m))
	for _, x := range m {
		out[x.name] = bytes.Clone(x.raw)
	}
	return out
}

func (m members) json() []byte {
	dst := []byte{'{'}
	for i := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, m[i].name)
		dst = append(dst, ':')
		dst = append(dst, m[i].raw...)
	}
	return append(dst, '}')
}

// array makes a JSON array of its elements.
func array(list []json.RawMessage) json.RawMessage {
	dst := []byte{'['}
	for i, raw := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, raw...)
	}
	return append(dst, ']')
}

// split returns the members of a JSON object; ok is false if raw is not a valid
// object. Of equal names the last value counts, at the first one's place. Values
// share memory with raw.
func split(raw json.RawMessage) (list members, ok bool) {
	s := splitter{raw: raw}
	list = make(members, 0, 8)
	var seen map[string]int // only for objects too large to search
	ok = s.each('{', '}', func(name string, value json.RawMessage) {
		if seen == nil && len(list) == 16 {
			seen = make(map[string]int)
			for i := range list {
				seen[list[i].name] = i
			}
		}
		at, known := seen[name]
		if seen == nil {
			at = slices.IndexFunc(list, func(m member) bool { return m.name == name })
			known = at >= 0
		}
		if known {
			list[at].raw = value
			return
		}
		if seen != nil {
			seen[name] = len(list)
		}
		list = append(list, member{name, value})
	})
	return list, ok
}

// elements returns the elements of a JSON array; ok is false if raw is none.
// They share memory with raw.
func elements(raw json.RawMessage) (list []json.RawMessage, ok bool) {
	s := splitter{raw: raw}
	ok = s.each('[', ']', func(_ string, value json.RawMessage) { list = append(list, value) })
	return list, ok
}

// A splitter walks over one JSON object or array without looking into its
// values. It is made for JSON that has been checked before; on anything else
// it stops somewhere within bounds.
type splitter struct {
	raw []byte
	at  int
}

// each calls f for each member or element.
func (s *splitter) each(open, end byte, f func(name string, value json.RawMessage)) bool {
	if !s.next(open) {
		return false
	}
	if s.next(end) {
		return true
	}
	for {
		var name string
		if open == '{' {
			key := s.value()
			if !unquote(key, &name) || !s.next(':') {
				return false
			}
		}
		value := s.value()
		if len(value) == 0 {
			return false
		}
		f(name, value)
		if s.next(end) {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

func (s *splitter) space() {
	for s.at < len(s.raw) && (s.raw[s.at] == ' ' || s.raw[s.at] == '\n' || s.raw[s.at] == '\r' || s.raw[s.at] == '\t') {
		s.at++
	}
}

// next steps over c if it is what comes next.
func (s *splitter) next(c byte) bool {
	s.space()
	if s.at == len(s.raw) || s.raw[s.at] != c {
		return false
	}
	s.at++
	return true
}

// value steps over one value and returns it.
func (s *splitter) value() json.RawMessage {
	s.space()
	start, depth := s.at, 0
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case '"':
			s.quoted()
			if depth == 0 {
				return s.raw[start:s.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.raw[start:s.at]
			}
			if depth--; depth == 0 {
				s.at++
				return s.raw[start:s.at]
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return s.raw[start:s.at]
			}
		}
		s.at++
	}
	return s.raw[start:s.at]
}

// quoted steps over a string.
func (s *splitter) quoted() {
	for s.at++; s.at < len(s.raw); s.at++ {
		switch s.raw[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return
		}
	}
	s.at = len(s.raw) // an escape may have stepped over the end
}
