package bolt

import (
	"context"
	"fmt"
	"iter"

	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// maxFaults is the most faults that one Check tells.
const maxFaults = 1000

// Check implements persistence.Store. It looks at bbolt's pages, at every value
// and at the invariants of the format, and at last lets bbolt check itself. It
// takes some seconds per GiB. Appends go on until bbolt's turn comes, which they
// must wait for (less than one second per GiB in the page cache), and the file
// grows by what is written meanwhile. It stops after 1,000 faults.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		var faults []error
		err := s.viewFile(ctx, func(f *file, tx *bbolt.Tx) error {
			// The pages of an open transaction are not written to, so they can be
			// read beside it.
			size := int64(f.db.Info().PageSize)
			h := header{pageSize: size, root: uint64(tx.Cursor().Bucket().Root()), pages: uint64(tx.Size() / size)}
			if err := walkPages(f.os, h); err != nil {
				return err
			}
			c := checker{ctx: ctx}
			err := c.check(tx)
			faults = c.faults
			return err
		})
		if err == nil && len(faults) == 0 {
			err = s.call(ctx, op{alone: func(db *bbolt.DB) error {
				faults = checkBbolt(db)
				return nil
			}})
		}
		for _, fault := range faults {
			if !yield(fault) {
				return
			}
		}
		if err != nil {
			yield(err)
		}
	}
}

// checkBbolt runs bbolt's own check. No write transaction may be open: the
// freelist, which it reads, belongs to the writer.
func checkBbolt(db *bbolt.DB) []error {
	var faults []error
	err := db.View(func(tx *bbolt.Tx) error {
		for fault := range tx.Check() {
			if len(faults) < maxFaults {
				faults = append(faults, fmt.Errorf("%w: %w", persistence.ErrCorrupt, fault))
			}
		}
		return nil
	})
	if err != nil {
		faults = append(faults, err)
	}
	return faults
}
