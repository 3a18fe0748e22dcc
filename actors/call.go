package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

// Reply is what a streaming method says before its end.
type Reply struct{ send func(json.RawMessage) error }

// Send passes the JSON of v on to the caller, in the order of the calls, and waits
// while much is on its way. An error: the caller is gone, or the call is over. It
// may be called concurrently.
func (r *Reply) Send(v any) error {
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("actors: reply: %w", err)
	}
	return r.send(data)
}

// Call calls a method of the agent, as a client does and without one, and reads
// its result into result (nil: not wanted; left alone if there is none). What a
// streaming method sends before its end goes nowhere. Its error is what the method
// has returned, or an *Error that tells what is wrong with the call.
func (r *Ref) Call(ctx context.Context, name string, result any, args ...any) error {
	d, err := r.desk()
	if err != nil {
		return err
	}
	m, err := d.method(name)
	if err != nil {
		return err
	}
	list := make([]json.RawMessage, len(args))
	for i, arg := range args {
		if list[i], err = encode(arg); err != nil {
			return fmt.Errorf("actors: argument %d of %s: %w", i+1, name, err)
		}
	}
	if c := ConnectionFrom(ctx); c != nil && c.agent != r.addr {
		ctx = withConnection(ctx, nil) // it is another agent's
	}
	out, err := r.call(ctx, m, list, func(json.RawMessage) error { return nil })
	if err != nil || result == nil || out == nil {
		return err
	}
	if err := json.Unmarshal(out, result); err != nil {
		return fmt.Errorf("actors: result of %s: %w", name, err)
	}
	return nil
}

func (d *desk) method(name string) (*method, error) {
	if m := d.methods[name]; m != nil {
		return m, nil
	}
	return nil, &Error{Code: BadRequest, Message: "Method " + shorten(name, 100) + " does not exist"}
}

// call runs a method. The result is nil if it has none.
func (r *Ref) call(ctx context.Context, m *method, args []json.RawMessage, send func(json.RawMessage) error) (json.RawMessage, error) {
	if m.Timeout > 0 {
		late := &Error{Code: Unavailable, Message: fmt.Sprintf("Method %s took longer than %s", m.Name, m.Timeout)}
		timed, stop := context.WithTimeoutCause(ctx, m.Timeout, late)
		defer stop()
		ctx = timed
	}
	var result json.RawMessage
	err := r.rt.author(ctx, 0, func(ctx context.Context) (err error) {
		result, err = m.run(ctx, r.self(), &Reply{send}, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (m *method) run(ctx context.Context, self *Self, reply *Reply, args []json.RawMessage) (json.RawMessage, error) {
	values, err := m.arguments(args)
	if err != nil {
		return nil, err
	}
	in := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(self)}
	if m.streams {
		in = append(in, reflect.ValueOf(reply))
	}
	out := m.f.Call(append(in, values...))
	if err, _ := out[len(out)-1].Interface().(error); err != nil {
		return nil, err
	}
	if !m.results {
		return nil, nil
	}
	result, err := encode(out[0].Interface())
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return result, nil
}
