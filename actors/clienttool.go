package actors

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// ClientTool returns a tool that a client runs, or a person answers: the call stays
// open until one of them does, over restarts, too; see Agent.AnswerTimeout. With
// NeedsApproval it is not run before somebody has approved of it.
//
// schema is the JSON schema of the input, an object: SchemaOf makes one of a Go type;
// nil: any object. An input that does not satisfy it is the model's to
// correct; clients never see it. What clients answer is not checked.
func ClientTool(name, description string, schema json.RawMessage, options ...ToolOption) Tool {
	t := Tool{Name: name, Description: description, Schema: schema}
	if schema == nil {
		t.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	resolved, err := resolve(t.Schema)
	if err != nil {
		t.fault = "its schema " + err.Error()
		return t
	}
	t.check = func(input json.RawMessage) error { return wrongInput(satisfies(resolved, input)) }
	return t.with(options)
}

func resolve(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("has type %q, must be \"object\"", s.Type)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("cannot be used: %w", err)
	}
	return resolved, nil
}

// SchemaOf returns the JSON schema of a Go type as NewTool makes it: for ClientTool. It
// panics if In is none that NewTool takes.
func SchemaOf[In any]() json.RawMessage {
	t := Tool{in: &shape{typ: reflect.TypeFor[In]()}}
	if t.describe(); t.fault != "" {
		panic("actors: SchemaOf: " + t.fault)
	}
	return t.Schema
}
