package kill

import (
	"context"
	"sync"
	"time"
)

// gate is open while a node takes connections. Each opening is a life, from 1.
type gate struct {
	mu    sync.Mutex
	life  int
	open  bool
	moved chan struct{} // closed and replaced with each change
}

func newGate() *gate { return &gate{moved: make(chan struct{})} }

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open = open; open {
		g.life++
	}
	close(g.moved)
	g.moved = make(chan struct{})
}

func (g *gate) isOpen(life int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open && g.life == life
}

// next waits for a life after that one; false if ctx ends first.
func (g *gate) next(ctx context.Context, after int) (life int, ok bool) {
	for {
		g.mu.Lock()
		life, open, moved := g.life, g.open, g.moved
		g.mu.Unlock()
		if open && life > after {
			return life, true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return 0, false
		}
	}
}

// counter counts, and lets one goroutine wait for more.
type counter struct {
	mu     sync.Mutex
	n      int
	target int
	met    chan struct{}
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.met != nil && c.n >= c.target {
		close(c.met)
		c.met = nil
	}
}

// wait returns after n more, or after limit.
func (c *counter) wait(n int, limit time.Duration) {
	met := make(chan struct{})
	c.mu.Lock()
	c.target, c.met = c.n+n, met
	c.mu.Unlock()
	select {
	case <-met:
	case <-time.After(limit):
	}
}

func (c *counter) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// set of strings.
type set struct {
	mu   sync.Mutex
	have map[string]bool
}

func newSet() *set { return &set{have: map[string]bool{}} }

func (s *set) add(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have[v] = true
}

func (s *set) has(v string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.have[v]
}

// agenda is whose turn it is when the killing is over: one after the other, since
// of two who ask at once one may be shown, until the next list, a list that its
// own question is not yet in.
type agenda struct {
	mu    sync.Mutex
	order []string // names of tabs
	last  string   // request of the last one that has asked
}

// take reports whether it is the turn of that tab, which then asks with request.
func (a *agenda) take(name, request string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.order) == 0 || a.order[0] != name {
		return false
	}
	a.order, a.last = a.order[1:], request
	return true
}

// giveBack has that tab ask once more.
func (a *agenda) giveBack(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.order, a.last = append([]string{name}, a.order...), ""
}

// done: all have asked.
func (a *agenda) done() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.order) == 0
}

// lastRequest is the newest one; "" if there is none.
func (a *agenda) lastRequest() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}
