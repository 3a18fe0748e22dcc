package persistencetest

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var closeTests = []test{
	{"EveryCallAnswersErrClosedAfterwards", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 1)
		require.NoError(t, s.Health())
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		require.Error(t, s.Health())
		require.ErrorIs(t, s.put(one("a", 1, "x")), persistence.ErrClosed)
		calls := namedCalls(s, "a")
		maps.Copy(calls, otherCalls(s))
		for name, call := range calls {
			require.ErrorIs(t, call(t.Context()), persistence.ErrClosed, name)
		}
	}},
	{"WaitsForTheAppendsUnderWay", func(t *testing.T, h Harness) {
		s := open(t, h)
		const n = 200
		var answers []<-chan error
		for i := range n {
			answers = append(answers, s.start(one(fmt.Sprint("s", i), 0, "x")))
		}
		require.NoError(t, s.Close())
		for _, answer := range answers {
			select {
			case err := <-answer:
				require.NoError(t, err, "it was accepted before Close")
			default:
				t.Fatal("Close has returned before an append was answered")
			}
		}
		if h.Reopen == nil {
			return
		}
		s.reopen()
		for i := range n {
			require.EqualValues(t, 1, s.info(fmt.Sprint("s", i)).Head)
		}
	}},
	{"AmongAppendsEachIsEitherKeptOrRefused", func(t *testing.T, h Harness) {
		s := open(t, h)
		kept := make(chan uint64)
		for i := range 8 {
			go func() {
				for head := uint64(0); ; head++ {
					if err := s.put(one(fmt.Sprint("s", i), head, "x")); err != nil {
						if !errors.Is(err, persistence.ErrClosed) {
							t.Errorf("got %v, want ErrClosed", err)
						}
						kept <- head
						return
					}
				}
			}()
		}
		require.NoError(t, s.put(one("first", 0, "x")))
		require.NoError(t, s.Close())
		total := uint64(0)
		for range 8 {
			total += <-kept
		}
		if h.Reopen == nil {
			return
		}
		s.reopen()
		found := uint64(0)
		for i := range 8 {
			found += s.info(fmt.Sprint("s", i)).Head
		}
		require.Equal(t, total, found)
		s.sound()
	}},
	{"DoesNotWaitForReaders", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, many)
		var got []persistence.Record
		for r, err := range s.Read(t.Context(), "a", 0) {
			if err != nil {
				require.ErrorIs(t, err, persistence.ErrClosed)
				wantFilled(t, got, "a", 1, uint64(len(got)))
				return
			}
			if got = append(got, r); r.Seq == 1 {
				require.NoError(t, s.Close())
			}
		}
		wantFilled(t, got, "a", 1, many)
	}},
	{"TwiceAtOnce", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.start(one("a", 0, "x"))
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- s.Close() }()
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)
	}},
}
