package completions

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
	"github.com/holdfast-dev/holdfast/actors/model/internal/sse"
)

// A mender puts chunks into the form that the library reads rightly: one choice,
// reasoning before text, calls with an index and an id of their own, and a finish
// reason. It also decides whether the stream was complete: a finish reason or
// "[DONE]" says so, the end of the stream alone does not.
type mender struct {
	ids      *content.CallIDs
	calls    []*call // in the order in which they began
	byIndex  map[int64]*call
	answered bool // there was a choice
	finished bool // there was a finish reason
	done     bool // there was "[DONE]"

	field   string            // in which reasoning came
	details []json.RawMessage // of reasoning, not handed out yet
}

// A call is one tool call under way.
type call struct {
	at       int    // its index for the library
	wire, id string // the provider's id, and ours
	name     string
	input    bytes.Buffer
	begun    bool // the library knows it
}

func newMender(ids *content.CallIDs) *mender {
	return &mender{ids: ids, byIndex: map[int64]*call{}}
}

// Event implements [sse.Mender].
func (m *mender) Event(e sse.Event) ([]sse.Event, error) {
	data := bytes.TrimSpace(e.Data)
	switch {
	case len(data) == 0 || m.done:
		return nil, nil
	case string(data) == "[DONE]":
		return m.end()
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	if failed := m.failed(e.Name, data, c); failed != nil {
		return failed, nil
	}
	var out []sse.Event
	for _, choice := range c.Choices {
		if choice.Index == 0 { // nobody has asked for more than one
			m.answered = true
			out = append(out, m.choice(choice)...)
			if isNull(c.Usage) {
				c.Usage = choice.Usage
			}
		}
	}
	if len(c.Usage) > 0 && c.Usage[0] == '{' {
		out = append(out, event(map[string]any{"choices": []any{}, "usage": c.Usage}))
	}
	return out, nil
}

// failed is an error of the stream as the library knows it, or nil.
func (m *mender) failed(name string, data json.RawMessage, c chunk) []sse.Event {
	err := c.Error
	for _, choice := range c.Choices {
		if isNull(err) {
			err = choice.Error
		}
	}
	if isNull(err) {
		if name != "error" && c.Object != "error" {
			return nil
		}
		err = data
	}
	return []sse.Event{event(map[string]any{"error": err})}
}

func (m *mender) choice(c choice) (out []sse.Event) {
	d := c.Delta
	if d == nil {
		d = c.Message
	}
	if d != nil {
		out = m.delta(d)
	}
	if c.FinishReason != "" {
		out = append(out, m.finish(c.FinishReason)...)
	}
	return out
}

func (m *mender) delta(d *delta) (out []sse.Event) {
	said, thought, field := d.said()
	if thought != "" {
		m.field = field
		out = append(out, deltaEvent(map[string]any{"reasoning_content": thought}))
	}
	var details []json.RawMessage
	if json.Unmarshal(d.ReasoningDetails, &details) == nil {
		m.details = append(m.details, details...)
	}
	rest := map[string]any{}
	if said != "" {
		rest["content"] = said
	}
	if !isNull(d.Annotations) {
		rest["annotations"] = d.Annotations
	}
	if len(rest) > 0 {
		out = append(out, deltaEvent(rest))
	}
	for _, c := range d.ToolCalls {
		out = append(out, m.call(c)...)
	}
	if d.FunctionCall != nil {
		out = append(out, m.call(callDelta{Function: *d.FunctionCall})...)
	}
	return out
}

// call finds the call that a delta belongs to. A delta without a name waits for
// one: the library takes the name from the first that it sees.
func (m *mender) call(d callDelta) []sse.Event {
	piece := d.Function.input()
	c := m.find(d, piece)
	if c == nil {
		c = &call{at: len(m.calls), wire: d.ID, id: m.ids.Take(d.ID)}
		m.calls = append(m.calls, c)
		if d.Index != nil {
			m.byIndex[*d.Index] = c
		}
	}
	if c.name == "" {
		c.name = d.Function.Name
	}
	c.input.WriteString(piece)
	if !c.begun {
		if c.name == "" {
			return nil
		}
		return m.begin(c, d.Extra)
	}
	if piece == "" && isNull(d.Extra) {
		return nil
	}
	return []sse.Event{callEvent(c, map[string]any{"arguments": piece}, d.Extra)}
}

func (m *mender) begin(c *call, extra json.RawMessage) []sse.Event {
	c.begun = true
	return []sse.Event{callEvent(c, map[string]any{"name": c.name, "arguments": c.input.String()}, extra)}
}

// find returns the call that the delta goes on with, or nil if it begins one.
func (m *mender) find(d callDelta, piece string) *call {
	var c *call
	switch {
	case d.Index != nil:
		c = m.byIndex[*d.Index]
	case d.ID != "":
		for _, other := range m.calls {
			if other.wire == d.ID {
				c = other // the last of them
			}
		}
	case len(m.calls) > 0:
		c = m.calls[len(m.calls)-1]
	}
	if c == nil || c.overBy(d, piece) {
		return nil
	}
	return c
}

// overBy tells whether the delta, which seems to belong to c, begins another
// call: some servers give each call the same index or id, or none.
func (c *call) overBy(d callDelta, piece string) bool {
	switch {
	case d.Function.Name == "" || c.name == "":
		return false
	case d.ID != "" && c.wire != "" && d.ID != c.wire:
		return true
	case c.input.Len() == 0:
		return d.Function.Name != c.name
	}
	return json.Valid(c.input.Bytes()) && (piece != "" || d.Function.Name != c.name)
}

func (m *mender) finish(reason string) (out []sse.Event) {
	m.finished = true
	for _, c := range m.calls {
		if !c.begun && c.input.Len() > 0 { // a call of nothing: the model has to be told
			out = append(out, m.begin(c, nil)...)
		}
	}
	return append(out, event(map[string]any{
		"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}},
	}))
}

// end is the marker. Nothing is read after it: some servers leave the
// connection open.
func (m *mender) end() (out []sse.Event, err error) {
	m.done = true
	if !m.finished {
		if !m.whole() {
			return nil, failure.ErrTruncated
		}
		reason := "stop"
		if len(m.calls) > 0 {
			reason = "tool_calls"
		}
		out = m.finish(reason)
	}
	return out, io.EOF
}

// whole tells whether an answer without a finish reason can be a whole one.
func (m *mender) whole() bool {
	for _, c := range m.calls {
		if c.input.Len() > 0 && !json.Valid(c.input.Bytes()) {
			return false
		}
	}
	return m.answered
}

// End implements [sse.Mender].
func (m *mender) End(err error) ([]sse.Event, error) {
	switch {
	case m.finished:
		return nil, io.EOF // what broke after it was not the answer
	case err == io.EOF: //nolint:errorlint // a plain one: a wrapped one is no clean end
		return nil, failure.ErrTruncated
	}
	return nil, err
}

func deltaEvent(d map[string]any) sse.Event {
	return event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": d}}})
}

func callEvent(c *call, function map[string]any, extra json.RawMessage) sse.Event {
	w := map[string]any{"index": c.at, "id": c.id, "type": "function", "function": function}
	if !isNull(extra) {
		w["extra_content"] = extra
	}
	return deltaEvent(map[string]any{"tool_calls": []any{w}})
}

func event(v any) sse.Event {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // what comes raw goes on raw
	enc.Encode(v)            //nolint:errcheck // strings and what was JSON before
	return sse.Event{Data: bytes.TrimSpace(b.Bytes())}
}
