package actors

import (
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

// join has a be ticked while l has something to store.
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

func (g *grid) tick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.shells) == 0 {
		g.timer = nil
		return
	}
	for a, l := range g.shells {
		if l.pending() {
			a.tell(gridTick{})
		}
	}
	g.timer = time.AfterFunc(untilTick(), g.tick)
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
