package persistencetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var rebaseTests = []test{
	{"BaseTakesThePlaceOfTheRecordsUpToIt", func(t *testing.T, h Harness) {
		s := open(t, h)
		a := one("a", 0, "")
		a.Wake, a.Batch = 42, persistence.Batch{Incarnation: 3, N: 8}
		a.Records = []persistence.Record{{Data: []byte("1")}, {Class: persistence.Streamed, Data: []byte("2")}, {Class: persistence.Streamed, Data: []byte("3")}}
		require.NoError(t, s.put(a))
		require.NoError(t, s.Rebase(t.Context(), "a", 2, []byte("base"), nil))
		want := []persistence.Record{{Seq: 2, Data: []byte("base")}, {Seq: 3, Class: persistence.Streamed, Data: []byte("3")}}
		for _, from := range []uint64{0, 1, 2} {
			require.Equal(t, want, s.read("a", from))
		}
		require.Equal(t, want[1:], s.read("a", 3))
		require.Equal(t, persistence.Info{Stream: "a", Head: 3, Base: 2, Last: a.Batch, Wake: 42}, s.info("a"))
		require.Len(t, s.due(42), 1)
		s.sound()
	}},
	{"AppendsGoOnAboveIt", func(t *testing.T, h Harness) {
		s := open(t, h)
		head := s.fill("a", 0, 4)
		require.NoError(t, s.Rebase(t.Context(), "a", head, []byte("base"), nil))
		head = s.fill("a", head, 2)
		got := s.read("a", 0)
		require.Equal(t, persistence.Record{Seq: 4, Data: []byte("base")}, got[0])
		wantFilled(t, got[1:], "a", 5, head)
	}},
	{"AgainAtTheSamePlaceReplacesTheBase", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 4)
		for _, base := range []string{"first", "second", ""} {
			require.NoError(t, s.Rebase(t.Context(), "a", 3, []byte(base), nil))
			got := s.read("a", 0)
			require.EqualValues(t, 3, got[0].Seq)
			require.Equal(t, base, string(got[0].Data))
			wantFilled(t, got[1:], "a", 4, 4)
		}
		s.sound()
	}},
	{"MovesUpButNotDown", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 900)
		for _, upto := range []uint64{300, 301, 900} {
			require.NoError(t, s.Rebase(t.Context(), "a", upto, []byte("base"), nil))
			require.Equal(t, upto, s.info("a").Base)
			require.Len(t, s.read("a", 0), int(901-upto))
		}
		require.ErrorIs(t, s.Rebase(t.Context(), "a", 899, []byte("no"), nil), persistence.ErrConflict)
		require.Equal(t, []persistence.Record{{Seq: 900, Data: []byte("base")}}, s.read("a", 0))
	}},
	{"WhereThereIsNoSuchRecordIsAConflict", func(t *testing.T, h Harness) {
		s := open(t, h)
		require.ErrorIs(t, s.Rebase(t.Context(), "none", 1, nil, nil), persistence.ErrConflict)
		s.fill("a", 0, 3)
		require.ErrorIs(t, s.Rebase(t.Context(), "a", 4, nil, nil), persistence.ErrConflict)
		wantFilled(t, s.read("a", 0), "a", 1, 3)
		require.NoError(t, s.Delete(t.Context(), "a", 3))
		require.ErrorIs(t, s.Rebase(t.Context(), "a", 3, nil, nil), persistence.ErrConflict)
		s.fill("a", 3, 2)
		require.ErrorIs(t, s.Rebase(t.Context(), "a", 3, nil, nil), persistence.ErrConflict)
		require.NoError(t, s.Rebase(t.Context(), "a", 4, []byte("base"), nil))
		s.sound()
	}},
	{"DropsTheBlobsThatAreNotKept", func(t *testing.T, h Harness) {
		s := open(t, h)
		for _, stream := range []string{"a", "b"} {
			a := one(stream, 0, "x")
			for _, key := range []string{"k", "k1", "k2", "z"} {
				a.Blobs = append(a.Blobs, persistence.Blob{Key: key, Data: []byte(stream + key)})
			}
			require.NoError(t, s.put(a))
		}
		require.NoError(t, s.Rebase(t.Context(), "a", 1, nil, []string{"k1", "never", "z"}))
		s.wantBlobs("a", map[string]string{"k1": "ak1", "z": "az"}, "k", "k2")
		s.wantBlobs("b", map[string]string{"k": "bk", "k1": "bk1", "k2": "bk2", "z": "bz"})
		s.sound()
	}},
	{"BelowTheHeadDropsNoBlob", func(t *testing.T, h Harness) {
		s := open(t, h)
		a := one("a", 0, "x")
		a.Blobs = []persistence.Blob{{Key: "old", Data: []byte("1")}}
		require.NoError(t, s.put(a))
		b := one("a", 1, "y")
		b.Blobs = []persistence.Blob{{Key: "new", Data: []byte("2")}}
		require.NoError(t, s.put(b))
		require.NoError(t, s.Rebase(t.Context(), "a", 1, nil, nil))
		s.wantBlobs("a", map[string]string{"old": "1", "new": "2"})
		require.NoError(t, s.Rebase(t.Context(), "a", 2, nil, []string{"new"}))
		s.wantBlobs("a", map[string]string{"new": "2"}, "old")
		s.sound()
	}},
	{"SurvivesReopenAndCrash", func(t *testing.T, h Harness) {
		s := open(t, h)
		s.fill("a", 0, 10)
		require.NoError(t, s.Rebase(t.Context(), "a", 5, []byte("base"), nil))
		check := func() {
			got := s.read("a", 0)
			require.Equal(t, persistence.Record{Seq: 5, Data: []byte("base")}, got[0])
			wantFilled(t, got[1:], "a", 6, 10)
			require.EqualValues(t, 5, s.info("a").Base)
		}
		if h.Crash != nil {
			s.crash()
			check()
		}
		if h.Reopen != nil {
			s.reopen()
			check()
		}
	}},
}

// wantBlobs checks that the stream has these blobs and none of the absent keys.
func (s *subject) wantBlobs(stream string, want map[string]string, absent ...string) {
	s.t.Helper()
	for key, data := range want {
		got, err := s.Blob(s.t.Context(), stream, key)
		require.NoError(s.t, err, "blob %q of %q", key, stream)
		require.Equal(s.t, data, string(got))
	}
	for _, key := range absent {
		_, err := s.Blob(s.t.Context(), stream, key)
		require.ErrorIs(s.t, err, persistence.ErrNotFound, "blob %q of %q", key, stream)
	}
}
