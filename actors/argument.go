package actors

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// param is one argument that a client passes.
type param struct {
	shape
	number int
	name   string
}

func (p param) String() string {
	if p.name == "" {
		return fmt.Sprintf("argument %d", p.number)
	}
	return fmt.Sprintf("argument %d (%s)", p.number, p.name)
}

// arguments makes Go values of a client's arguments. Its errors are *Error. It
// runs author's code: types may have decoders of their own.
func (m *method) arguments(args []json.RawMessage) ([]reflect.Value, error) {
	switch {
	case len(args) < m.needed:
		return nil, m.invalid("%s is missing", m.params[len(args)])
	case len(args) > len(m.params) && !m.variadic:
		return nil, m.invalid("has %d arguments, takes %d", len(args), len(m.params))
	}
	var values []reflect.Value
	for i, raw := range args {
		p := m.params[min(i, len(m.params)-1)]
		p.number = i + 1
		v, err := p.decode(raw)
		if err != nil {
			return nil, m.invalid("%s: %s", p, shorten(err.Error(), 300))
		}
		values = append(values, v)
	}
	for i := len(args); i < len(m.params) && (i < len(m.params)-1 || !m.variadic); i++ {
		values = append(values, reflect.Zero(m.params[i].typ))
	}
	return values, nil
}

func (m *method) invalid(format string, args ...any) error {
	return &Error{Code: BadRequest, Message: "Method " + m.Name + ": " + fmt.Sprintf(format, args...)}
}

// shorten cuts the middle out of a text that tells a client its own value: what is
// wrong with that stands at the end.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := s[:most*2/3], s[len(s)-most/3:]
	return strings.ToValidUTF8(head, "") + "…" + strings.ToValidUTF8(tail, "")
}
