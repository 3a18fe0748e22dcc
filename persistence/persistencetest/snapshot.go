package persistencetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var snapshotTests = []test{
	{"TheNewestIsLoadedIfAny", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.wantSnapshot("a", nil)
		s.fill("a", 0, 3)
		s.wantSnapshot("a", nil)
		for _, snap := range []persistence.Snapshot{{Seq: 2, Data: []byte("two")}, {Seq: 3, Data: []byte("three")}, {Seq: 1, Data: []byte("one")}, {Seq: 0}} {
			require.NoError(t, s.SaveSnapshot(t.Context(), "a", snap))
			s.wantSnapshot("a", &snap)
		}
		s.sound()
	}},
	{"ALargeOneComesWhole", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 1)
		snap := persistence.Snapshot{Seq: 1, Data: bytes.Repeat([]byte("abcdefg"), 1<<20)}
		require.NoError(t, s.SaveSnapshot(t.Context(), "a", snap))
		s.wantSnapshot("a", &snap)
	}},
	{"OfNoStreamIsNotFound", func(t *testing.T, h Harness) {
		s := open(t, h)
		require.ErrorIs(t, s.SaveSnapshot(t.Context(), "a", persistence.Snapshot{}), persistence.ErrNotFound)
		s.fill("a", 0, 1)
		require.NoError(t, s.Delete(t.Context(), "a", 1))
		require.ErrorIs(t, s.SaveSnapshot(t.Context(), "a", persistence.Snapshot{Seq: 1}), persistence.ErrNotFound)
		s.wantSnapshot("a", nil)
	}},
	{"DataBelongsToWhoSavedAndWhoLoaded", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 1)
		data := []byte("abc")
		require.NoError(t, s.SaveSnapshot(t.Context(), "a", persistence.Snapshot{Seq: 1, Data: data}))
		clear(data)
		for range 2 {
			snap, ok, err := s.LoadSnapshot(t.Context(), "a")
			require.NoError(t, err)
			if ok {
				require.Equal(t, "abc", string(snap.Data))
				clear(snap.Data)
			}
		}
	}},
	{"DoesNotTouchTheStream", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.wake("a", 9)
		before := s.info("a")
		require.NoError(t, s.SaveSnapshot(t.Context(), "a", persistence.Snapshot{Seq: 1, Data: []byte("s")}))
		require.Equal(t, before, s.info("a"))
		require.Len(t, s.read("a", 0), 1)
	}},
}

// wantSnapshot checks for the snapshot; a store that may drop it may have none.
func (s *subject) wantSnapshot(stream string, want *persistence.Snapshot) {
	s.t.Helper()
	got, ok, err := s.LoadSnapshot(s.t.Context(), stream)
	require.NoError(s.t, err)
	if want == nil || ok || s.h.KeepsSnapshots {
		require.Equal(s.t, want != nil, ok)
	}
	if ok {
		require.Equal(s.t, want.Seq, got.Seq)
		require.True(s.t, bytes.Equal(want.Data, got.Data), "snapshot data")
	}
}
