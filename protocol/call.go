package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Calls of the author's methods (protocol §6). Each runs on a goroutine of its own,
// behind Opened and behind what its client has sent before.

const (
	maxCalls = 64  // of one socket at a time
	maxArgs  = 100 // of one call
)

// callMethod: what only looks like a call is the author's.
func (s *session) callMethod(in inbound) func() {
	id, ok := text(in.field["id"])
	method, named := text(in.field["method"])
	raw := in.field["args"]
	if !ok || !named || len(raw) == 0 || raw[0] != '[' {
		return s.authors(in.frame, false)
	}
	args, err := parseArgs(raw)
	switch {
	case len(id) > maxID:
		err = invalid(fmt.Sprintf("id has %d bytes, the limit is %d", len(id), maxID))
		id = cut(id, maxID)
	case len(method) > maxID:
		err = invalid(fmt.Sprintf("method has %d bytes, the limit is %d", len(method), maxID))
	}
	c := &call{s: s, id: id}
	return func() {
		switch {
		case err != nil:
			c.fail(err)
		case !s.greeted:
		case s.calls.Add(1) > maxCalls:
			s.calls.Add(-1)
			c.fail(&Error{Code: Unavailable, Message: fmt.Sprintf("%d calls of this connection are under way, which is the limit", maxCalls)})
		default:
			s.h.enter()
			go c.run(method, args)
		}
	}
}

func parseArgs(raw json.RawMessage) (args []json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		if len(args) == maxArgs {
			return nil, invalid(fmt.Sprintf("args has more entries than the limit of %d", maxArgs))
		}
		var arg json.RawMessage
		if err := d.Decode(&arg); err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

// call is one that is under way.
type call struct {
	s      *session
	id     string
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex  // guards what follows; held while a piece waits for its turn
	over    bool        // has returned
	unwatch func() bool // set by the first piece: the call ends with the socket
}

var (
	errGone = errors.New("the connection is closed")
	errOver = errors.New("the call has returned")
)

func (c *call) run(method string, args []json.RawMessage) {
	defer c.s.h.exit()
	select {
	case <-c.s.opened:
	case <-c.s.h.ctx.Done():
		return
	}
	c.ctx, c.cancel = context.WithCancel(c.s.h.ctx)
	var result json.RawMessage
	err := guard(func() (err error) {
		result, err = c.s.peer.Call(c.ctx, method, args, c.send)
		return err
	})
	c.cancel()
	c.mu.Lock()
	c.over = true
	if c.unwatch != nil {
		c.unwatch()
	}
	c.mu.Unlock()
	c.s.calls.Add(-1) // before the client can know
	if err != nil {
		c.fail(err)
	} else {
		c.s.room.send(c.s.seat, resultFrame(c.id, result, true), false)
	}
}

// send passes a piece of a stream on. It waits while much is on its way to the
// socket: a method is faster than any network. From the first piece on the call
// ends with the socket, since nobody else will hear the rest.
func (c *call) send(piece json.RawMessage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return errOver
	}
	if c.unwatch == nil {
		c.unwatch = context.AfterFunc(c.s.ctx, c.cancel)
	}
	return c.s.room.sendInTurn(c.ctx, c.s.seat, resultFrame(c.id, piece, false))
}

func (c *call) fail(err error) {
	e, hidden := public(err)
	text := e.Message
	if hidden {
		text = "Unknown error occurred"
		if c.s.h.ctx.Err() == nil {
			c.s.log.Error("call failed", "call", c.id, "error", err)
		}
	}
	c.s.room.send(c.s.seat, failureFrame(c.id, text), false)
}

// setState (protocol §5). The sender shows the state already, so it hears of a
// refusal only.
func (s *session) setState(in inbound) func() {
	state, ok := in.field["state"]
	if !ok {
		return s.authors(in.frame, false)
	}
	return func() {
		err := s.peer.SetState(s.h.ctx, state)
		if err == nil {
			return
		}
		e, hidden := public(err)
		text := e.Message
		if hidden {
			text = "State update rejected"
			s.log.Error("state was not set", "error", err)
		}
		s.room.send(s.seat, stateErrorFrame(text), false)
	}
}
