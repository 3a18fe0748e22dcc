package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"time"

	bbolt "go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/holdfast-dev/holdfast/persistence"
)

const (
	// lockTimeout is how long bbolt tries to lock a file that another process has.
	lockTimeout = 100 * time.Millisecond
	// prefetchBytes is the most that is read ahead when a file is opened.
	prefetchBytes = 8 << 30
	// mapBytes is the least address space of the memory map. A file that outgrows
	// the map must wait for all readers while it is mapped anew.
	mapBytes = 1 << 30
	// closeTimeout is how long a failed bbolt gets to close.
	closeTimeout = 5 * time.Second
)

// A file is an open journal file.
type file struct {
	db   *bbolt.DB
	os   *os.File // the one that db uses
	path string
}

// openFile opens the journal at path, and makes it if nothing is there. resync
// writes bbolt's headers again, see settle. All errors name the path.
func openFile(path string, resync bool) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) && !resync {
		if err = createFile(path); err == nil {
			f, err = os.OpenFile(path, os.O_RDWR, 0)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	db, err := attach(f, resync)
	if err != nil {
		unlock(f)
		_ = f.Close() // perhaps for the second time, which is harmless
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return &file{db: db, os: f, path: path}, nil
}

// attach verifies f and lets bbolt open it.
func attach(f *os.File, resync bool) (*bbolt.DB, error) {
	if inUse, err := lock(f); inUse || err != nil {
		return nil, lockError(inUse, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	h, err := readHeader(f, info.Size())
	if err != nil {
		return nil, err
	}
	if err := prefetch(f, int64(h.pages)*h.pageSize); err != nil {
		return nil, err
	}
	if err := walkPages(f, h); err != nil {
		return nil, err
	}
	db, err := openBbolt(f)
	if err != nil {
		return nil, err
	}
	if err := guard(func() error { return db.View(verifyLayout) }); err != nil {
		_ = db.Close()
		return nil, err
	}
	if err := settle(f, h, resync); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func lockError(inUse bool, err error) error {
	if inUse {
		return persistence.ErrInUse
	}
	return fmt.Errorf("cannot lock the file: %w", err)
}

// settle sees to it that what is read from f is on the disk. A process that was
// killed during a commit leaves headers in the page cache that were never synced;
// if a sync has failed, the kernel takes the pages for clean, and only writing
// them again makes the next sync mean anything. The pages below a header are
// synced before it is written, so the two headers are all that can be in doubt.
func settle(f *os.File, h header, resync bool) error {
	if resync {
		for _, at := range []int64{0, h.pageSize} {
			page := make([]byte, h.pageSize)
			if _, err := f.ReadAt(page, at); err != nil {
				return err
			}
			if _, err := f.WriteAt(page, at); err != nil {
				return err
			}
		}
	}
	return f.Sync()
}

func openBbolt(f *os.File) (db *bbolt.DB, err error) {
	options := &bbolt.Options{
		Timeout:        lockTimeout,
		NoFreelistSync: true,
		FreelistType:   bbolt.FreelistMapType,
		OpenFile:       func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		NoStatistics:   true,
	}
	// On Windows the file would be made as large as the map; 32 bits have no room.
	if runtime.GOOS != "windows" && bits.UintSize == 64 {
		options.InitialMmapSize = mapBytes
		if info, err := f.Stat(); err == nil {
			options.InitialMmapSize = max(mapBytes, 2*int(info.Size()))
		}
	}
	err = guard(func() error {
		db, err = bbolt.Open(f.Name(), 0o600, options)
		return err
	})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, persistence.ErrInUse
	}
	return db, err
}

// createFile makes an empty journal at path, complete or not at all.
func createFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if inUse, err := lock(f); inUse || err != nil {
		return lockError(inUse, err)
	}
	// Another process may have made the journal while this one came here.
	if _, err := os.Stat(path); err == nil {
		return os.Remove(f.Name())
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	db, err := openBbolt(f)
	if err != nil {
		return err
	}
	if err := db.Update(createLayout); err != nil {
		_ = db.Close()
		return err
	}
	// Renamed while locked, so that whoever opens it meets a complete file.
	if err := os.Rename(f.Name(), path); err != nil {
		_ = db.Close()
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the names in dir durable, where the system can do that.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}

// prefetch reads f from front to back, so that bbolt's scattered reads find it in
// the page cache.
func prefetch(f *os.File, n int64) error {
	buf := make([]byte, 1<<20)
	for at := int64(0); at < min(n, prefetchBytes); at += int64(len(buf)) {
		if _, err := f.ReadAt(buf[:min(int64(len(buf)), n-at)], at); err != nil {
			return fmt.Errorf("it cannot be read at byte %d: %w", at, err)
		}
	}
	return nil
}

// close releases the file. A bbolt that has failed may hold its own locks for
// ever; then it is left behind, without the lock on the file.
func (f *file) close() error {
	done := make(chan error, 1)
	go func() { done <- guard(f.db.Close) }()
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case err := <-done:
		return err
	case <-timeout.C:
		unlock(f.os)
		_ = f.os.Close()
		return fmt.Errorf("journal %s: could not be closed within %s", f.path, closeTimeout)
	}
}
