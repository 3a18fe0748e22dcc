package persistencetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var deleteTests = []test{
	{"TakesEverythingButTheHead", func(t *testing.T, h Harness) {
		s := open(t, h)
		last := s.full("a")
		require.NoError(t, s.Delete(t.Context(), "a", 3))
		s.wantTombstone("a", 3, last)
		s.sound()
	}},
	{"OnlyAtTheExpectedHead", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.full("a")
		for _, expected := range []uint64{0, 2, 4} {
			require.ErrorIs(t, s.Delete(t.Context(), "a", expected), persistence.ErrConflict)
		}
		require.Len(t, s.read("a", 0), 3)
		s.wantBlobs("a", map[string]string{"k": "v"})
	}},
	{"TwiceIsNoError", func(t *testing.T, h Harness) {
		s := open(t, h)
		last := s.full("a")
		for range 3 {
			require.NoError(t, s.Delete(t.Context(), "a", 3))
		}
		s.wantTombstone("a", 3, last)
	}},
	{"OfAStreamThatNeverWasLeavesNothing", func(t *testing.T, h Harness) {
		s := open(t, h)
		require.NoError(t, s.Delete(t.Context(), "none", 0))
		require.ErrorIs(t, s.Delete(t.Context(), "none", 1), persistence.ErrConflict)
		infos, err := s.List(t.Context(), "", "", 10)
		require.NoError(t, err)
		require.Empty(t, infos)
	}},
	{"LeavesTheNeighbours", func(t *testing.T, h Harness) {
		s := open(t, h)
		for _, name := range []string{"a", "b", "c"} {
			s.full(name)
		}
		require.NoError(t, s.Delete(t.Context(), "b", 3))
		for _, name := range []string{"a", "c"} {
			require.Len(t, s.read(name, 0), 3)
			s.wantBlobs(name, map[string]string{"k": "v"})
		}
		require.Equal(t, []string{"a", "c"}, names(s.due(1<<62)))
		s.sound()
	}},
	{"TheNextWriterGoesOnAboveTheHead", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.full("a")
		require.NoError(t, s.Delete(t.Context(), "a", 3))
		require.ErrorIs(t, s.put(one("a", 0, "zombie")), persistence.ErrConflict)
		a := one("a", 3, "again")
		require.NoError(t, s.put(a))
		require.Equal(t, []persistence.Record{{Seq: 4, Data: []byte("again")}}, s.read("a", 0))
		require.Equal(t, persistence.Info{Stream: "a", Head: 4, Last: a.Batch}, s.info("a"))
		s.wantBlobs("a", nil, "k")
		_, ok, err := s.LoadSnapshot(t.Context(), "a")
		require.NoError(t, err)
		require.False(t, ok, "the snapshot of the deleted stream is back")
		require.NoError(t, s.Delete(t.Context(), "a", 4))
		s.wantTombstone("a", 4, a.Batch)
		s.sound()
	}},
	{"OfARebasedStream", func(t *testing.T, h Harness) {
		s := open(t, h)
		last := s.full("a")
		require.NoError(t, s.Rebase(t.Context(), "a", 2, []byte("base"), []string{"k"}))
		require.NoError(t, s.Delete(t.Context(), "a", 3))
		s.wantTombstone("a", 3, last)
		s.sound()
	}},
	{"OfALongStream", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("before", 0, 300)
		s.fill("a", 0, 5000)
		s.fill("behind", 0, 300)
		require.NoError(t, s.Delete(t.Context(), "a", 5000))
		require.Empty(t, s.read("a", 0))
		wantFilled(t, s.read("before", 0), "before", 1, 300)
		wantFilled(t, s.read("behind", 0), "behind", 1, 300)
		s.sound()
	}},
	{"SurvivesReopenAndCrash", func(t *testing.T, h Harness) {
		s := open(t, h)
		last := s.full("a")
		require.NoError(t, s.Delete(t.Context(), "a", 3))
		if h.Crash != nil {
			s.crash()
			s.wantTombstone("a", 3, last)
		}
		if h.Reopen != nil {
			s.reopen()
			s.wantTombstone("a", 3, last)
		}
		s.fill("a", 3, 1)
	}},
}

// full makes a stream with head 3, a wake, a blob k and a snapshot.
func (s *subject) full(stream string) persistence.Batch {
	s.t.Helper()
	head := s.fill(stream, 0, 2)
	a := one(stream, head, "x")
	a.Wake, a.Blobs = 50, []persistence.Blob{{Key: "k", Data: []byte("v")}}
	require.NoError(s.t, s.put(a))
	require.NoError(s.t, s.SaveSnapshot(s.t.Context(), stream, persistence.Snapshot{Seq: 3, Data: []byte("snap")}))
	return a.Batch
}

// wantTombstone checks that nothing is left of a stream that full has made.
func (s *subject) wantTombstone(stream string, head uint64, last persistence.Batch) {
	s.t.Helper()
	want := persistence.Info{Stream: stream, Head: head, Last: last, Deleted: true}
	require.Equal(s.t, want, s.info(stream))
	require.Empty(s.t, s.read(stream, 0))
	require.Empty(s.t, s.due(1<<62))
	s.wantBlobs(stream, nil, "k")
	_, ok, err := s.LoadSnapshot(s.t.Context(), stream)
	require.NoError(s.t, err)
	require.False(s.t, ok)
	infos, err := s.List(s.t.Context(), "", "", 10)
	require.NoError(s.t, err)
	require.Equal(s.t, []persistence.Info{want}, infos)
}
