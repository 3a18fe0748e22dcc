package bolt

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/holdfast-dev/holdfast/persistence"
)

// guard calls f, which uses bbolt, and turns what bbolt does with damaged files
// into errors: its panics into ErrCorrupt, and faults in the memory map (the disk
// could not deliver a page, or the file has been cut off) into ErrUnavailable.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = fmt.Errorf("%w: the file could not be read: %v", persistence.ErrUnavailable, p)
		default:
			err = fmt.Errorf("%w: %v", persistence.ErrCorrupt, p)
		}
	}()
	return f()
}
