package actors

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// shape is how JSON becomes values of one Go type.
type shape struct {
	typ      reflect.Type
	schema   *jsonschema.Resolved       // nil: only decoding tells
	defaults map[string]json.RawMessage // of members; see input
}

// decode returns the value that raw is. Errors name the field and are fit for whoever
// has sent it. It runs author's code: types may have decoders of their own.
func (s shape) decode(raw json.RawMessage) (reflect.Value, error) {
	if s.schema != nil {
		if err := satisfies(s.schema, raw); err != nil {
			return reflect.Value{}, err
		}
	}
	v := reflect.New(s.typ)
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

// satisfies says where raw does not follow a schema.
func satisfies(schema *jsonschema.Resolved, raw json.RawMessage) error {
	var plain any
	var mismatch *json.UnmarshalTypeError
	switch err := json.Unmarshal(raw, &plain); {
	case errors.As(err, &mismatch): // the only one that any has
		return fmt.Errorf("has a number out of range: %s", shorten(mismatch.Value, 60))
	case err != nil:
		return errors.New("is no JSON")
	}
	if err := schema.Validate(plain); err != nil {
		return errors.New(plainly(err.Error()))
	}
	return nil
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

// parse is json.Unmarshal that keeps the digits of numbers, and writes whole ones as
// Go's decoder takes them: 5.0 and 5e0 are 5.
func parse(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errors.New("is no JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is more than one JSON value")
	}
	return numbers(v)
}

func numbers(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		if outOfRange(v) {
			return nil, fmt.Errorf("has a number out of range: %s", shorten(v.String(), 60))
		}
		return whole(v), nil
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = numbers(v[name]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// maxExponent is beyond what a float64 has; arithmetic with more costs memory.
const maxExponent = 400

func outOfRange(n json.Number) bool {
	if _, err := n.Float64(); err != nil {
		return true
	}
	_, exponent, ok := strings.Cut(strings.ToLower(n.String()), "e")
	if !ok {
		return false
	}
	e, err := strconv.Atoi(exponent)
	return err != nil || e < -maxExponent || e > maxExponent
}

func whole(n json.Number) json.Number {
	const exact = 1 << 53 // a float64 holds all integers below it
	if before, after, _ := strings.Cut(n.String(), "."); strings.Trim(after, "0") == "" {
		n = json.Number(before)
	}
	if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < exact {
		return json.Number(strconv.FormatInt(int64(f), 10)) // -0 is 0
	}
	return n
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

// told returns what a model is told of a schema. null is left out where a value may be
// missing as well, and what is of any type has none: some providers take no lists of
// types.
func told(s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	simplify(s, false)
	return s
}

func simplify(s *jsonschema.Schema, optional bool) {
	switch {
	case len(s.Types) == len(anything.Types):
		s.Types = nil
	case len(s.Types) == 2 && s.Types[0] == "null" && (optional || s.Types[1] == "array"):
		s.Type, s.Types = s.Types[1], nil
	}
	for name, p := range s.Properties {
		simplify(p, !slices.Contains(s.Required, name))
	}
	for _, below := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if below != nil {
			simplify(below, false)
		}
	}
}
