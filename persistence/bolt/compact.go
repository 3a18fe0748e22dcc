package bolt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	bbolt "go.etcd.io/bbolt"
)

// compactBytes is the size of Compact's transactions.
const compactBytes = 16 << 20

// Compact writes the journal at path anew, without the space and the bytes of what
// was deleted, and puts the new file in the place of the old one. It returns the
// sizes in bytes before and after. No store may be open on path
// (persistence.ErrInUse). The old file is not written to, and stays if anything
// fails. For a moment both need space.
func Compact(ctx context.Context, path string) (before, after int64, err error) {
	if _, err := os.Stat(path); err != nil {
		return 0, 0, fmt.Errorf("journal %s: %w", path, err)
	}
	old, err := openFile(path, false)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = old.close() }()
	before, err = sizeOf(path)
	if err != nil {
		return 0, 0, err
	}
	target := path + ".compact"
	if err := compactTo(ctx, target, old.db); err != nil {
		_ = os.Remove(target)
		return 0, 0, fmt.Errorf("journal %s: compact: %w", path, err)
	}
	after, err = sizeOf(target)
	if err != nil {
		return 0, 0, err
	}
	// The old file is still locked, so nobody has begun to write to it.
	if err := os.Rename(target, path); err != nil {
		return 0, 0, err
	}
	return before, after, syncDir(filepath.Dir(path))
}

func compactTo(ctx context.Context, target string, old *bbolt.DB) error {
	f, err := os.OpenFile(target, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	db, err := openBbolt(f)
	if err != nil {
		_ = f.Close()
		return err
	}
	defer func() { _ = db.Close() }()
	db.NoSync = true // one sync at the end will do
	if err := guard(func() error { return bbolt.Compact(db, old, compactBytes) }); err != nil {
		return err
	}
	c := checker{ctx: ctx}
	if err := guard(func() error { return db.View(c.check) }); err != nil {
		return err
	}
	if len(c.faults) > 0 {
		return fmt.Errorf("the journal is damaged, %d faults: %w", len(c.faults), c.faults[0])
	}
	return f.Sync()
}

func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
