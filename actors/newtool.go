package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// NewTool returns a tool that f runs. In is a struct, or a map with string keys: its
// JSON schema is what the model is told, and an input that does not satisfy it is the
// model's to correct before f is called. Fields must be there unless marked omitempty
// or omitzero, and no others may; a tag jsonschema:"…" describes one. Out is anything
// that has a JSON form.
//
// f may be run by many turns at once. ctx ends when the turn is cancelled, the tool's
// Timeout is over or the node stops; ToolCallFrom(ctx) is the call. The text of an error
// is what the model and visitors are told, and the turn goes on; of a panic they are
// told only that the tool has failed. A call that a crash cuts off is not run again,
// unless the tool is Repeatable: the model is told that its outcome is unknown.
//
// Mistakes (a name that providers refuse, an In without schema) are reported when the
// agent is registered.
func NewTool[In, Out any](name, description string, f func(ctx context.Context, in In) (Out, error), options ...ToolOption) Tool {
	t := Tool{Name: name, Description: description, in: reflect.TypeFor[In]()}
	if f == nil {
		t.fault = "it has no function"
	}
	p := t.describe()
	t.check = func(input json.RawMessage) error {
		_, err := p.decode(input)
		return err
	}
	t.run = func(ctx context.Context, _ *ToolCall, input json.RawMessage) (json.RawMessage, error) {
		v, err := p.decode(input)
		if err != nil {
			return nil, sentence(err.Error())
		}
		out, err := f(ctx, v.Interface().(In)) //nolint:forcetypeassert // p is of In
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
	return t.with(options)
}

// ClientTool returns a tool that a client runs, or a person answers: the call stays
// open until one of them does, over restarts, too; see Agent.AnswerTimeout. schema is
// the JSON schema of the input, an object; nil: any object.
func ClientTool(name, description string, schema json.RawMessage, options ...ToolOption) Tool {
	return Tool{Name: name, Description: description, Schema: schema}.with(options)
}

func (t Tool) with(options []ToolOption) Tool {
	for _, o := range options {
		o(&t)
	}
	return t
}

// describe fills in the schema of t.in.
func (t *Tool) describe() param {
	p := param{typ: t.in}
	schema, err := schemaFor(t.in)
	kind := t.in.Kind()
	switch {
	case err != nil:
		t.fault = fmt.Sprintf("JSON does not fit into its input %s: %s", t.in, err)
		return p
	case kind != reflect.Struct && (kind != reflect.Map || t.in.Key().Kind() != reflect.String):
		t.fault = fmt.Sprintf("its input is a %s, must be a struct or a map with string keys", t.in)
		return p
	case schema == nil: // a recursive type
		t.Schema = json.RawMessage(`{"type":"object"}`)
		return p
	}
	p.schema = schema
	if t.Schema, err = encode(schema.Schema()); err != nil {
		t.fault = fmt.Sprintf("its schema cannot be written: %s", err)
	}
	return p
}

// NeedsApproval has a person decide on each call before it is run. when is a bool, or a
// func(In) bool that is asked with the call's input (of a ClientTool: a
// func(json.RawMessage) bool); it must be quick, and a panic in it fails the call.
// Anything else is reported when the agent is registered.
func NeedsApproval(when any) ToolOption {
	return func(t *Tool) {
		switch f := when.(type) {
		case bool:
			t.approval = nil
			if f {
				t.approval = func(json.RawMessage) bool { return true }
			}
		case func(json.RawMessage) bool:
			t.approval = f
		default:
			t.approvalBy(reflect.ValueOf(when))
		}
	}
}

func (t *Tool) approvalBy(f reflect.Value) {
	in := t.in
	if in == nil || f.Kind() != reflect.Func || f.Type() != reflect.FuncOf([]reflect.Type{in}, []reflect.Type{reflect.TypeFor[bool]()}, false) {
		t.fault = fmt.Sprintf("NeedsApproval is given a %v, must be a bool or a function of the tool's input that returns one", kindOf(f))
		return
	}
	p := param{typ: in}
	t.approval = func(input json.RawMessage) bool {
		v, err := p.decode(input)
		return err != nil || f.Call([]reflect.Value{v})[0].Bool()
	}
}

func kindOf(v reflect.Value) any {
	if !v.IsValid() {
		return "nil"
	}
	return v.Type()
}

// Repeatable: a call that a crash has cut off is run again, with the same
// ToolCall.IdempotencyKey.
func Repeatable(t *Tool) { t.repeatable = true }

// Timeout cuts a run of the tool off, as an error that the model sees. Default: none.
func Timeout(d time.Duration) ToolOption { return func(t *Tool) { t.timeout = d } }

// Update shows output in the place of the tool's result until that is there: progress,
// or a part of it. It is an error if the call is over, or if output has no JSON form.
func (c *ToolCall) Update(output any) error {
	data, err := encode(output)
	if err != nil || c.update == nil {
		return err
	}
	return c.update(data)
}
