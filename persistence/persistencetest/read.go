package persistencetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

// many is more records than a store is likely to fetch at once.
const many = 1500

var readTests = []test{
	{"UnknownStreamHasNoRecords", func(t *testing.T, h Harness) {
		s := open(t, h)
		require.Empty(t, s.read("none", 0))
	}},
	{"BeginsAtFrom", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, many)
		s.fill("b", 0, 3) // a neighbour that must not leak in
		for _, from := range []uint64{0, 1, 2, 255, 256, 257, many - 1, many} {
			wantFilled(t, s.read("a", from), "a", max(from, 1), many)
		}
		require.Empty(t, s.read("a", many+1))
		require.Empty(t, s.read("a", 1<<63))
	}},
	{"LargeRecordsComeWhole", func(t *testing.T, h Harness) {
		s := open(t, h)
		a := one("a", 0, "")
		a.Records = nil
		for i := range 12 {
			data := make([]byte, 300_000+i)
			data[0], data[len(data)-1] = byte(i), byte(i)
			a.Records = append(a.Records, persistence.Record{Data: data})
		}
		require.NoError(t, s.put(a))
		for i, r := range s.read("a", 0) {
			require.Len(t, r.Data, 300_000+i)
			require.Equal(t, []byte{byte(i), byte(i)}, []byte{r.Data[0], r.Data[len(r.Data)-1]})
		}
	}},
	{"SeesWhatWasDurableWhenItBeganAndHoldsNoLock", func(t *testing.T, h Harness) {
		s := open(t, h)
		head := s.fill("a", 0, many)
		var got []persistence.Record
		for r, err := range s.Read(t.Context(), "a", 0) {
			require.NoError(t, err)
			if got = append(got, r); r.Seq%400 == 1 {
				head = s.fill("a", head, 300) // waits for its answer: deadlocks if Read holds a lock
				s.fill("other", uint64(r.Seq/400), 1)
			}
		}
		wantFilled(t, got, "a", 1, many)
		wantFilled(t, s.read("a", 0), "a", 1, head)
	}},
	{"MayBeStoppedAnywhereAndRunAgain", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, many)
		seq := s.Read(t.Context(), "a", 0)
		for range 3 {
			n := 0
			for _, err := range seq {
				require.NoError(t, err)
				if n++; n == 700 {
					break
				}
			}
		}
		s.fill("a", many, 1)
		n := 0
		for _, err := range seq {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, many+1, n, "a second run of the iterator is a new read")
	}},
	{"DataBelongsToTheCaller", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 3)
		for _, r := range s.read("a", 0) {
			clear(r.Data)
		}
		wantFilled(t, s.read("a", 0), "a", 1, 3)
	}},
	{"EndsWithTheContext", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, many)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		n := 0
		for _, err := range s.Read(ctx, "a", 0) {
			require.NoError(t, last, "it went on after an error")
			if n++; n == 2 {
				cancel()
			}
			last = err
		}
		require.ErrorIs(t, last, context.Canceled)
		require.Less(t, n, many)
	}},
	{"RebaseInTheMiddleTakesNothingFromTheViewUnnoticed", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, many)
		overtaken(t, s, func() { require.NoError(t, s.Rebase(t.Context(), "a", many-10, []byte("base"), nil)) })
		require.Len(t, s.read("a", 0), 11)
	}},
	{"RebaseOfWhatWasYieldedDoesNotDisturb", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, many)
		var got []persistence.Record
		for r, err := range s.Read(t.Context(), "a", 0) {
			require.NoError(t, err)
			if got = append(got, r); r.Seq == 600 {
				require.NoError(t, s.Rebase(t.Context(), "a", 300, []byte("base"), nil))
			}
		}
		wantFilled(t, got, "a", 1, many)
	}},
	{"DeleteInTheMiddleTakesNothingFromTheViewUnnoticed", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, many)
		overtaken(t, s, func() {
			require.NoError(t, s.Delete(t.Context(), "a", many))
			s.fill("a", many, 5)
		})
		wantFilled(t, s.read("a", 0), "a", many+1, many+5)
	}},
}

// overtaken reads stream a, of many records, and calls f after the first one.
// Either Read yields the whole view that it began with, or it says ErrUnavailable
// after a part of it without gaps.
func overtaken(t *testing.T, s *subject, f func()) {
	t.Helper()
	var got []persistence.Record
	for r, err := range s.Read(t.Context(), "a", 0) {
		if err != nil {
			require.ErrorIs(t, err, persistence.ErrUnavailable)
			wantFilled(t, got, "a", 1, uint64(len(got)))
			return
		}
		if got = append(got, r); r.Seq == 1 {
			f()
		}
	}
	wantFilled(t, got, "a", 1, many)
}
