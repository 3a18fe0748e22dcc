package protocol

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// session is one socket. It has two goroutines, a reader and a writer. What the
// client sends is done one by one in the order of its arrival by a third, the
// inbox, while there is something to do; the reader goes on reading meanwhile, so
// that pings and closes are answered however slow an agent is. What the author
// wrote about sockets runs on a fourth, the lane, and each call on one of its own.
type session struct {
	guest
	conn  *websocket.Conn
	cork  *corkConn
	log   *slog.Logger
	chats bool // the agent is a chat agent

	ctx    context.Context // ends with the socket
	cancel context.CancelFunc
	once   sync.Once // end

	missed int // pings in a row without an answer; owned by the ping timer

	deaf atomic.Bool // the reader waits for room in the inbox, so no pong can be heard

	inbox *queue
	lane  *queue

	// Written by the first task of the inbox, read by those behind it.
	peer    Peer // nil: the agent has refused the socket
	greeted bool // Opened has been called or is due

	opened chan struct{} // closed when Opened has returned
	calls  atomic.Int32  // under way

	mu    sync.Mutex // guards what follows
	over  bool       // ended
	ping  *time.Timer
	ended bool // code and reason are how
	code  websocket.StatusCode
	why   string
}

// maxMissed pings without a sign of life end a socket: one may be lost in the
// buffers of a slow line.
const maxMissed = 2

// open upgrades a request to a session, which then runs by itself.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, a feed.Address) {
	pk := r.URL.Query().Get("_pk")
	if len(pk) > maxID {
		h.refuse(w, r, invalid(fmt.Sprintf("Invalid request: _pk has %d bytes, the limit is %d", len(pk), maxID)))
		return
	}
	s := newSession(h, a, pk)
	cw := &corkWriter{ResponseWriter: w, timeout: h.cfg.WriteTimeout}
	conn, err := accept(cw, r)
	if err != nil {
		h.log.Debug("upgrade failed", "agent", a, "error", err)
		s.cancel()
		return
	}
	conn.SetReadLimit(-1) // session.next has a limit of its own, with a clearer reason
	s.conn, s.cork = conn, cw.conn
	// The connection itself: CloseNow waits for a close handshake that is under
	// way, five seconds for each client that has gone without a word.
	s.cut = func() { _ = cw.conn.Close() }
	if !h.admit(&s.guest, a, 2) {
		conn.Close(websocket.StatusServiceRestart, "node is stopping, reconnect")
		s.cancel()
		return
	}
	s.inbox.post(0, func() { s.connect(r) }, nil)
	s.schedulePing()
	go s.write()
	go s.read()
}

func newSession(h *Handler, a feed.Address, pk string) *session {
	if pk == "" {
		pk = newID()
	}
	s := &session{
		guest: guest{h: h, seat: newSeat(newID(), pk)}, chats: h.cfg.Host.Chats(a.Class),
		opened: make(chan struct{}),
	}
	s.inbox, s.lane = newQueue(h, s.guarded), newQueue(h, s.guarded)
	s.log = h.log.With("agent", a, "socket", s.seat.id)
	s.ctx, s.cancel = context.WithCancel(h.ctx)
	return s
}

func accept(w *corkWriter, r *http.Request) (*websocket.Conn, error) {
	return websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // checkOrigin has done it, with a clearer answer
		CompressionMode:    websocket.CompressionDisabled,
	})
}

// end is called by whichever goroutine notices first that the socket is gone.
// Frames that were read before are still worked on: a message that was sent is
// sent, even if the page is closed right after it.
func (s *session) end() {
	s.once.Do(func() {
		s.mu.Lock()
		s.over = true
		s.ping.Stop()
		s.mu.Unlock()
		s.cancel()
		if s.closedByPage() {
			s.room.quits(s.seat)
		}
		s.room.leave(s.seat)
		s.conn.CloseNow()
		s.h.forget(&s.guest)
	})
}

