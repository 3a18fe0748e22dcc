package actors

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Peer is one socket as its agent sees it: the wiring between a socket and the
// author's hooks that package node uses; authors see a Connection. SetState and Call
// may be called concurrently with everything, Call once Opened has returned; Opened,
// Message and Closed come in this order, one at a time, and return when the
// author's hook has.
type Peer struct {
	ref    *Ref
	desk   *desk
	conn   *Connection
	opened bool // Opened was called
}

// Connect asks the author for the terms of a socket that req has opened, which is
// kept. Errors are *Error values.
func (r *Ref) Connect(ctx context.Context, s feed.Socket, req *http.Request) (*Peer, error) {
	d, err := r.desk()
	if err != nil {
		return nil, err
	}
	c := &Connection{socket: s, agent: r.addr, request: req}
	if d.class.Terms != nil {
		var terms Terms
		err := r.rt.author(ctx, d.class.hookTimeout(), func(ctx context.Context) (err error) {
			terms, err = d.class.Terms(ctx, r.self(), req)
			return err
		})
		if err != nil {
			return nil, r.told(ctx, "Terms", err, Denied)
		}
		c.terms = terms
	}
	c.terms.NoIdentity = c.terms.NoIdentity || d.class.NoIdentity
	return &Peer{ref: r, desk: d, conn: c}, nil
}

// Terms are what the author has granted.
func (p *Peer) Terms() feed.Terms {
	t := p.conn.terms
	return feed.Terms{Readonly: t.Readonly, NoProtocol: t.NoProtocol, NoIdentity: t.NoIdentity, Who: t.Who}
}

// Opened runs OnConnect.
func (p *Peer) Opened(ctx context.Context) {
	p.opened = true
	p.ref.rt.lobbies.add(p.conn)
	if hook := p.desk.class.OnConnect; hook != nil {
		p.hook(ctx, "OnConnect", func(ctx context.Context) error { return hook(ctx, p.ref.self(), p.conn) })
	}
}

// Message runs OnMessage.
func (p *Peer) Message(ctx context.Context, data []byte, binary bool) {
	if hook := p.desk.class.OnMessage; hook != nil {
		p.hook(ctx, "OnMessage", func(ctx context.Context) error { return hook(ctx, p.ref.self(), p.conn, data, binary) })
	}
}

// Closed runs OnClose, if OnConnect was run.
func (p *Peer) Closed(code int, reason string) {
	if !p.opened {
		return
	}
	p.ref.rt.lobbies.remove(p.conn)
	if hook := p.desk.class.OnClose; hook != nil {
		p.hook(context.Background(), "OnClose", func(ctx context.Context) error { return hook(ctx, p.ref.self(), p.conn, code, reason) })
	}
}

func (p *Peer) hook(ctx context.Context, name string, f func(context.Context) error) {
	ctx = withConnection(ctx, p.conn)
	if err := p.ref.rt.author(ctx, p.desk.class.hookTimeout(), f); err != nil {
		p.ref.failed(ctx, name, err)
	}
}

// SetState replaces the agent's state as Ref.SetState does, for all sockets but
// this one. Errors are *Error values.
func (p *Peer) SetState(ctx context.Context, state json.RawMessage) error {
	ctx = withConnection(ctx, p.conn)
	err := p.ref.setState(ctx, state, chat.SetState{}, p.conn.ID())
	var verdict refused
	switch {
	case err == nil:
		return nil
	case errors.As(err, &verdict) && !errors.Is(err, errNodeStops):
		p.ref.rt.cfg.Log.Info("a client's state was rejected", "agent", p.ref.addr.String(), "error", verdict.error)
		return &Error{Code: BadRequest, Message: "State update rejected", err: err}
	}
	return p.ref.told(ctx, "a client's change of the state", err, BadRequest)
}

// Call runs a method. send passes on what a streaming method says. Errors are *Error
// values.
func (p *Peer) Call(ctx context.Context, name string, args []json.RawMessage, send func(json.RawMessage) error) (json.RawMessage, error) {
	m, err := p.desk.method(name)
	if err != nil {
		return nil, err
	}
	if m.Internal {
		return nil, &Error{Code: Denied, Message: "Method " + name + " is not callable"}
	}
	ctx = withConnection(ctx, p.conn)
	result, err := p.ref.call(ctx, m, args, send)
	if err != nil {
		return nil, p.ref.told(ctx, "method "+name, err, BadRequest)
	}
	return result, nil
}

// told is what a client may know of an error: the text of Errorf, which gets code,
// or an *Error. Any other is logged and told to OnError, unless nobody waits any more.
func (r *Ref) told(ctx context.Context, what string, err error, code Code) error {
	var v *visible
	var e *Error
	switch {
	case errors.As(err, &v):
		return &Error{Code: code, Message: v.Error()}
	case errors.As(err, &e):
		return e
	case ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)):
		r.failed(ctx, what, err)
	}
	return &Error{Code: Internal, Message: "Unknown error occurred", err: err}
}
