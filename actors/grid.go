package actors

import (
	"maps"
	"sync"
	"time"
)

// gridStep is how long prose may wait for the disk. All agents' ticks fall
// together, so that their tails meet in one commit.
const gridStep = 50 * time.Millisecond

// grid ticks for agents that stream. It sleeps while there are none.
type grid struct {
	mu     sync.Mutex
	shells map[*shell]*livestream
	timer  *time.Timer // nil: nobody streams
}

func newGrid() *grid { return &grid{shells: make(map[*shell]*livestream)} }

// join has a be ticked while l, or what a has taken from it, is to be stored.
func (g *grid) join(a *shell, l *livestream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shells[a] = l
	if g.timer == nil {
		g.timer = time.AfterFunc(untilTick(), g.tick)
	}
}

func (g *grid) leave(a *shell) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.shells, a)
}

// tick asks the streams without the grid's lock: an actor that holds a stream's
// lock calls leave.
func (g *grid) tick() {
	g.mu.Lock()
	if len(g.shells) == 0 {
		g.timer = nil
		g.mu.Unlock()
		return
	}
	g.timer = time.AfterFunc(untilTick(), g.tick)
	streams := maps.Clone(g.shells)
	g.mu.Unlock()
	for a, l := range streams {
		if l.pending() || a.behind.Load() {
			a.tell(gridTick{})
		}
	}
}

func (g *grid) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.shells)
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
}

func untilTick() time.Duration {
	now := time.Now()
	return now.Truncate(gridStep).Add(gridStep).Sub(now)
}
