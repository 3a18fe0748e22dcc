package actors

import (
	"context"
	"sync"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// waits knows which agents have a turn that waits for a turn of another: a parent
// may wait for its sub-agent, and a sub-agent for its parent, but not both. An
// agent's turns run one after another, so who waits for one of them waits for
// the one that runs.
type waits struct {
	mu sync.Mutex
	on map[feed.Address]map[feed.Address]int // from waits on to, so often
}

// begin notes that the turn whose context ctx is, if it is one, waits for a turn
// of to, until end is called. ErrInsideTurn: that would never end.
func (w *waits) begin(ctx context.Context, to feed.Address) (end func(), err error) {
	from, ok := ctx.Value(insideKey{}).(feed.Address)
	if !ok {
		return func() {}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if from == to || w.leads(to, from) {
		return nil, ErrInsideTurn
	}
	if w.on == nil {
		w.on = make(map[feed.Address]map[feed.Address]int)
	}
	if w.on[from] == nil {
		w.on[from] = make(map[feed.Address]int)
	}
	w.on[from][to]++
	return func() { w.end(from, to) }, nil
}

// leads reports whether from waits for to, perhaps through others. mu is held. What
// is there has no circle, so it ends.
func (w *waits) leads(from, to feed.Address) bool {
	for next := range w.on[from] {
		if next == to || w.leads(next, to) {
			return true
		}
	}
	return false
}

func (w *waits) end(from, to feed.Address) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.on[from][to]--; w.on[from][to] == 0 {
		delete(w.on[from], to)
	}
	if len(w.on[from]) == 0 {
		delete(w.on, from)
	}
}
