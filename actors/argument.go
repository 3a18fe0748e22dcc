package actors

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// param is one argument that a client passes.
type param struct {
	number int
	name   string
	typ    reflect.Type
	schema *jsonschema.Resolved // nil: only decoding tells
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

func (p param) decode(raw json.RawMessage) (reflect.Value, error) {
	if p.schema != nil {
		var plain any
		if err := json.Unmarshal(raw, &plain); err != nil {
			return reflect.Value{}, errors.New("is no JSON")
		}
		if err := p.schema.Validate(plain); err != nil {
			return reflect.Value{}, errors.New(plainly(err.Error()))
		}
	}
	v := reflect.New(p.typ)
	err := json.Unmarshal(raw, v.Interface())
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		return v, fmt.Errorf("%s does not fit", strings.TrimSpace(mismatch.Field+" "+mismatch.Value))
	case err != nil: // may be of a decoder of the author's
		return v, errors.New("does not fit")
	}
	return v.Elem(), nil
}

var validating = regexp.MustCompile(`validating (root|/\S*): `)

var (
	asPeopleSay = strings.NewReplacer("<invalid reflect.Value>", "null", "/1 is ", " is ", ".000000", "")
	asInGo      = strings.NewReplacer("/properties/", ".", "/items", "[]", "/additionalProperties", ".*")
)

// plainly says what the library does, in other words.
func plainly(text string) string {
	path := ""
	for _, m := range validating.FindAllStringSubmatch(text, -1) {
		path = m[1]
	}
	text = asPeopleSay.Replace(validating.ReplaceAllString(text, ""))
	if path == "" || path == "root" {
		return text
	}
	return strings.TrimPrefix(asInGo.Replace(path), ".") + ": " + text
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

// schemaFor returns the schema of a Go type, nil for a recursive one. A type with
// a decoder of its own may be written in any way.
func schemaFor(t reflect.Type) (*jsonschema.Resolved, error) {
	w := walk{own: map[reflect.Type]*jsonschema.Schema{}, above: map[reflect.Type]bool{}}
	if err := w.visit(t); err != nil || w.cyclic {
		return nil, err
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: w.own})
	if err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// walk looks for what the library does not know of a type.
type walk struct {
	own    map[reflect.Type]*jsonschema.Schema
	above  map[reflect.Type]bool
	cyclic bool
}

var (
	anything = &jsonschema.Schema{Types: []string{"null", "boolean", "object", "array", "number", "string", "integer"}}
	aString  = &jsonschema.Schema{Type: "string"}

	// known are types that do not look like what they are in JSON.
	known = map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time](): aString,
		reflect.TypeFor[[]byte]():    aString,
	}
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (w *walk) visit(t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		return w.visit(t.Elem())
	}
	if w.above[t] {
		w.cyclic = true
		return nil
	}
	w.above[t] = true
	defer delete(w.above, t)
	switch pointer := reflect.PointerTo(t); {
	case known[t] != nil:
		w.own[t] = known[t]
	case pointer.Implements(jsonDecoder), t == reflect.TypeFor[json.Number]():
		w.own[t] = anything
	case pointer.Implements(textDecoder):
		w.own[t] = aString
	default:
		return w.inside(t)
	}
	return nil
}

func (w *walk) inside(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("interface %s", t)
		}
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Errorf("type %s", t)
	case reflect.Slice, reflect.Array, reflect.Map:
		return w.visit(t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			tag := f.Tag.Get("json")
			if strings.HasSuffix(tag, ",string") {
				w.own[t] = anything
				return nil
			}
			if f.IsExported() && tag != "-" && !f.Anonymous {
				if err := w.visit(f.Type); err != nil {
					return err
				}
			}
		}
	default: // a basic type
	}
	return nil
}
