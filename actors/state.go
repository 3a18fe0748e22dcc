package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
)

const (
	stateBytes     = 1 << 20  // default of MaxStateBytes
	mostStateBytes = 12 << 20 // a state is one record of the journal

	// maxChanges bounds what waits for OnStateChange.
	maxChanges = 1000
)

// ErrReadonly refuses a change of the state that a readonly connection has caused.
var ErrReadonly error = &Error{Code: Denied, Message: "Connection is readonly"}

// State reads the agent's state into v, which is left alone if there is none: v
// points to what the JSON fits into, a json.RawMessage at least. Until a state has
// been set, it is the class's InitialState.
func (r *Ref) State(ctx context.Context, v any) error {
	_, now, err := r.readState(ctx)
	if err != nil || now == nil {
		return err
	}
	if err := json.Unmarshal(now, v); err != nil {
		return fmt.Errorf("actors: state of %s: %w", r.addr, err)
	}
	return nil
}

// SetState replaces the agent's state by the JSON of v. On return it is durable
// and on its way to all sockets. What is the state already is no change: nothing is
// stored, nobody is told. Of two calls at once, the later one counts; UpdateState
// builds on the last state.
//
// Errors, after which nothing has changed: ErrReadonly in the context of a readonly
// connection of this agent, or of a turn that one has asked for, an *Error if v is no JSON or larger than
// Agent.MaxStateBytes, what Agent.ValidateState has returned, or an *Error because
// it cannot be stored now.
func (r *Ref) SetState(ctx context.Context, v any) error {
	return r.setState(ctx, v, chat.SetState{}, "")
}

// UpdateState is SetState with what change makes of the state, and returns that.
// Nothing comes in between: if the state is changed meanwhile, change is called
// again with the new one. It starts from the zero T if there is no state. An error
// of its own leaves the state alone and is returned.
func UpdateState[T any](ctx context.Context, r *Ref, change func(*T) error) (T, error) {
	for {
		var state T
		was, now, err := r.readState(ctx)
		if err == nil && now != nil {
			err = json.Unmarshal(now, &state)
		}
		if err != nil {
			return state, fmt.Errorf("actors: state of %s: %w", r.addr, err)
		}
		if err := change(&state); err != nil {
			return state, err
		}
		err = r.setState(ctx, state, chat.SetState{Swap: true, Was: was}, "")
		if !errors.Is(err, chat.ErrStateChanged) {
			return state, err
		}
	}
}

// readState returns the state as it was stored, and as it is seen.
func (r *Ref) readState(ctx context.Context) (stored, seen json.RawMessage, err error) {
	d, err := r.desk()
	if err != nil {
		return nil, nil, err
	}
	err = r.query(ctx, func(s *chat.State, _ *outflow, _ uint64) { stored, seen = s.Desk.State, d.state(s) })
	return stored, seen, err
}

// state is what there is to see.
func (d *desk) state(s *chat.State) json.RawMessage {
	if s.Desk.State == nil {
		return d.initial
	}
	return s.Desk.State
}

// setState is the one way to a new state; cmd says more about it. by is the socket
// that has sent it, if any.
func (r *Ref) setState(ctx context.Context, v any, cmd chat.SetState, by string) error {
	d, err := r.desk()
	if err != nil {
		return err
	}
	if r.readonly(ctx) {
		return ErrReadonly
	}
	next, err := encode(v)
	if err != nil {
		return &Error{Code: BadRequest, Message: "state is no JSON", err: err}
	}
	cmd.JSON = json.RawMessage(valid(string(next)))
	if err := d.fits(cmd.JSON); err != nil {
		return &Error{Code: BadRequest, Message: "state " + err.Error()}
	}
	if err := r.validate(ctx, d, cmd.JSON); err != nil {
		return err
	}
	m, c := ask{cmd: cmd, by: by}, ConnectionFrom(ctx)
	if d.class.OnStateChange != nil {
		if r.rt.lobbies.waiting(r.addr) >= maxChanges {
			return &Error{Code: Busy, Message: fmt.Sprintf("%d changes of the state wait for the agent already", maxChanges)}
		}
		m.done = func() { r.rt.lobbies.queue(r.rt, r.addr, func() { r.changed(d, c, cmd.JSON) }) }
	}
	return r.await(ctx, func(reply func(error)) any { m.reply = reply; return m })
}

func (d *desk) fits(state json.RawMessage) error {
	limit := d.class.MaxStateBytes
	if limit == 0 {
		limit = stateBytes
	}
	if len(state) > limit {
		return fmt.Errorf("has %d bytes; the limit is %d", len(state), limit)
	}
	return nil
}

// refused is a verdict of ValidateState's.
type refused struct{ error }

func (e refused) Unwrap() error { return e.error }

// validate asks the author. A validator that fails has not agreed.
func (r *Ref) validate(ctx context.Context, d *desk, next json.RawMessage) error {
	if d.class.ValidateState == nil {
		return nil
	}
	var verdict error
	err := r.rt.author(ctx, d.class.hookTimeout(), func(ctx context.Context) error {
		verdict = d.class.ValidateState(ctx, r.self(), next)
		return nil
	})
	switch {
	case err != nil:
		r.failed(ctx, "ValidateState", err)
		return refused{err}
	case verdict != nil:
		return refused{verdict}
	}
	return nil
}

// changed tells the author.
func (r *Ref) changed(d *desk, c *Connection, state json.RawMessage) {
	ctx := withConnection(context.Background(), c)
	err := r.rt.author(ctx, d.class.hookTimeout(), func(ctx context.Context) error {
		return d.class.OnStateChange(ctx, r.self(), state)
	})
	if err != nil {
		r.failed(ctx, "OnStateChange", err)
	}
}
