package bolt

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// start appends one record without waiting.
func start(s persistence.Store, stream string, head uint64, data []byte) <-chan error {
	answer := make(chan error, 1)
	s.Append(persistence.Append{
		Stream: stream, Expected: head, Batch: persistence.Batch{Incarnation: 1, N: head + 1},
		Records: []persistence.Record{{Data: data}},
	}, func(err error) { answer <- err })
	return answer
}

// held opens a store whose first commit waits for release. began gets a value with
// each commit.
func held(t *testing.T) (s *Store, began <-chan struct{}, release func()) {
	t.Helper()
	commits, gate := make(chan struct{}, 100), make(chan struct{})
	s, err := Open(Config{Path: newPath(t), commit: func(tx *bbolt.Tx) error {
		commits <- struct{}{}
		<-gate
		return tx.Commit()
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, commits, func() { close(gate) }
}

func TestAppendsThatMeetShareACommit(t *testing.T) {
	s, began, release := held(t)
	answers := []<-chan error{start(s, "first", 0, payload)}
	<-began // the rest comes while the first commit is under way
	for i := range 500 {
		answers = append(answers, start(s, fmt.Sprint("s", i), 0, payload))
	}
	release()
	for _, answer := range answers {
		require.NoError(t, <-answer)
	}
	<-began
	require.Empty(t, began, "more than two commits")
}

func TestAGroupIsBounded(t *testing.T) {
	for _, c := range []struct {
		ops, bytes int
		commits    int
	}{
		{groupOps + 1, 0, 2},
		{5, groupBytes / 2, 3},
		{3, groupBytes + 1, 3},
	} {
		s, began, release := held(t)
		answers := []<-chan error{start(s, "first", 0, nil)}
		<-began
		for i := range c.ops {
			answers = append(answers, start(s, fmt.Sprint("s", i), 0, make([]byte, c.bytes)))
		}
		release()
		for _, answer := range answers {
			require.NoError(t, <-answer)
		}
		require.Len(t, began, c.commits, "%d appends of %d bytes", c.ops, c.bytes)
	}
}

// In a bubble time passes only when all wait for it, so what takes no time has
// not waited.
func TestAppendsThatComeOneByOneDoNotLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(Config{Path: newPath(t)})
		require.NoError(t, err)
		began := time.Now()
		for head := range uint64(10) {
			require.NoError(t, put(s, "a", head))
			require.NoError(t, put(s, "b", head))
		}
		require.Zero(t, time.Since(began))
		require.NoError(t, s.Close())
	})
}

func TestAfterAGroupTheNextOneWaitsForItsMembersAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began, release := held(t)
		answers := []<-chan error{start(s, "a", 0, payload)}
		<-began
		for _, name := range []string{"b", "c", "d"} {
			answers = append(answers, start(s, name, 0, payload))
		}
		release()
		for _, answer := range answers {
			require.NoError(t, <-answer)
		}
		for i, want := range []time.Duration{linger, 0, 0} {
			began := time.Now()
			require.NoError(t, put(s, "a", uint64(i)+1))
			require.Equal(t, want, time.Since(began), "append %d", i)
		}
	})
}

func TestAPanicInACommitSuspendsTheStoreForAMoment(t *testing.T) {
	var panics int
	s, err := Open(Config{
		Path: newPath(t), retryFirst: time.Microsecond, retryMost: time.Millisecond,
		commit: func(tx *bbolt.Tx) error {
			if panics++; panics == 2 {
				panic("page 7 already freed")
			}
			return tx.Commit()
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, put(s, "a", 0))
	err = put(s, "a", 1)
	require.ErrorIs(t, err, persistence.ErrUnknown)
	require.ErrorContains(t, err, "page 7")
	waitHealthy(t, s)
	require.NoError(t, put(s, "a", 1))
}

func TestReadersGoOnWhileACommitIsUnderWay(t *testing.T) {
	s, began, release := held(t)
	answer := start(s, "a", 0, payload)
	<-began
	info, found, err := s.Find(t.Context(), "a", persistence.Batch{Incarnation: 1, N: 1})
	require.NoError(t, err)
	require.False(t, found, "seen before it was durable")
	require.Zero(t, info.Head)
	release()
	require.NoError(t, <-answer)
	_, found, err = s.Find(t.Context(), "a", persistence.Batch{Incarnation: 1, N: 1})
	require.NoError(t, err)
	require.True(t, found)
}
