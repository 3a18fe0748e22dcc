package actorstest

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// process is one run of the program. It is the agents' Rooms: it writes down
// what they let out until it dies.
type process struct {
	h       *Harness
	store   *memory.Store
	runtime *actors.Runtime
	death   sync.Once
	dead    bool // guarded by h.mu
}

// lastBreath is how long a crash waits for handlers to see that their context is over.
const lastBreath = time.Second

// crash hides what comes, then cuts off the disk, then has everything end: in
// this order nobody is told of what is not stored.
func (p *process) crash() {
	p.death.Do(func() {
		p.h.mu.Lock()
		p.dead = true
		p.h.mu.Unlock()
		p.store.Crash()
		ctx, cancel := context.WithTimeout(context.Background(), lastBreath)
		defer cancel()
		_ = p.runtime.Stop(ctx) // tried again, and complained of, at the end of the test
	})
}

// Room implements actors.Rooms.
func (p *process) Room(a feed.Address) feed.Sink { return sink{p, a} }

// Gone implements actors.Rooms.
func (p *process) Gone(feed.Address) {}

// Lost implements actors.Rooms.
func (p *process) Lost(a feed.Address) {
	p.note(func() { p.h.lost[a]++ })
}

// Occupied implements actors.Rooms.
func (p *process) Occupied(a feed.Address) bool {
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	return p.h.occupied[a]
}

// note changes the harness's notes, unless p is dead.
func (p *process) note(change func()) {
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	if p.dead {
		return
	}
	change()
	close(p.h.changed)
	p.h.changed = make(chan struct{})
}

type sink struct {
	p    *process
	addr feed.Address
}

// Put implements feed.Sink.
func (s sink) Put(item feed.Item) {
	s.p.note(func() { s.p.h.items[s.addr] = append(s.p.h.items[s.addr], item) })
}
