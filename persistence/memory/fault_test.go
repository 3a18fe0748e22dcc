package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
)

func record(stream string, expected uint64) persistence.Append {
	return persistence.Append{
		Stream: stream, Expected: expected,
		Batch:   persistence.Batch{Incarnation: 1, N: expected + 1},
		Records: []persistence.Record{{Data: []byte("x")}},
	}
}

// faulty returns a store on disk of which each append meets the fault.
func faulty(disk *memory.Disk, f memory.Fault) *memory.Store {
	return memory.Open(memory.Config{Disk: disk, OnAppend: func(persistence.Append) memory.Fault { return f }})
}

func start(s *memory.Store, a persistence.Append) <-chan error {
	answer := make(chan error, 1)
	s.Append(a, func(err error) { answer <- err })
	return answer
}

func head(t *testing.T, s *memory.Store, stream string) uint64 {
	t.Helper()
	info, _, err := s.Find(t.Context(), stream, persistence.Batch{})
	require.NoError(t, err)
	return info.Head
}

func TestHeldAppendIsStoredWhenReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := faulty(nil, memory.Fault{Hold: hold})
		answer := start(s, record("a", 0))
		synctest.Wait()
		require.Empty(t, answer)
		require.Zero(t, head(t, s, "a"))
		close(hold)
		require.NoError(t, <-answer)
		require.EqualValues(t, 1, head(t, s, "a"))
		require.NoError(t, s.Close())
	})
}

func TestHeldAppendConflictsIfAnotherStoreWasFaster(t *testing.T) {
	disk, hold := new(memory.Disk), make(chan struct{})
	slow, fast := faulty(disk, memory.Fault{Hold: hold}), memory.Open(memory.Config{Disk: disk})
	answer := start(slow, record("a", 0))
	require.NoError(t, <-start(fast, record("a", 0)))
	close(hold)
	require.ErrorIs(t, <-answer, persistence.ErrConflict)
}

func TestLateAppendLandsAfterItWasLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := faulty(nil, memory.Fault{Outcome: memory.Late, Hold: hold})
		a := record("a", 0)
		require.ErrorIs(t, <-start(s, a), persistence.ErrUnknown)
		_, found, err := s.Find(t.Context(), "a", a.Batch)
		require.NoError(t, err)
		require.False(t, found)
		close(hold)
		synctest.Wait()
		_, found, err = s.Find(t.Context(), "a", a.Batch)
		require.NoError(t, err)
		require.True(t, found)
	})
}

func TestConflictCanBeInjected(t *testing.T) {
	s := faulty(nil, memory.Fault{Outcome: memory.Conflict})
	require.ErrorIs(t, <-start(s, record("a", 0)), persistence.ErrConflict)
	require.Zero(t, head(t, s, "a"))
}

func TestCrashEndsWhatIsHeldWithoutStoringIt(t *testing.T) {
	for _, outcome := range []memory.Outcome{memory.Stored, memory.AckLost, memory.Late} {
		disk := new(memory.Disk)
		s := faulty(disk, memory.Fault{Outcome: outcome, Hold: make(chan struct{})})
		answer := start(s, record("a", 0))
		s.Crash()
		require.ErrorIs(t, <-answer, persistence.ErrUnknown)
		require.ErrorIs(t, <-start(s, record("a", 0)), persistence.ErrClosed)
		next := memory.Open(memory.Config{Disk: disk})
		require.Zero(t, head(t, next, "a"))
		require.NoError(t, <-start(next, record("a", 0)))
	}
}

func TestReadsOfOneStreamCanBeUnavailable(t *testing.T) {
	s := memory.Open(memory.Config{OnRead: func(stream string) error {
		if stream == "bad" {
			return errors.New("no answer")
		}
		return nil
	}})
	_, _, err := s.Find(t.Context(), "bad", persistence.Batch{})
	require.ErrorIs(t, err, persistence.ErrUnavailable)
	require.ErrorContains(t, err, "no answer")
	for _, err := range s.Read(t.Context(), "bad", 0) {
		require.ErrorIs(t, err, persistence.ErrUnavailable)
	}
	require.Zero(t, head(t, s, "good"))
	require.NoError(t, <-start(s, record("bad", 0)))
}
