package bolt

import (
	"errors"
	"fmt"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// Bounds of a group. A single op may be larger than groupBytes.
const (
	groupOps   = 4096
	groupBytes = 4 << 20
	// linger is the longest that a group waits for more.
	linger = 2 * time.Millisecond
)

// A writer is what the writer's goroutine knows.
type writer struct {
	layout layout
	// The streams of the last two groups, the newer one first: those that are
	// likely to write again at once.
	recent [2]map[string]struct{}
	ended  time.Time // when the last group was answered
}

// run executes the queue until Close, and closes the file.
func (s *Store) run() {
	defer close(s.stopped)
	for {
		ops := s.take()
		if ops == nil {
			s.closeErr = s.release()
			return
		}
		if err := s.execute(ops); err != nil {
			s.suspend(err)
			answerAll(ops, fmt.Errorf("%w: %w", persistence.ErrUnknown, err), true)
			s.reopen()
		}
	}
}

// take waits for ops and removes a group of them from the queue; nil after Close,
// when none is left.
func (s *Store) take() []op {
	if !s.await(1, nil) {
		return nil
	}
	if n := s.expected(); n > 0 {
		timeout := time.NewTimer(linger)
		s.await(n, timeout.C)
		timeout.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, size := 0, 0
	for n < len(s.queue) && n < groupOps && (n == 0 || s.queue[n].joins(size)) {
		size += s.queue[n].size
		if n++; s.queue[0].alone != nil {
			break
		}
	}
	ops := s.queue[:n:n]
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil // let go of the array when its last op is done
	}
	return ops
}

// joins reports whether the op may follow others of that size in a group.
func (o op) joins(size int) bool { return o.alone == nil && size+o.size <= groupBytes }

// await returns when the queue has n ops or the store is closed, or, if it is not
// nil, when timeout fires. It reports whether the queue has anything.
func (s *Store) await(n int, timeout <-chan time.Time) bool {
	for {
		s.mu.Lock()
		s.enough = n
		have, closed := len(s.queue), s.closed
		s.mu.Unlock()
		if have >= n || closed {
			return have > 0
		}
		select {
		case <-s.wake:
		case <-timeout:
			return have > 0
		}
	}
}

// expected is how many ops the next group should have if it is to hold all who
// wrote a moment ago; 0 if it is not worth waiting for them: the queue was quiet,
// or callers come one after the other.
func (s *Store) expected() int {
	w := &s.writer
	if time.Since(w.ended) > linger {
		return 0
	}
	s.mu.Lock()
	queued := len(s.queue)
	s.mu.Unlock()
	if queued < 2 && len(w.recent[0]) < 2 {
		return 0
	}
	n := len(w.recent[0])
	for name := range w.recent[1] {
		if _, twice := w.recent[0][name]; !twice {
			n++
		}
	}
	return min(n, groupOps)
}

func (w *writer) remember(ops []op) {
	names := w.recent[1]
	if names == nil {
		names = make(map[string]struct{})
	}
	clear(names)
	for _, o := range ops {
		names[o.stream] = struct{}{}
	}
	w.recent[0], w.recent[1] = names, w.recent[0]
	w.ended = time.Now()
}

// execute does a group of ops and answers them. After an error nothing was
// answered and the outcome is unknown.
func (s *Store) execute(ops []op) error {
	s.mu.Lock()
	db := s.file.db
	s.mu.Unlock()
	if alone := ops[0].alone; alone != nil {
		ops[0].done(guard(func() error { return alone(db) }), true)
		return nil
	}
	answers := make([]error, len(ops))
	if err := guard(func() error { return s.transact(db, ops, answers) }); err != nil {
		return err
	}
	for i, o := range ops {
		o.done(answers[i], true)
	}
	s.writer.remember(ops)
	return nil
}

// transact commits what the ops do. An op that is refused has its error in answers.
func (s *Store) transact(db *bbolt.DB, ops []op, answers []error) error {
	tx, err := db.Begin(true)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after the commit
	g := s.writer.layout.begin(tx)
	for i, o := range ops {
		if answers[i] = o.do(g); answers[i] != nil && !refused(answers[i]) {
			return answers[i]
		}
	}
	if !g.changed {
		return nil
	}
	// The commit point. A crash before it leaves nothing of the group; after it
	// the group is on the disk, whether or not anybody gets to hear of it.
	if err := s.config.commit(tx); err != nil {
		return err
	}
	g.committed()
	return nil
}

// refused tells the errors with which an op is turned down from those that make
// the whole transaction worthless.
func refused(err error) bool {
	for _, e := range []error{persistence.ErrConflict, persistence.ErrNotFound, persistence.ErrInvalid, persistence.ErrCorrupt} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func answerAll(ops []op, err error, tried bool) {
	for _, o := range ops {
		o.done(err, tried)
	}
}
