// Package memory is a persistence.Store without files: for tests, and for nodes
// whose conversations may be forgotten.
//
// What is stored lives in a Disk, the handle on it is a Store. Several stores on
// one disk behave like several nodes on one database, and a store that is opened
// on the disk of a crashed one finds what was durable. An append is durable as
// soon as it is stored, which is before Append returns unless a Fault holds it.
//
// Config.OnAppend, OnRead and Down make a store misbehave in each way that the
// contract allows. There are no timers; a goroutine runs only while the outcome of
// an append is being told or held, so that tests under testing/synctest see the
// store as idle when it is.
//
// done is called on a goroutine of the store, except with ErrInvalid and
// ErrClosed, which are told before Append returns. Rebase drops the snapshot.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-dev/holdfast/persistence"
)

// Config of a Store. The zero value is a store of its own without faults. The
// hooks may be called concurrently, and hold no lock of the store while they run.
type Config struct {
	// Disk keeps what is stored. nil: a new, empty one.
	Disk *Disk

	// OnAppend, if not nil, is asked about each valid append before it is stored.
	OnAppend func(persistence.Append) Fault

	// OnRead, if not nil, is asked at the beginning of each call that concerns one
	// stream, Append apart. An error is the call's answer, wrapped in
	// ErrUnavailable if it is not one of persistence's errors.
	OnRead func(stream string) error

	// Down, if not nil and answering an error, is an outage: appends are not
	// stored and get ErrUnknown, all else gets ErrUnavailable, and Health tells
	// the error. It is asked at the beginning of each call.
	Down func() error
}

// A Fault says what becomes of an append. The zero value stores it as usual.
type Fault struct {
	Outcome Outcome
	// Hold, if not nil, delays the append (see Late) until the channel is closed
	// or gives a value. Close waits for that, Crash does not.
	Hold <-chan struct{}
}

// Outcome is the way in which an append ends.
type Outcome uint8

const (
	// Stored: as usual, which is ErrConflict if the head has moved.
	Stored Outcome = iota
	// Lost: nothing is stored, the answer is ErrUnknown.
	Lost
	// AckLost: stored if the head is the expected one, the answer is ErrUnknown.
	AckLost
	// Conflict: nothing is stored, the answer is ErrConflict.
	Conflict
	// Late: the answer is ErrUnknown at once; the append is stored after Hold if
	// the head is still the expected one then. So behaves a database that
	// executes a statement after its client has given up on it.
	Late
)

// Store is a handle on a Disk.
type Store struct {
	disk   *Disk
	config Config
	// crashed is closed by Crash and ends what is held.
	crashed chan struct{}

	mu       sync.Mutex
	closed   bool           // guarded by mu
	underway sync.WaitGroup // Add only while !closed, under mu
}

var _ persistence.Store = (*Store)(nil)

// Open returns a store on c.Disk. It cannot fail. Any number of stores may be
// open on one disk.
func Open(c Config) *Store {
	if c.Disk == nil {
		c.Disk = new(Disk)
	}
	return &Store{disk: c.Disk, config: c, crashed: make(chan struct{})}
}

// Append implements persistence.Store.
func (s *Store) Append(a persistence.Append, done func(error)) {
	if err := a.Validate(); err != nil {
		done(err)
		return
	}
	fault := s.faultOf(a)
	if !s.enter() {
		done(persistence.ErrClosed)
		return
	}
	if fault.Outcome == Late {
		go func() {
			defer s.underway.Done()
			done(unknown("stored late, perhaps"))
			if s.wait(fault.Hold) {
				_ = s.disk.append(a, s.dead)
			}
		}()
		return
	}
	if fault.Hold == nil {
		err := s.store(a, fault.Outcome)
		go func() {
			defer s.underway.Done()
			done(err)
		}()
		return
	}
	go func() {
		defer s.underway.Done()
		if !s.wait(fault.Hold) {
			done(unknown("the store has crashed"))
			return
		}
		done(s.store(a, fault.Outcome))
	}()
}

func (s *Store) faultOf(a persistence.Append) Fault {
	if s.config.Down != nil && s.config.Down() != nil {
		return Fault{Outcome: Lost}
	}
	if s.config.OnAppend != nil {
		return s.config.OnAppend(a)
	}
	return Fault{}
}

func (s *Store) store(a persistence.Append, o Outcome) error {
	switch o {
	case Lost:
		return unknown("not stored")
	case Conflict:
		return fmt.Errorf("%w: stream %q (injected)", persistence.ErrConflict, a.Stream)
	case AckLost:
		_ = s.disk.append(a, s.dead)
		return unknown("the acknowledgement is lost")
	default:
		return s.disk.append(a, s.dead)
	}
}

// wait reports whether hold was released rather than the store crashed.
func (s *Store) wait(hold <-chan struct{}) bool {
	if hold == nil {
		return true
	}
	select {
	case <-hold:
		return true
	case <-s.crashed:
		return false
	}
}

// dead reports whether the handle has crashed; the disk asks under its lock.
func (s *Store) dead() bool {
	select {
	case <-s.crashed:
		return true
	default:
		return false
	}
}

func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.underway.Add(1)
	return true
}

// ready is the beginning of every call but Append. stream is empty where a call
// concerns more than one.
func (s *Store) ready(ctx context.Context, stream string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return persistence.ErrClosed
	}
	if s.config.Down != nil {
		if err := s.config.Down(); err != nil {
			return fmt.Errorf("%w: %w", persistence.ErrUnavailable, err)
		}
	}
	if stream == "" || s.config.OnRead == nil {
		return nil
	}
	err := s.config.OnRead(stream)
	if err == nil || errors.Is(err, persistence.ErrUnavailable) || errors.Is(err, persistence.ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", persistence.ErrUnavailable, err)
}

// Health implements persistence.Store.
func (s *Store) Health() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return persistence.ErrClosed
	}
	if s.config.Down != nil {
		return s.config.Down()
	}
	return nil
}

// Close implements persistence.Store. The disk keeps what was stored.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.underway.Wait()
	return nil
}

// Crash ends the handle as the end of its process would. Appends that a Fault
// holds are not stored and get ErrUnknown; after Crash nothing of this handle
// reaches the disk, and its methods answer ErrClosed. Open another store on the
// same disk to go on. Not to be called twice.
func (s *Store) Crash() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.disk.mu.Lock()
	close(s.crashed)
	s.disk.mu.Unlock()
	s.underway.Wait()
}

func unknown(why string) error {
	return fmt.Errorf("%w: %s", persistence.ErrUnknown, why)
}
