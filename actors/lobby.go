package actors

import (
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// lobbies are what this process keeps of agents while they may be out of memory:
// their sockets, and the changes of their state that OnStateChange has not been
// told of yet.
type lobbies struct {
	mu sync.Mutex
	of map[feed.Address]*lobby
}

// Invariant: a lobby that is in the map is not empty.
type lobby struct {
	open    []*Connection // in the order in which they came
	changes []func()
	busy    bool // a goroutine works on changes
}

// with changes the lobby of an agent.
func (l *lobbies) with(a feed.Address, change func(*lobby)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.of[a]
	if b == nil {
		b = &lobby{}
	}
	change(b)
	switch {
	case len(b.open) == 0 && !b.busy:
		delete(l.of, a)
	case l.of == nil:
		l.of = map[feed.Address]*lobby{a: b}
	default:
		l.of[a] = b
	}
}

func (l *lobbies) add(c *Connection) {
	l.with(c.agent, func(b *lobby) { b.open = append(b.open, c) })
}

func (l *lobbies) remove(c *Connection) {
	l.with(c.agent, func(b *lobby) {
		b.open = slices.DeleteFunc(b.open, func(other *Connection) bool { return other == c })
	})
}

// list returns the sockets of an agent that have all of the tags.
func (l *lobbies) list(a feed.Address, tags []string) (found []*Connection) {
	l.with(a, func(b *lobby) {
		for _, c := range b.open {
			if !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(c.terms.Tags, tag) }) {
				found = append(found, c)
			}
		}
	})
	return found
}

// find returns an open socket of an agent by its id, or nil.
func (l *lobbies) find(a feed.Address, id string) (found *Connection) {
	l.with(a, func(b *lobby) {
		for _, c := range b.open {
			if c.ID() == id {
				found = c
			}
		}
	})
	return found
}

// waiting is how many changes an agent's author has not been told of.
func (l *lobbies) waiting(a feed.Address) (n int) {
	l.with(a, func(b *lobby) { n = len(b.changes) })
	return n
}

// queue has tell run after those before it. It is called by the agent's actor and
// does not block.
func (l *lobbies) queue(rt *Runtime, a feed.Address, tell func()) {
	l.with(a, func(b *lobby) {
		b.changes = append(b.changes, tell)
		if !b.busy {
			b.busy = true
			rt.background(func() { l.work(a) })
		}
	})
}

func (l *lobbies) work(a feed.Address) {
	for {
		var next func()
		l.with(a, func(b *lobby) {
			if b.busy = len(b.changes) > 0; b.busy {
				next, b.changes = b.changes[0], b.changes[1:]
			}
		})
		if next == nil {
			return
		}
		next()
	}
}
