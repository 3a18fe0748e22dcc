// Package actorstest runs agents in memory, for their authors' tests: nothing is
// on disk or on the network, and a crash is one call.
//
//	h := actorstest.New(t, assistant)
//	answer, err := h.Agent(assistant, "room-1").Chat(t.Context(), "Hello")
//	h.Crash() // as kill -9 and a new start would
//	history, err := h.Agent(assistant, "room-1").Messages(t.Context())
//
// Models are best played by package actors/model/scripted. A harness works inside
// a bubble of testing/synctest, where a passivation after an hour takes no time.
package actorstest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Config of a Harness. Only Agents is required.
type Config struct {
	Agents []*actors.Agent
	// Store makes the journal misbehave: see package memory. Its Disk is the
	// harness's own.
	Store memory.Config
	// Log of the runtime. Default: nowhere.
	Log *slog.Logger
	// WakeRate: see actors.RuntimeConfig.
	WakeRate int
}

// A Harness is a runtime of agents on a disk in memory. Its methods may be called
// concurrently, except for Crash and Restart, which are for one goroutine.
type Harness struct {
	// Disk holds the journals. A test may open another store on it, and so be a
	// second node.
	Disk *memory.Disk

	t   testing.TB
	cfg Config

	mu       sync.Mutex
	process  *process
	dead     []*process
	items    map[feed.Address][]feed.Item
	lost     map[feed.Address]int
	occupied map[feed.Address]bool
	changed  chan struct{} // closed and replaced when items or lost changes
}

// New starts the agents. What they still do at the end of the test is cut off.
func New(t testing.TB, agents ...*actors.Agent) *Harness {
	t.Helper()
	return Open(t, Config{Agents: agents})
}

// Open is New with a configuration.
func Open(t testing.TB, cfg Config) *Harness {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	h := &Harness{
		Disk: new(memory.Disk), t: t, cfg: cfg,
		items: make(map[feed.Address][]feed.Item), lost: make(map[feed.Address]int), occupied: make(map[feed.Address]bool), changed: make(chan struct{}),
	}
	h.start()
	t.Cleanup(h.close)
	return h
}

// Agent returns the agent of that class and name. After a Crash or Restart ask
// again: a handle belongs to its process.
func (h *Harness) Agent(class *actors.Agent, name string) *actors.Ref {
	return h.running().runtime.Agent(class, name)
}

// Crash ends the runtime as kill -9 would, and starts another on the same disk.
// From the moment of the call nothing of the old one is stored or shown. Go has
// no way to kill a handler: those that run have their context cancelled, and Crash
// waits a second for them. What they do in spite of it, a real crash would not
// have let them do.
func (h *Harness) Crash() {
	h.t.Helper()
	h.running().crash()
	h.start()
}

// Restart is a planned stop and a new start. Turns that were running go on.
func (h *Harness) Restart() {
	h.t.Helper()
	p := h.running()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.runtime.Stop(ctx); err != nil {
		h.t.Errorf("the runtime did not stop: %v", err)
	}
	_ = p.store.Close()
	h.start()
}

// Items returns what the sockets of an agent would have been told so far, from
// the first process on.
func (h *Harness) Items(a feed.Address) []feed.Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]feed.Item(nil), h.items[a]...)
}

// Lost tells how often the sockets of an agent would have been closed because
// its incarnation ended by a fault. A Crash, which closes all sockets, does not count.
func (h *Harness) Lost(a feed.Address) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost[a]
}

// Occupy says whether an agent has open sockets from now on. There are none at first.
func (h *Harness) Occupy(a feed.Address, open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.occupied[a] = open
}

// Enter asks parent's gate whether r may reach its sub-agent child, as a node does
// before it lets a socket or a plain request in: see actors.Agent.BeforeSubAgent.
func (h *Harness) Enter(ctx context.Context, r *http.Request, parent, child feed.Address) error {
	return h.running().runtime.Enter(ctx, r, parent, child)
}

// Await returns the agent's first item that match accepts, waiting for it if
// need be. It fails the test after ten seconds.
func (h *Harness) Await(a feed.Address, match func(feed.Item) bool) feed.Item {
	h.t.Helper()
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for seen := 0; ; {
		h.mu.Lock()
		items, changed := h.items[a], h.changed
		h.mu.Unlock()
		for ; seen < len(items); seen++ {
			if match(items[seen]) {
				return items[seen]
			}
		}
		select {
		case <-changed:
		case <-giveUp.C:
			h.t.Fatalf("%s: what was waited for did not come; there were %d items", a, seen)
		}
	}
}

// Stop is a planned stop, without a new start.
func (h *Harness) Stop(ctx context.Context) error { return h.running().runtime.Stop(ctx) }

// patience bounds every wait of a harness that has no context.
const patience = 10 * time.Second

func (h *Harness) running() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process
}

func (h *Harness) start() {
	store := h.cfg.Store
	store.Disk = h.Disk
	p := &process{h: h, store: memory.Open(store)}
	h.mu.Lock()
	if h.process != nil {
		h.dead = append(h.dead, h.process)
	}
	h.process = p
	h.mu.Unlock()
	p.runtime = actors.NewRuntime(actors.RuntimeConfig{
		Store: p.store, Log: h.cfg.Log, Rooms: p, Agents: h.cfg.Agents, WakeRate: h.cfg.WakeRate,
	})
}

func (h *Harness) close() {
	p := h.running()
	p.crash()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range append(h.dead, p) {
		if err := p.runtime.Stop(ctx); err != nil {
			h.t.Errorf("a handler did not return when its context ended: %v", err)
		}
	}
}
