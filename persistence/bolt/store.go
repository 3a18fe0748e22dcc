package bolt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// Config of a Store.
type Config struct {
	// Path of the journal file. It is made, with its directory, if nothing is
	// there. Required.
	Path string

	// Logger gets a line when the store suspends itself and when it is back.
	// nil: nothing is logged.
	Logger *slog.Logger

	// commit ends a transaction; (*bbolt.Tx).Commit. Tests let it fail.
	commit func(*bbolt.Tx) error
	// open opens the file; openFile. Tests let it fail.
	open func(path string, resync bool) (*file, error)
	// retryFirst and retryMost bound the pauses between attempts to open the
	// file after a failure; 50 ms and 5 s.
	retryFirst, retryMost time.Duration
}

// Store is a persistence.Store in one bbolt file.
type Store struct {
	config Config
	// wake tells the writer that queue or closed have changed. Capacity 1.
	wake chan struct{}
	// closing is closed by Close, stopped by the writer when it ends.
	closing, stopped chan struct{}

	mu     sync.Mutex
	file   *file // guarded by mu; nil while down and when closed
	down   error // guarded by mu; why the store is suspended, nil if it is not
	closed bool  // guarded by mu; Close was called
	queue  []op  // guarded by mu; Invariant: empty while down != nil
	enough int   // guarded by mu; length of queue that wakes the writer

	writer   writer // owned by the writer's goroutine
	closeErr error  // written before stopped is closed
}

var _ persistence.Store = (*Store)(nil)

// An op is a call that the writer executes.
type op struct {
	stream string
	size   int // bytes, for the bound of a group
	do     func(*group) error
	// alone, if not nil, is done instead of do, in no group and no transaction.
	alone func(*bbolt.DB) error
	// done is called once. tried is false if the op has not been looked at.
	done func(err error, tried bool)
}

// Open opens the journal at c.Path. Errors name the path and say what is wrong;
// they wrap persistence.ErrInUse if another process, or another Store of this one,
// has the file, and persistence.ErrCorrupt if it is damaged. A file that is refused
// is left as it is.
func Open(c Config) (*Store, error) {
	if c.Path == "" {
		return nil, fmt.Errorf("%w: Config.Path is empty", persistence.ErrInvalid)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.commit == nil {
		c.commit = (*bbolt.Tx).Commit
	}
	if c.open == nil {
		c.open = openFile
	}
	if c.retryFirst == 0 {
		c.retryFirst, c.retryMost = 50*time.Millisecond, 5*time.Second
	}
	f, err := c.open(c.Path, false)
	if err != nil {
		return nil, err
	}
	s := &Store{
		config: c, file: f, enough: 1,
		wake: make(chan struct{}, 1), closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	go s.run()
	return s, nil
}

// Append implements persistence.Store. ErrInvalid, ErrClosed, and ErrUnknown while
// the store is suspended, are told before Append returns; all else by the writer.
func (s *Store) Append(a persistence.Append, done func(error)) {
	if err := a.Validate(); err != nil {
		done(err)
		return
	}
	size := 0
	for _, r := range a.Records {
		size += len(r.Data)
	}
	for _, b := range a.Blobs {
		size += len(b.Data)
	}
	err := s.enqueue(op{
		stream: a.Stream, size: size,
		do: func(g *group) error { return g.append(a) },
		done: func(err error, tried bool) {
			if !tried {
				err = fmt.Errorf("%w: %w", persistence.ErrUnknown, err)
			}
			done(err)
		},
	})
	switch {
	case err == nil:
	case errors.Is(err, persistence.ErrClosed):
		done(err)
	default:
		done(fmt.Errorf("%w: %w", persistence.ErrUnknown, err))
	}
}

// enqueue hands o to the writer, or says why there is none: ErrClosed or ErrUnavailable.
func (s *Store) enqueue(o op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unready(); err != nil {
		return err
	}
	s.queue = append(s.queue, o)
	if len(s.queue) >= s.enough {
		s.signal()
	}
	return nil
}

// unready says why the store cannot be used now. s.mu is held.
func (s *Store) unready() error {
	switch {
	case s.closed:
		return persistence.ErrClosed
	case s.down != nil:
		return fmt.Errorf("%w: %w", persistence.ErrUnavailable, s.down)
	}
	return nil
}

func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// call lets the writer execute o and waits. If ctx ends first, the outcome is unknown.
func (s *Store) call(ctx context.Context, o op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answer := make(chan error, 1)
	o.done = func(err error, tried bool) {
		if !tried {
			err = fmt.Errorf("%w: %w", persistence.ErrUnavailable, err)
		}
		answer <- err
	}
	if err := s.enqueue(o); err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", persistence.ErrUnknown, context.Cause(ctx))
	}
}

// Rebase implements persistence.Store. It drops the snapshot, too. It takes time
// with the number of records that go, some 3 µs each, during which nothing else is
// written.
func (s *Store) Rebase(ctx context.Context, stream string, upto uint64, base []byte, keepBlobs []string) error {
	if err := persistence.ValidateRebase(stream, upto, base); err != nil {
		return err
	}
	return s.call(ctx, op{stream: stream, size: len(base), do: func(g *group) error {
		return g.rebase(stream, upto, base, keepBlobs)
	}})
}

// Delete implements persistence.Store. For its duration see Rebase. The file does
// not shrink, and the bytes stay in it until they are overwritten: Compact makes a
// file without them.
func (s *Store) Delete(ctx context.Context, stream string, expected uint64) error {
	if err := persistence.ValidateStream(stream); err != nil {
		return err
	}
	return s.call(ctx, op{stream: stream, do: func(g *group) error { return g.delete(stream, expected) }})
}

// SaveSnapshot implements persistence.Store. The snapshot is durable on return.
func (s *Store) SaveSnapshot(ctx context.Context, stream string, snap persistence.Snapshot) error {
	if err := persistence.ValidateStream(stream); err != nil {
		return err
	}
	return s.call(ctx, op{stream: stream, size: len(snap.Data), do: func(g *group) error {
		return g.saveSnapshot(stream, snap)
	}})
}

// Health implements persistence.Store.
func (s *Store) Health() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return persistence.ErrClosed
	}
	return s.down
}

// Close implements persistence.Store. Calls that wait for the writer are finished
// first; readers get ErrClosed with their next page.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
		s.signal()
	}
	s.mu.Unlock()
	<-s.stopped
	return s.closeErr
}
