package bolt

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bbolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/persistencetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(killedPath); path != "" {
		appendUntilKilled(path)
		return
	}
	goleak.VerifyTestMain(m)
}

var errBroken = errors.New("input/output error")

// A rig is a store whose disk can be made to fail.
type rig struct {
	*Store
	mu sync.Mutex
	// before and after are the errors of coming commits, in front of the disk
	// and behind it; guarded by mu.
	before, after []error
	gone          bool // nothing can be written or opened; guarded by mu
}

func openRig(t testing.TB, path string) *rig {
	t.Helper()
	r := &rig{}
	s, err := Open(Config{
		Path: path, commit: r.commit, open: r.open,
		retryFirst: 100 * time.Microsecond, retryMost: time.Millisecond,
	})
	require.NoError(t, err)
	r.Store = s
	t.Cleanup(func() { _ = s.Close() })
	return r
}

func (r *rig) commit(tx *bbolt.Tx) error {
	if err := r.next(&r.before); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return r.next(&r.after)
}

func (r *rig) next(errs *[]error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return errBroken
	}
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func (r *rig) open(path string, resync bool) (*file, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return nil, errBroken
	}
	return openFile(path, resync)
}

func (r *rig) set(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// copyNow copies the file as it is between two commits.
func copyNow(t testing.TB, s *Store) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, s.call(t.Context(), op{alone: func(*bbolt.DB) error { return copyFile(path, s.config.Path) }}))
	return path
}

// copyFile copies the pages in use; the rest of the file is a hole, as in the original.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	h, err := readHeader(in, info.Size())
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.CopyN(out, in, int64(h.pages)*h.pageSize); err != nil {
		return err
	}
	return out.Truncate(info.Size())
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "data", "journal.db") }

func TestStore(t *testing.T) {
	persistencetest.Run(t, persistencetest.Harness{
		Open: func(t testing.TB) persistence.Store { return openRig(t, newPath(t)) },
		Reopen: func(t testing.TB, s persistence.Store) persistence.Store {
			require.NoError(t, s.Close())
			return openRig(t, s.(*rig).config.Path)
		},
		Crash: func(t testing.TB, s persistence.Store) persistence.Store {
			path := copyNow(t, s.(*rig).Store)
			require.NoError(t, s.Close())
			return openRig(t, path)
		},
		LoseAck: func(_ testing.TB, s persistence.Store) {
			r := s.(*rig)
			r.set(func() { r.after = []error{errBroken} })
		},
		LoseAppend: func(_ testing.TB, s persistence.Store) {
			r := s.(*rig)
			r.set(func() { r.before = []error{errBroken} })
		},
		Break: func(_ testing.TB, s persistence.Store) func() {
			r := s.(*rig)
			r.set(func() { r.gone = true })
			return func() { r.set(func() { r.gone = false }) }
		},
		Damage: func(t testing.TB, s persistence.Store, stream string, seq uint64) persistence.Store {
			path := s.(*rig).config.Path
			require.NoError(t, s.Close())
			edit(t, path, func(tx *bbolt.Tx) error {
				h, err := lookUp(tx.Bucket(headsBucket), stream)
				require.NoError(t, err)
				key := pairKey(h.id, seq)
				value := append([]byte(nil), tx.Bucket(recordsBucket).Get(key)...)
				value[len(value)-1] ^= 0x10
				return tx.Bucket(recordsBucket).Put(key, value)
			})
			return openRig(t, path)
		},
		KeepsSnapshots: true,
	})
}

// edit changes a journal file behind the store's back.
func edit(t testing.TB, path string, f func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, Timeout: time.Second})
	require.NoError(t, err)
	require.NoError(t, db.Update(f))
	require.NoError(t, db.Close())
}

// waitHealthy returns when the store serves again, which it tells nobody.
func waitHealthy(t *testing.T, s *Store) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for s.Health() != nil {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("still down: %v", s.Health())
		}
	}
}
