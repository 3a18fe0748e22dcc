package protocol

import (
	"context"
	"crypto/rand"
	"errors"
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

// session is one socket. It has two goroutines, a reader and a writer, and a
// third while there is something to ask the Host: what the client sends is done
// one by one in the order of its arrival, and the reader goes on reading
// meanwhile, so that pings and closes are answered however slow an agent is.
type session struct {
	guest
	conn *websocket.Conn
	cork *corkConn
	log  *slog.Logger

	ctx    context.Context // ends with the socket
	cancel context.CancelFunc
	once   sync.Once // end

	missed int // pings in a row without an answer; owned by the ping timer

	deaf atomic.Bool // the reader waits for room in the inbox, so no pong can be heard

	mu     sync.Mutex // guards what follows
	over   bool       // ended: no new goroutines
	inbox  []task
	queued int           // bytes of the frames in inbox
	slack  chan struct{} // capacity 1: the inbox has become shorter
	busy   bool          // a goroutine works on inbox
	ping   *time.Timer
}

// task is what one frame asks for.
type task struct {
	size int
	do   func()
}

// maxMissed pings without a sign of life end a socket: one may be lost in the
// buffers of a slow line.
const maxMissed = 2

// maxInbox is how many frames of one client may wait.
const maxInbox = 256

// open upgrades a request to a session, which then runs by itself.
func (h *Handler) open(w http.ResponseWriter, r *http.Request, a feed.Address) {
	cw := &corkWriter{ResponseWriter: w, timeout: h.cfg.WriteTimeout}
	conn, err := websocket.Accept(cw, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // checkOrigin has done it, with a clearer answer
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		h.log.Debug("upgrade failed", "agent", a, "error", err)
		return
	}
	conn.SetReadLimit(-1) // session.next has a limit of its own, with a clearer reason
	pk := r.URL.Query().Get("_pk")
	if pk == "" {
		pk = newID()
	}
	s := &session{conn: conn, cork: cw.conn, slack: make(chan struct{}, 1)}
	// The connection itself: CloseNow waits for a close handshake that is under
	// way, five seconds for each client that has gone without a word.
	s.guest = guest{h: h, seat: newSeat(newID(), pk), cut: func() { _ = cw.conn.Close() }}
	s.log = h.log.With("agent", a, "socket", s.seat.id)
	s.ctx, s.cancel = context.WithCancel(h.ctx)
	if !h.admit(&s.guest, a, 2) {
		conn.Close(websocket.StatusServiceRestart, "node is stopping, reconnect")
		s.cancel()
		return
	}
	s.post(0, s.connect)
	s.schedulePing()
	go s.write()
	go s.read()
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
		s.room.leave(s.seat)
		s.conn.CloseNow()
		s.h.forget(&s.guest)
	})
}

// read is the reader's goroutine.
func (s *session) read() {
	defer s.h.exit()
	defer s.end()
	for {
		frame, err := s.next()
		if err != nil {
			return
		}
		if do := s.decode(frame); do != nil && !s.post(len(frame), do) {
			return
		}
	}
}

// next reads a text frame. It takes no context: one that ends would close the
// socket without a word, and closing the socket ends the read anyway.
func (s *session) next() ([]byte, error) {
	limit := s.h.cfg.MaxFrameBytes
	for {
		kind, r, err := s.conn.Reader(context.Background())
		if err != nil {
			return nil, err
		}
		frame, err := io.ReadAll(io.LimitReader(r, limit+1))
		if err != nil {
			return nil, err
		}
		if int64(len(frame)) > limit {
			s.log.Warn("frame of a client is too large, closing its socket",
				"limit", limit, "setting", "MaxFrameBytes")
			s.conn.Close(websocket.StatusMessageTooBig, "frame is over the limit of "+byteCount(limit))
			return nil, errors.New("frame too large")
		}
		if kind == websocket.MessageText {
			return frame, nil
		}
	}
}

// post queues a task behind those before it. It waits while the inbox is full,
// and returns false when the session is over.
func (s *session) post(size int, do func()) bool {
	for {
		s.mu.Lock()
		if s.over {
			s.mu.Unlock()
			return false
		}
		if len(s.inbox) == 0 || len(s.inbox) < maxInbox && int64(s.queued+size) <= s.h.cfg.MaxFrameBytes {
			break
		}
		s.mu.Unlock()
		s.deaf.Store(true)
		select {
		case <-s.slack:
		case <-s.ctx.Done():
		}
		s.deaf.Store(false)
	}
	defer s.mu.Unlock()
	s.inbox = append(s.inbox, task{size, do})
	s.queued += size
	if !s.busy {
		s.busy = true
		s.h.enter()
		go s.work()
	}
	return true
}

// work empties the inbox and ends.
func (s *session) work() {
	defer s.h.exit()
	for {
		s.mu.Lock()
		if len(s.inbox) == 0 {
			s.inbox, s.busy = nil, false
			s.mu.Unlock()
			return
		}
		t := s.inbox[0]
		s.inbox[0] = task{}
		s.inbox = s.inbox[1:]
		s.queued -= t.size
		s.mu.Unlock()
		select {
		case s.slack <- struct{}{}:
		default:
		}
		t.do()
	}
}

// connect is the first task of a session: it wakes the agent and greets the
// socket with what the agent knows then.
func (s *session) connect() {
	ctx, cancel := context.WithTimeout(s.ctx, s.h.cfg.ConnectTimeout)
	defer cancel()
	a := s.room.askConnect(s.seat)
	err := s.view(ctx, a)
	if err == nil || !s.room.drop(a) || s.ctx.Err() != nil {
		return
	}
	if ctx.Err() != nil {
		err = &Error{Code: Unavailable, Message: "agent is not ready yet, try again"}
	}
	e, hidden := public(err)
	if hidden {
		s.log.Error("agent cannot be reached", "error", err)
	}
	s.room.close(s.seat, farewell{code: statuses[e.Code].close, reason: closeReason(e.Message)})
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
