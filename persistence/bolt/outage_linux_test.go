package bolt

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// A full disk is the outage that operators will really see.
func TestAFullDiskSuspendsTheStoreUntilThereIsSpace(t *testing.T) {
	path := newPath(t)
	s, err := Open(Config{Path: path, retryFirst: time.Millisecond, retryMost: time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, put(s, "a", 0))

	// Writes to the store's descriptor now meet /dev/full; the path is as before.
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	require.NoError(t, err)
	defer full.Close()
	require.NoError(t, s.call(t.Context(), op{alone: func(*bbolt.DB) error {
		return syscall.Dup3(int(full.Fd()), int(s.file.os.Fd()), syscall.O_CLOEXEC)
	}}))
	err = put(s, "a", 1)
	require.ErrorIs(t, err, persistence.ErrUnknown)
	require.ErrorIs(t, err, syscall.ENOSPC)

	waitHealthy(t, s)
	_, found, err := s.Find(t.Context(), "a", persistence.Batch{Incarnation: 1, N: 2})
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, put(s, "a", 1))
	for fault := range s.Check(t.Context()) {
		t.Error(fault)
	}
}

func TestAFileCutOffUnderTheStoreIsAnErrorNotAFault(t *testing.T) {
	path := newPath(t)
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	for head := range uint64(50) {
		require.NoError(t, <-start(s, "a", head, make([]byte, 20_000)))
	}
	require.NoError(t, os.Truncate(path, 3*4096))
	var last error
	for _, last = range s.Read(t.Context(), "a", 0) {
	}
	require.ErrorIs(t, last, persistence.ErrUnavailable)
}
