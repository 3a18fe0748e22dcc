package actors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// A ToolOption sets something about a tool that most do not need.
type ToolOption func(*Tool)

func (t Tool) with(options []ToolOption) Tool {
	for _, o := range options {
		if t.fault == "" { // the first is the cause of others
			o(&t)
		}
	}
	return t
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
			t.approval = func(input json.RawMessage) bool {
				input, err := canonical(input, nil)
				return err != nil || f(input)
			}
			if f == nil {
				t.fault = "NeedsApproval is given a function that is nil"
			}
		default:
			t.approvalBy(reflect.ValueOf(when))
		}
	}
}

func (t *Tool) approvalBy(f reflect.Value) {
	in := t.in
	if in == nil || f.Kind() != reflect.Func || f.IsNil() || f.Type() != reflect.FuncOf([]reflect.Type{in.typ}, []reflect.Type{reflect.TypeFor[bool]()}, false) {
		t.fault = fmt.Sprintf("NeedsApproval is given a %v, must be a bool or a function of the tool's input that returns one", kindOf(f))
		return
	}
	t.approval = func(input json.RawMessage) bool {
		v, err := in.input(input)
		return err != nil || f.Call([]reflect.Value{v})[0].Bool()
	}
}

func kindOf(v reflect.Value) any {
	if !v.IsValid() {
		return "nil"
	}
	return v.Type()
}

// Defaults says what fields have that an input leaves out: those of in that are not
// zero, which must be of the tool's In. The model is told of them.
func Defaults(in any) ToolOption {
	return func(t *Tool) {
		if t.in == nil || reflect.TypeOf(in) != t.in.typ || t.in.typ.Kind() != reflect.Struct {
			t.fault = fmt.Sprintf("Defaults are a %T, must be of the tool's input, a struct", in)
			return
		}
		given, err := fields(in)
		zero, zeroErr := fields(reflect.Zero(t.in.typ).Interface())
		if err = errors.Join(err, zeroErr); err != nil {
			t.fault = fmt.Sprintf("Defaults have no JSON form: %s", err)
			return
		}
		schema := told(t.in.schema.Schema())
		for name, value := range given {
			p := schema.Properties[name]
			if p == nil || bytes.Equal(value, zero[name]) {
				delete(given, name)
				continue
			}
			p.Default = value
			schema.Required = slices.DeleteFunc(slices.Clone(schema.Required), func(r string) bool { return r == name })
		}
		t.in.defaults = given
		if t.Schema, err = encode(schema); err != nil {
			t.fault = fmt.Sprintf("its schema cannot be written: %s", err)
		}
	}
}

// fields are the members of v's JSON form.
func fields(v any) (map[string]json.RawMessage, error) {
	data, err := encode(v)
	if err != nil {
		return nil, err
	}
	var out map[string]json.RawMessage
	return out, json.Unmarshal(data, &out)
}

// Repeatable: a call that a crash has cut off is run again, with the same
// ToolCall.IdempotencyKey. Only for tools that NewTool makes.
func Repeatable(t *Tool) {
	t.serverOnly("Repeatable")
	t.repeatable = true
}

// Timeout cuts a run of the tool off, as an error that the model sees; its function's
// ctx ends. Default: none. Only for tools that NewTool makes; see Agent.AnswerTimeout.
func Timeout(d time.Duration) ToolOption {
	return func(t *Tool) {
		t.serverOnly("Timeout")
		if d <= 0 {
			t.fault = fmt.Sprintf("its Timeout is %s, must be more than 0", d)
		}
		t.timeout = d
	}
}

func (t *Tool) serverOnly(option string) {
	if t.in == nil {
		t.fault = option + " is for tools that a function of the server's runs"
	}
}
