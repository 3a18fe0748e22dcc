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
