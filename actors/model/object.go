package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// answer is a whole answer in one piece.
type answer struct {
	text   string
	finish FinishPart
}

// ask waits for the whole answer.
func ask(ctx context.Context, m Model, r Request) (answer, error) {
	var text strings.Builder
	for p, err := range m.Stream(ctx, r) {
		if err != nil {
			return answer{}, err
		}
		switch p := p.(type) {
		case TextDelta:
			text.WriteString(p.Text)
		case FinishPart:
			return answer{text.String(), p}, nil
		case TextStart, TextEnd, ReasoningStart, ReasoningDelta, ReasoningEnd, ToolInputStart, ToolInputDelta, ToolCall, Source, File:
		}
	}
	return answer{}, &Error{Cause: Transient, Class: Network, Public: "The model is not available right now.", Err: errors.New("the answer has no end")}
}

// Object asks the model for a value of T. The model gets the JSON schema of T,
// which package jsonschema-go makes of it: fields without omitempty or omitzero
// have to be there, and no others may; a tag jsonschema:"…" describes one. An answer
// that does not follow the schema is sent back once, with what is wrong with it. If
// the next one does not either, the error is an [*InvalidObject].
//
// The usage is that of all answers, also beside an error. Tools of the request are
// left out.
func Object[T any](ctx context.Context, m Model, r Request) (value T, used Usage, err error) {
	s, err := schemaOf[T]()
	if err != nil {
		return value, used, err
	}
	r.Tools, r.ToolChoice, r.Schema = nil, "", s.raw
	r.Instructions = strings.TrimSpace(r.Instructions + "\n\nAnswer with one JSON value, without any text around it. It has to follow this JSON schema:\n" + string(s.raw))
	var wrong error
	var last answer
	for range 2 {
		if last, err = ask(ctx, m, r); err != nil {
			return value, used, err
		}
		used = used.plus(last.finish.Usage)
		if wrong = s.read(last.text, &value); wrong == nil {
			return value, used, nil
		}
		r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)], s.complaint(last.text, wrong)...)
	}
	var none T
	return none, used, &InvalidObject{Text: last.text, Reason: last.finish.Reason, Err: wrong}
}

// InvalidObject is the error of [Object] when the model's answers do not follow
// the schema.
type InvalidObject struct {
	Text   string // the last answer
	Reason FinishReason
	Err    error // what is wrong with it
}

func (e *InvalidObject) Error() string {
	if e.Reason != Stop {
		return fmt.Sprintf("model: the answer is no valid value, also after a second try (it ended with %s): %v", e.Reason, e.Err)
	}
	return fmt.Sprintf("model: the answer is no valid value, also after a second try: %v", e.Err)
}

func (e *InvalidObject) Unwrap() error { return e.Err }

func (u Usage) plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
	}
}

// schema is what an answer has to follow. Providers want an object: a value that
// is none comes in the field "value" of one.
type schema struct {
	raw      json.RawMessage
	resolved *jsonschema.Resolved
	wrapped  bool
}

func schemaOf[T any]() (*schema, error) {
	var out schema
	s, err := jsonschema.For[T](nil)
	if err == nil && s.Type != "object" {
		out.wrapped = true
		s = &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"value": s}, Required: []string{"value"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
	}
	if err == nil {
		out.resolved, err = s.Resolve(nil)
	}
	if err == nil {
		out.raw, err = json.Marshal(s)
	}
	if err != nil {
		return nil, fmt.Errorf("model: the schema of %T: %w", *new(T), err)
	}
	return &out, nil
}

// read decodes the answer. Some models put a fence or some words around it.
func (s *schema) read(text string, into any) error {
	raw, err := jsonIn(text)
	if err != nil {
		return err
	}
	var instance any
	if err := json.Unmarshal(raw, &instance); err != nil {
		return err
	}
	if err := s.resolved.Validate(instance); err != nil {
		return err
	}
	if s.wrapped {
		var w struct{ Value json.RawMessage }
		if err := json.Unmarshal(raw, &w); err != nil {
			return err
		}
		raw = w.Value
	}
	return json.Unmarshal(raw, into)
}

// jsonIn finds the one JSON object in the text.
func jsonIn(text string) (json.RawMessage, error) {
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return nil, errors.New("there is no JSON object in it")
	}
	d := json.NewDecoder(strings.NewReader(text[start:]))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text[start+int(d.InputOffset()):]), "```"))
	if strings.ContainsRune(rest, '{') {
		return nil, errors.New("there is more than one JSON object in it")
	}
	return bytes.TrimSpace(raw), nil
}

func (s *schema) complaint(text string, wrong error) []Message {
	var out []Message
	if strings.TrimSpace(text) != "" {
		out = append(out, Message{Role: Assistant, Content: []Content{{Kind: TextContent, Text: text}}})
	}
	return append(out, Message{Role: User, Content: []Content{{Kind: TextContent, Text: "That does not follow the schema: " + wrong.Error() + ". Answer again, with the corrected JSON only."}}})
}
