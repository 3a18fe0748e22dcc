//go:build unix && !solaris && !aix

package bolt

import (
	"errors"
	"os"
	"syscall"
)

// lock takes bbolt's own lock on f, before bbolt does: the file is looked at first,
// and nobody may write meanwhile. bbolt gets this same f, for which the lock counts.
func lock(f *os.File) (inUse bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// unlock lets go of the file though a map of it may remain.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
