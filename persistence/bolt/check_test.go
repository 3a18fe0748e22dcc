package bolt

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// faultsAfter breaks a copy of a sample with f and returns what Check says.
func faultsAfter(t *testing.T, f func(g *group) error) []error {
	t.Helper()
	path := sample(t)
	edit(t, path, func(tx *bbolt.Tx) error { return f(new(layout).begin(tx)) })
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var faults []error
	for fault := range s.Check(t.Context()) {
		require.ErrorIs(t, fault, persistence.ErrCorrupt)
		faults = append(faults, fault)
	}
	return faults
}

// change stores the head of stream0 (records 1 to 9) as f leaves it.
func change(g *group, f func(*head)) error {
	h, err := g.head("stream0")
	if err != nil {
		return err
	}
	f(&h)
	return g.put(g.heads, []byte("stream0"), h.encode())
}

func TestCheckFindsEachBrokenInvariant(t *testing.T) {
	id := func(g *group, name string) uint64 {
		h, err := g.head(name)
		require.NoError(t, err)
		return h.id
	}
	for _, c := range []struct {
		text  string // of the one fault
		spoil func(g *group) error
	}{
		{`"stream3": records from 5 to 5 are missing`, func(g *group) error { return g.records.Delete(pairKey(id(g, "stream3"), 5)) }},
		{`"stream3": records from 9 to 9 are missing`, func(g *group) error { return g.records.Delete(pairKey(id(g, "stream3"), 9)) }},
		{`"stream3", record 2: journal: stored data is damaged: checksum`, func(g *group) error {
			return g.records.Put(pairKey(id(g, "stream3"), 2), new(arena).seal([]byte("another key"), []byte{0, 'x'}))
		}},
		{`"stream3", record 2: journal: stored data is damaged: value has 3 bytes`, func(g *group) error {
			return g.records.Put(pairKey(id(g, "stream3"), 2), []byte("abc"))
		}},
		{`"stream3": record 10 is outside of 1 to 9`, func(g *group) error {
			return g.put(g.records, pairKey(id(g, "stream3"), 10), []byte{0})
		}},
		{`"stream2": record 4 is outside of 10 to 9`, func(g *group) error { // deleted
			return g.put(g.records, pairKey(id(g, "stream2"), 4), []byte{0})
		}},
		{`"stream1": record 4 says base false, base is 4`, func(g *group) error {
			return g.put(g.records, pairKey(id(g, "stream1"), 4), []byte{0}, payload)
		}},
		{`records: stream id 9999 belongs to no stream`, func(g *group) error {
			if err := g.put(g.records, pairKey(9999, 1), []byte{0}); err != nil {
				return err
			}
			return g.put(g.records, pairKey(9999, 2), []byte{0})
		}},
		{`"stream0": records from 10 to 10 are missing`, func(g *group) error { return change(g, func(h *head) { h.Head++ }) }},
		{`"stream0": base is 3, first record is 1`, func(g *group) error { return change(g, func(h *head) { h.Base = 3 }) }},
		{`"stream0": wake 77 is not in the index`, func(g *group) error { return change(g, func(h *head) { h.Wake = 77 }) }},
		{`"stream0": head: journal: stored data is damaged: checksum`, func(g *group) error {
			value := bytes.Clone(g.heads.Get([]byte("stream0")))
			value[20] ^= 1
			return g.heads.Put([]byte("stream0"), value)
		}},
		{`have one id`, func(g *group) error { return change(g, func(h *head) { h.id = id(g, "stream9") }) }},
		{`"stream4": the index of due streams says "stream4" at 5, its wake is 4`, func(g *group) error {
			return g.put(g.due, pairKey(5, id(g, "stream4")), []byte("stream4"))
		}},
		{`"stream4": wake 4 is not in the index`, func(g *group) error { return g.due.Delete(pairKey(4, id(g, "stream4"))) }},
		{`"stream2": is deleted, but has blob "x"`, func(g *group) error {
			return g.put(g.blobs, blobKey(id(g, "stream2"), "x"), payload)
		}},
		{`blobs: stream id 9999 belongs to no stream`, func(g *group) error { return g.put(g.blobs, blobKey(9999, "x"), payload) }},
		{`"stream3": blob "k": journal: stored data is damaged`, func(g *group) error {
			return g.blobs.Put(blobKey(id(g, "stream3"), "k"), []byte("12345678"))
		}},
		{`"stream2": is deleted, but has a snapshot`, func(g *group) error {
			return g.put(g.snaps, idKey(id(g, "stream2")), idKey(1))
		}},
		{`"stream3": snapshot of 10, head is 9`, func(g *group) error {
			return g.put(g.snaps, idKey(id(g, "stream3")), idKey(10))
		}},
	} {
		t.Run(c.text, func(t *testing.T) {
			faults := faultsAfter(t, c.spoil)
			require.NotEmpty(t, faults, "Check has found nothing")
			require.ErrorContains(t, faults[0], c.text)
		})
	}
	require.Empty(t, faultsAfter(t, func(*group) error { return nil }))
}

func TestACorruptHeadStopsOnlyItsStream(t *testing.T) {
	path := sample(t)
	edit(t, path, func(tx *bbolt.Tx) error {
		return tx.Bucket(headsBucket).Put([]byte("stream5"), []byte("nonsense"))
	})
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	err = put(s, "stream5", 9)
	require.ErrorIs(t, err, persistence.ErrCorrupt)
	require.ErrorContains(t, err, "stream5")
	require.NoError(t, put(s, "stream6", 9))
	require.NoError(t, s.Health())
}

func TestCompactGivesSpaceBackAndKeepsEverything(t *testing.T) {
	path := newPath(t)
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	const size = 8 << 20
	for _, name := range []string{"gone", "kept"} {
		answer := make(chan error, 1)
		s.Append(persistence.Append{Stream: name, Wake: 5, Records: []persistence.Record{{Data: payload}},
			Blobs: []persistence.Blob{{Key: "k", Data: bytes.Repeat([]byte(name), size/4)}}}, func(err error) { answer <- err })
		require.NoError(t, <-answer)
	}
	require.NoError(t, s.Delete(t.Context(), "gone", 1))
	require.NoError(t, s.Close())

	before, after, err := Compact(t.Context(), path)
	require.NoError(t, err)
	require.Less(t, after, before)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(content), "gonegone", "what was deleted is still in the file")
	require.Contains(t, string(content), "keptkept")

	s, err = Open(Config{Path: path})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for fault := range s.Check(t.Context()) {
		t.Error(fault)
	}
	infos, err := s.List(t.Context(), "", "", 10)
	require.NoError(t, err)
	require.Len(t, infos, 2)
	blob, err := s.Blob(t.Context(), "kept", "k")
	require.NoError(t, err)
	require.True(t, bytes.Equal(bytes.Repeat([]byte("kept"), size/4), blob))
	require.ErrorIs(t, put(s, "gone", 0), persistence.ErrConflict, "the tombstone has kept the head")
	require.NoError(t, put(s, "gone", 1))
	require.NoError(t, put(s, "new", 0), "ids go on")
}
