package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// sample makes a closed journal with some of everything and returns its path: of
// 60 streams with 9 records, each fifth from stream1 on is rebased at 4, and each
// fifth from stream2 on is deleted.
func sample(t testing.TB) string {
	t.Helper()
	path := newPath(t)
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() { fillSample(t, s, i) })
	}
	wg.Wait()
	require.NoError(t, s.Close())
	return path
}

func fillSample(t testing.TB, s *Store, i int) {
	name := fmt.Sprint("stream", i)
	records := make([]persistence.Record, 8)
	for i := range records {
		records[i].Data = payload
	}
	for _, a := range []persistence.Append{
		{Stream: name, Records: records},
		{Stream: name, Expected: 8, Wake: persistence.Wake(i), Records: []persistence.Record{{Data: bytes.Repeat(payload, i)}},
			Blobs: []persistence.Blob{{Key: "k", Data: payload}}},
	} {
		answer := make(chan error, 1)
		s.Append(a, func(err error) { answer <- err })
		assert.NoError(t, <-answer)
	}
	assert.NoError(t, s.SaveSnapshot(t.Context(), name, persistence.Snapshot{Seq: 3, Data: payload}))
	switch i % 5 {
	case 1:
		assert.NoError(t, s.Rebase(t.Context(), name, 4, payload, []string{"k"}))
	case 2:
		assert.NoError(t, s.Delete(t.Context(), name, 9))
	}
}

func TestOpenRefusesWhatIsNoJournalAndLeavesItAlone(t *testing.T) {
	whole, err := os.ReadFile(sample(t))
	require.NoError(t, err)
	h, err := readHeader(bytes.NewReader(whole), int64(len(whole)))
	require.NoError(t, err)
	used := int(h.pages) * int(h.pageSize)

	other := filepath.Join(t.TempDir(), "other")
	edit(t, other, func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("users")); return err })
	foreign, err := os.ReadFile(other)
	require.NoError(t, err)

	newer := sample(t)
	edit(t, newer, func(tx *bbolt.Tx) error {
		version := binary.BigEndian.AppendUint32(nil, formatVersion+1)
		return tx.Bucket(metaBucket).Put(formatKey, new(arena).seal(formatKey, formatMagic, version))
	})
	future, err := os.ReadFile(newer)
	require.NoError(t, err)

	headless := bytes.Clone(whole)
	headless[pageHeader+20] ^= 1
	headless[int(h.pageSize)+pageHeader+20] ^= 1
	zeroes := bytes.Clone(whole)
	clear(zeroes[h.pageSize*2 : used])

	for _, c := range []struct {
		name    string
		content []byte
		text    string
	}{
		{"empty", nil, "empty"},
		{"short", []byte("hello"), "5 bytes"},
		{"text", bytes.Repeat([]byte("All work and no play. "), 1000), "not a journal"},
		{"only zeroes", make([]byte, 1<<20), "not a journal"},
		{"cut in the first page", whole[:3000], "truncated"},
		{"cut in the middle", whole[:used/2], "truncated"},
		{"one byte short", whole[:used-1], "truncated"},
		{"another program's", foreign, "not a Holdfast journal"},
		{"newer format", future, "format 2"},
		{"both headers damaged", headless, "headers are damaged"},
		{"pages zeroed", zeroes, "page"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			require.NoError(t, os.WriteFile(path, c.content, 0o600))
			before, err := os.Stat(path)
			require.NoError(t, err)
			_, err = Open(Config{Path: path})
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, path)
			_, _, err = Compact(t.Context(), path)
			require.ErrorContains(t, err, c.text)
			now, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(c.content, now), "the file was changed")
			after, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, before.ModTime(), after.ModTime())
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			require.Len(t, entries, 1, "something was left beside the file")
		})
	}
}

func TestOpenUsesTheOtherHeaderIfOneIsTorn(t *testing.T) {
	path := sample(t)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	h, err := readHeader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	for _, at := range []int64{0, h.pageSize} {
		torn := bytes.Clone(content)
		clear(torn[at+pageHeader+32 : at+512])
		require.NoError(t, os.WriteFile(path, torn, 0o600))
		s, err := Open(Config{Path: path})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
}

// A changed byte anywhere may make Open refuse the file, or be found by Check, or
// be in a place that nobody reads; it must not panic, hang, or come back as data.
func TestAnyDamageIsAnError(t *testing.T) {
	content, err := os.ReadFile(sample(t))
	require.NoError(t, err)
	h, err := readHeader(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "journal.db")
	found := 0
	tries := 200
	if testing.Short() {
		tries = 40
	}
	for range tries {
		at := random.Int64N(int64(h.pages) * h.pageSize)
		if random.IntN(2) == 0 { // the beginnings of pages hold their structure
			at = random.Int64N(int64(h.pages))*h.pageSize + random.Int64N(256)
		}
		damaged := bytes.Clone(content)
		damaged[at] ^= 1 << random.IntN(8)
		// The pages behind those in use are a hole.
		require.NoError(t, os.WriteFile(path, damaged[:h.pages*uint64(h.pageSize)], 0o600))
		require.NoError(t, os.Truncate(path, int64(len(damaged))))
		if !soundOrRefused(t, path) {
			found++
		}
	}
	t.Logf("%d of %d changes were found", found, tries)
	require.Greater(t, found, tries/4)
}

// soundOrRefused reports whether the journal opens and checks clean. If it does,
// what it holds is what sample wrote.
func soundOrRefused(t *testing.T, path string) bool {
	s, err := Open(Config{Path: path})
	if err != nil {
		require.ErrorContains(t, err, path)
		return false
	}
	defer func() { require.NoError(t, s.Close()) }()
	for fault := range s.Check(t.Context()) {
		require.Error(t, fault)
		return false
	}
	for i := range 60 {
		for r, err := range s.Read(t.Context(), fmt.Sprint("stream", i), 0) {
			require.NoError(t, err, "Check has found nothing")
			if r.Seq <= 8 {
				require.True(t, bytes.Equal(payload, r.Data))
			}
		}
	}
	return true
}

func TestSecondStoreOnTheFileIsRefusedPromptly(t *testing.T) {
	path := newPath(t)
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	began := time.Now()
	_, err = Open(Config{Path: path})
	require.ErrorIs(t, err, persistence.ErrInUse)
	require.ErrorContains(t, err, path)
	require.Less(t, time.Since(began), 5*time.Second)
	_, _, err = Compact(t.Context(), path)
	require.ErrorIs(t, err, persistence.ErrInUse)
	require.NoError(t, put(s, "a", 0), "the first store was disturbed")
	require.NoError(t, s.Close())
	s, err = Open(Config{Path: path})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestLeftoversOfACrashWhileCreatingDoNotMatter(t *testing.T) {
	path := newPath(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path+".new", make([]byte, 12345), 0o600))
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoFileExists(t, path+".new")
}

func TestUnusablePathsAreToldWithThePath(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(Config{Path: dir})
	require.ErrorContains(t, err, dir)
	blocked := filepath.Join(dir, "file", "journal.db")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, err = Open(Config{Path: blocked})
	require.ErrorContains(t, err, blocked)
	_, err = Open(Config{})
	require.ErrorIs(t, err, persistence.ErrInvalid)
}