// read is the reader's goroutine. Its last act is to tell the agent, behind all
// that was read, that the socket is gone.
func (s *session) read() {
	defer s.h.exit()
	defer func() { s.inbox.post(0, s.hangUp, nil) }()
	defer s.end()
	for {
		frame, binary, err := s.next()
		if err != nil {
			s.noteEnd(err)
			return
		}
		do := s.decode(frame, binary)
		if do == nil {
			continue
		}
		s.deaf.Store(true)
		if !s.inbox.post(len(frame), func() { s.admitted(do) }, s.ctx.Done()) {
			return
		}
		s.deaf.Store(false)
	}
}

// guarded runs do. A panic in it ends this socket alone.
func (s *session) guarded(do func()) {
	if err := guard(func() error { do(); return nil }); err != nil {
		s.log.Error("closing a socket", "error", err)
		s.room.close(s.seat, farewell{code: websocket.StatusInternalError, reason: "internal error"})
	}
}

// admitted does what a frame asks for, unless the agent has refused its socket,
// or has gone since.
func (s *session) admitted(do func()) {
	if s.peer != nil && !s.room.cutOff(s.seat) {
		do()
	}
}

// next reads a frame. It takes no context: one that ends would close the socket
// without a word, and closing the socket ends the read anyway.
func (s *session) next() (frame []byte, binary bool, err error) {
	limit := s.h.cfg.MaxFrameBytes
	kind, r, err := s.conn.Reader(context.Background())
	if err != nil {
		return nil, false, err
	}
	if frame, err = io.ReadAll(io.LimitReader(r, limit+1)); err != nil {
		return nil, false, err
	}
	if int64(len(frame)) > limit {
		s.log.Warn("frame of a client is too large, closing its socket",
			"limit", limit, "setting", "MaxFrameBytes")
		s.shut(websocket.StatusMessageTooBig, "frame is over the limit of "+byteCount(limit))
		return nil, false, errors.New("frame too large")
	}
	return frame, kind == websocket.MessageBinary, nil
}

// shut ends the socket from this side, now.
func (s *session) shut(code websocket.StatusCode, reason string) {
	s.noteEnd(websocket.CloseError{Code: code, Reason: reason})
	s.conn.Close(code, reason)
}

// noteEnd keeps how the socket has ended, the first time.
func (s *session) noteEnd(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	var ce websocket.CloseError
	if errors.As(err, &ce) {
		s.code, s.why = ce.Code, ce.Reason
	} else {
		s.code = websocket.StatusAbnormalClosure
	}
}

// closedByPage: the page was closed or has gone elsewhere; it is not the network.
func (s *session) closedByPage() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended && (s.code == websocket.StatusNormalClosure || s.code == websocket.StatusGoingAway)
}

// view asks the agent for its View and waits until the room has dealt with it.
func (s *session) view(ctx context.Context, a *ask) error {
	if err := s.h.cfg.Host.View(ctx, s.room.address, a.n); err != nil {
		return err
	}
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// schedulePing sets the timer of the next ping; jitter keeps the sockets of a
// node from being pinged in step.
func (s *session) schedulePing() {
	every := s.h.cfg.PingEvery
	after := every*3/4 + mathrand.N(every/2+1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if s.ping == nil {
		s.ping = time.AfterFunc(after, s.pingOnce)
	} else {
		s.ping.Reset(after)
	}
}

// pingOnce runs on the timer's goroutine. What a busy line carries instead of a
// pong is a sign of life, too: a pong waits behind a long frame of the client, a
// ping behind one of ours (which has its own deadlines).
func (s *session) pingOnce() {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.h.enter()
	s.mu.Unlock()
	defer s.h.exit()
	ctx, cancel := context.WithTimeout(s.ctx, s.h.cfg.PingTimeout)
	defer cancel()
	reads := s.cork.reads.Load()
	if s.conn.Ping(ctx) == nil || s.deaf.Load() || s.cork.reads.Load() != reads || s.cork.writing() {
		s.missed = 0
	} else if s.missed++; s.missed == maxMissed {
		s.log.Debug("client does not answer pings, cutting its socket off")
		s.conn.CloseNow()
		return
	}
	s.schedulePing()
}

// newID is unique for ever.
func newID() string { return rand.Text() }
