package protocol

import (
	"context"
	"net/http"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// connect is the first task of a session: it makes the agent acquainted with the
// socket, wakes it, and greets the socket with what the agent knows then.
func (s *session) connect(r *http.Request) {
	// Not the context of the socket: what a page has sent is done, even if the page
	// has been closed by then.
	ctx, cancel := context.WithTimeout(s.h.ctx, s.h.cfg.ConnectTimeout)
	defer cancel()
	peer, err := s.h.cfg.Host.Connect(ctx, s.room.address, s, detached(r))
	if err != nil {
		s.turnAway(ctx, err)
		return
	}
	s.peer = peer
	s.seat.terms = peer.Terms()
	if err = s.greet(ctx); err != nil {
		s.turnAway(ctx, err)
		return
	}
	s.greeted = true
	s.lane.post(0, func() {
		defer close(s.opened)
		peer.Opened(s.h.ctx)
	}, nil)
}

// greet returns when the connect sequence is on its way, or the socket is gone.
func (s *session) greet(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	a := s.room.askConnect(s.seat)
	err := s.view(ctx, a)
	if err == nil || !s.room.drop(a) || s.ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *session) turnAway(ctx context.Context, err error) {
	if ctx.Err() != nil {
		err = &Error{Code: Unavailable, Message: "agent is not ready yet, try again"}
	}
	e, hidden := public(err)
	if hidden {
		s.log.Error("agent cannot be reached", "error", err)
	}
	s.room.close(s.seat, farewell{code: statuses[e.Code].close, reason: closeReason(e.Message)})
}

// detached is r as it may be kept: its context does not end with the upgrade.
func detached(r *http.Request) *http.Request {
	r = r.WithContext(context.WithoutCancel(r.Context()))
	r.Body = http.NoBody
	return r
}

// message hands a frame to the author's code.
func (s *session) message(frame []byte, binary bool) {
	if s.greeted {
		s.lane.post(len(frame), func() { s.peer.Message(s.h.ctx, frame, binary) }, nil)
	}
}

// hangUp is the last task of the inbox.
func (s *session) hangUp() {
	if s.peer == nil {
		return
	}
	s.mu.Lock()
	code, why := s.code, s.why
	s.mu.Unlock()
	s.lane.post(0, func() { s.peer.Closed(int(code), why) }, nil)
}

// The methods of feed.Socket.

var _ feed.Socket = (*session)(nil)

func (s *session) ID() string  { return s.seat.id }
func (s *session) Key() string { return s.seat.pk }

func (s *session) Send(data []byte, binary bool) bool {
	return s.room.send(s.seat, authored(data, binary), binary)
}

func (s *session) Close(code int, reason string) {
	s.room.close(s.seat, parting(code, reason))
}

// parting is an author's goodbye. What cannot be said with a close frame becomes
// a normal end.
func parting(code int, reason string) farewell {
	f := farewell{code: websocket.StatusCode(code), reason: closeReason(reason)}
	switch {
	case code >= 3000 && code <= 4999:
	case code < 1000, code >= 1004 && code <= 1006, code >= 1015:
		f.code = websocket.StatusNormalClosure
	}
	return f
}
