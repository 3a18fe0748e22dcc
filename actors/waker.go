package actors

import (
	"math"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// waker brings agents into memory that have work though nobody calls: at start
// those that a crash or a stop has left with a turn, later those whose time has
// come. The store knows them; an agent in memory keeps its own time.
type waker struct {
	rt    *Runtime
	nudge chan struct{} // capacity 1: look again
	quit  chan struct{}
	once  sync.Once
}

func newWaker(rt *Runtime) *waker {
	w := &waker{rt: rt, nudge: make(chan struct{}, 1), quit: make(chan struct{})}
	rt.background(w.run)
	return w
}

// look has the waker read the store's list again.
func (w *waker) look() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

func (w *waker) stop() { w.once.Do(func() { close(w.quit) }) }

// storeRetry is when a store that could not be read is tried again.
const storeRetry = time.Second

// longestSleep bounds how late the waker is when the clock jumps.
const longestSleep = time.Minute

func (w *waker) run() {
	pace := time.NewTicker(max(time.Second/time.Duration(w.rt.cfg.WakeRate), 1))
	defer pace.Stop()
	for {
		again := time.NewTimer(w.wakeDue(pace.C))
		select {
		case <-w.quit:
		case <-w.nudge:
		case <-again.C:
		}
		again.Stop()
		select {
		case <-w.quit:
			return
		default:
		}
	}
}

// wakeDue wakes what is due now, and returns how long until it has to look again.
func (w *waker) wakeDue(pace <-chan time.Time) time.Duration {
	again := longestSleep
	for info, err := range w.rt.cfg.Store.Due(w.rt.ctx, persistence.Wake(math.MaxInt64)) {
		if err != nil {
			return min(again, storeRetry)
		}
		if wait := time.Until(time.UnixMilli(int64(info.Wake))); wait > 0 {
			return min(again, wait)
		}
		addr, ok := feed.ParsePath(info.Stream)
		if !ok {
			continue
		}
		s, err := w.rt.slot(addr)
		if err != nil || s.inMemory() {
			continue
		}
		select {
		case <-pace:
		case <-w.quit:
			return again
		}
		if later := s.wake(); later > 0 {
			again = min(again, later)
		}
	}
	return again
}
