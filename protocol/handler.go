package protocol

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Handler serves agents to their clients, and takes what the agents let out.
//
// Of an incarnation of an agent it hears in this order: Room when it begins
// (feed.Loaded is the first item it puts), then items, then Gone when it leaves
// memory with nothing under way, or Lost when it ends in any other way. Calls
// about one agent come one after another; otherwise all methods may be called
// concurrently.
type Handler struct {
	cfg       Config
	prefix    []string
	anyOrigin bool
	log       *slog.Logger
	asks      atomic.Uint64
	declined  atomic.Uint64 // answers to calls that changed nothing

	ctx    context.Context // ends when a Close has waited long enough
	cancel context.CancelFunc

	mu      sync.Mutex // guards what follows, and refs and held of rooms
	rooms   map[feed.Address]*room
	guests  map[*guest]struct{}
	closing bool
	running int           // goroutines of guests
	idle    chan struct{} // closed when closing and none runs
}

// guest is whoever has a seat in a room: a socket, or a response that streams.
type guest struct {
	h    *Handler
	room *room // set by admit
	seat *seat
	cut  func() // breaks its connection
}

// New returns a Handler that is ready to serve, or an error that names the
// field of cfg which makes no sense. cfg is copied.
func New(cfg Config) (*Handler, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.OriginPatterns, cfg.CORS = slices.Clone(cfg.OriginPatterns), maps.Clone(cfg.CORS)
	h := &Handler{
		cfg:       cfg,
		prefix:    segments(cfg.Prefix),
		anyOrigin: slices.Contains(cfg.OriginPatterns, "*"),
		log:       cfg.Log,
		rooms:     map[feed.Address]*room{},
		guests:    map[*guest]struct{}{},
		idle:      make(chan struct{}),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if h.anyOrigin {
		h.log.Warn("pages of every web origin may use the agents", "setting", "OriginPatterns")
	}
	return h, nil
}

// Room returns where an incarnation of a puts its feed. The room is kept until
// Gone or Lost, and then as long as it has sockets.
func (h *Handler) Room(a feed.Address) feed.Sink {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.roomOf(a)
	if !r.held {
		r.held = true
		r.refs++
	}
	return r
}

func (h *Handler) roomOf(a feed.Address) *room {
	r := h.rooms[a]
	if r == nil {
		r = newRoom(a, limits{h.cfg.LagFrames, h.cfg.LagBytes}, &h.asks)
		h.rooms[a] = r
	}
	return r
}

// Gone says that the incarnation of a has left memory with nothing under way.
// Its sockets stay, and are answered from what the room knows.
func (h *Handler) Gone(a feed.Address) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unhold(a)
}

// Lost says that the incarnation of a has ended by a fault, or was replaced.
// Its sockets are closed with 1012: their clients reconnect and resume, which
// is the one way to recover.
func (h *Handler) Lost(a feed.Address) {
	h.mu.Lock()
	r := h.rooms[a]
	h.unhold(a)
	h.mu.Unlock()
	if r != nil {
		r.lost()
	}
}

// Occupied reports whether an agent has sockets.
func (h *Handler) Occupied(a feed.Address) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[a]
	return r != nil && (r.refs > 1 || r.refs == 1 && !r.held)
}

func (h *Handler) unhold(a feed.Address) {
	if r := h.rooms[a]; r != nil && r.held {
		r.held = false
		h.unref(r)
	}
}

func (h *Handler) unref(r *room) {
	if r.refs--; r.refs == 0 {
		delete(h.rooms, r.address)
	}
}

// Close takes no new sockets and streams, ends all after what is due to them
// (sockets with 1012), and returns when none of their goroutines runs. When ctx
// ends it cuts them off, cancels their calls to Host, and returns the error of
// ctx. It may be called again, also meanwhile.
func (h *Handler) Close(ctx context.Context) error {
	h.mu.Lock()
	if !h.closing {
		h.closing = true
		h.checkIdle()
	}
	guests := slices.Collect(maps.Keys(h.guests))
	h.mu.Unlock()
	for _, g := range guests {
		g.room.close(g.seat, farewell{code: websocket.StatusServiceRestart, reason: "node is stopping, reconnect"})
	}
	select {
	case <-h.idle:
		h.cancel()
		return nil
	case <-ctx.Done():
		h.cancel()
		for _, g := range guests {
			g.cut()
		}
		return ctx.Err()
	}
}

// admit makes room for a guest and its goroutines; false when closing.
func (h *Handler) admit(g *guest, a feed.Address, goroutines int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	g.room = h.roomOf(a)
	g.room.refs++
	h.guests[g] = struct{}{}
	h.running += goroutines
	return true
}

// enter counts one more goroutine of a guest that still has one.
func (h *Handler) enter() {
	h.mu.Lock()
	h.running++
	h.mu.Unlock()
}

// exit is the last act of a guest's goroutine.
func (h *Handler) exit() {
	h.mu.Lock()
	h.running--
	h.checkIdle()
	h.mu.Unlock()
}

func (h *Handler) checkIdle() {
	if h.closing && h.running == 0 {
		select {
		case <-h.idle:
		default:
			close(h.idle)
		}
	}
}

// forget releases what admit took.
func (h *Handler) forget(g *guest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.guests, g)
	h.unref(g.room)
}

func (h *Handler) stopping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closing
}

var _ http.Handler = (*Handler)(nil)
