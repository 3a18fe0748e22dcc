package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

// NewTool returns a tool that f runs. In is a struct, or a map with string keys: its
// JSON schema is what the model is told, and an input that does not satisfy it is the
// model's to correct before f is called. Fields must be there unless marked omitempty
// or omitzero, or given by Defaults, and no others may; a tag jsonschema:"…" describes
// one. Whole numbers may be written as 5.0. Out is anything that has a JSON form.
//
// f may be run by many turns at once. ctx ends when the turn is cancelled, the tool's
// Timeout is over or the node stops; ToolCallFrom(ctx) is the call. The text of an error
// is what the model and visitors are told, and the turn goes on: log what they should
// not read, and return another. Of a panic they are told only that the tool has failed.
// A call that a crash cuts off is not run again, unless the tool is Repeatable: the
// model is told that its outcome is unknown.
//
// Mistakes (a name that providers refuse, an In without schema) are reported when the
// agent is registered.
func NewTool[In, Out any](name, description string, f func(ctx context.Context, in In) (Out, error), options ...ToolOption) Tool {
	in := &shape{typ: reflect.TypeFor[In]()}
	t := Tool{Name: name, Description: description, in: in}
	t.describe()
	if f == nil {
		t.fault = "it has no function"
	}
	t.check = func(input json.RawMessage) error {
		_, err := in.input(input)
		return err
	}
	t.run = func(ctx context.Context, _ *ToolCall, input json.RawMessage) (json.RawMessage, error) {
		v, err := in.input(input)
		if err != nil {
			return nil, err
		}
		out, err := f(ctx, v.Interface().(In)) //nolint:forcetypeassert // in is of In
		if err != nil {
			return nil, err
		}
		data, err := encode(out)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", notJSON, err)
		}
		return data, nil
	}
	return t.with(options)
}

// input is decode of what a model has written, with defaults. What is decoded is what
// was looked at: each name once (the last counts, as in JavaScript), and numbers as
// parse writes them.
func (s shape) input(raw json.RawMessage) (v reflect.Value, err error) {
	if raw, err = canonical(raw, s.defaults); err == nil {
		v, err = s.decode(raw)
	}
	return v, wrongInput(err)
}

func canonical(raw json.RawMessage, defaults map[string]json.RawMessage) (json.RawMessage, error) {
	v, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if object, ok := v.(map[string]any); ok {
		for name, value := range defaults {
			if _, given := object[name]; !given {
				object[name] = value
			}
		}
	}
	return encode(v)
}

// wrongInput is err as the model reads it.
func wrongInput(err error) error {
	if err == nil {
		return nil
	}
	return sentence("The input is wrong: " + shorten(err.Error(), maxBadInput))
}

// maxBadInput bounds what a model is told of its own mistake.
const maxBadInput = 500

// describe fills in the schema of t.in.
func (t *Tool) describe() {
	typ := t.in.typ
	schema, err := schemaFor(typ)
	switch {
	case err != nil:
		t.fault = fmt.Sprintf("JSON does not fit into its input %s: %s", typ, err)
	case typ.Kind() != reflect.Struct && (typ.Kind() != reflect.Map || typ.Key().Kind() != reflect.String):
		t.fault = fmt.Sprintf("its input is a %s, must be a struct or a map with string keys", typ)
	case schema == nil:
		t.fault = fmt.Sprintf("its input %s contains itself: it has no schema", typ)
	case schema.Schema().Type != "object":
		t.fault = fmt.Sprintf("its input %s has a decoder of its own: its fields are not known", typ)
	default:
		t.in.schema = schema
		t.Schema, err = encode(told(schema.Schema()))
		if err != nil {
			t.fault = fmt.Sprintf("its schema cannot be written: %s", err)
		}
	}
}
