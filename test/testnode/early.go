package main

import (
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/persistence"
)

// earlyStore says "stored" before it is true, and stores later. A node with it
// tells what has not happened: tests of durability must notice.
type earlyStore struct {
	persistence.Store
	late  time.Duration
	queue chan promise
}

// promise is an append that was said to be stored.
type promise struct {
	append persistence.Append
	at     time.Time
}

func newEarlyStore(s persistence.Store, late time.Duration) *earlyStore {
	e := &earlyStore{Store: s, late: late, queue: make(chan promise, 1<<16)}
	go e.keep()
	return e
}

// Append implements persistence.Store, wrongly.
func (e *earlyStore) Append(a persistence.Append, done func(error)) {
	e.queue <- promise{a, time.Now()}
	done(nil)
}

// keep stores what was promised, in order, for as long as the process lives.
func (e *earlyStore) keep() {
	for p := range e.queue {
		time.Sleep(time.Until(p.at.Add(e.late)))
		e.Store.Append(p.append, func(err error) {
			if err != nil {
				slog.Error("testnode: a promised append was not stored", "stream", p.append.Stream, "error", err)
			}
		})
	}
}
