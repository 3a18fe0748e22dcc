package bolt

import (
	"context"
	"errors"
	"fmt"
	"iter"

	bbolt "go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/holdfast-dev/holdfast/persistence"
)

// view runs f in a read transaction. What f keeps must be copied.
func (s *Store) view(ctx context.Context, f func(*bbolt.Tx) error) error {
	return s.viewFile(ctx, func(_ *file, tx *bbolt.Tx) error { return f(tx) })
}

func (s *Store) viewFile(ctx context.Context, f func(*file, *bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	err, file := s.unready(), s.file
	s.mu.Unlock()
	if err != nil {
		return err
	}
	err = guard(func() error {
		return file.db.View(func(tx *bbolt.Tx) error { return f(file, tx) })
	})
	if !errors.Is(err, bbolterrors.ErrDatabaseNotOpen) {
		return err
	}
	// The file was closed in this moment, by Close or by suspend.
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unready(); err != nil {
		return err
	}
	return fmt.Errorf("%w: the file has just been opened anew", persistence.ErrUnavailable)
}

// viewStream is view for a call that concerns one stream.
func (s *Store) viewStream(ctx context.Context, stream string, f func(*bbolt.Tx) error) error {
	if err := persistence.ValidateStream(stream); err != nil {
		return err
	}
	return s.view(ctx, f)
}

// Find implements persistence.Store.
func (s *Store) Find(ctx context.Context, stream string, batch persistence.Batch) (persistence.Info, bool, error) {
	var info persistence.Info
	err := s.viewStream(ctx, stream, func(tx *bbolt.Tx) (err error) {
		info, err = readInfo(tx, stream)
		return err
	})
	return info, err == nil && batch != persistence.Batch{} && info.Last == batch, err
}

// Read implements persistence.Store. See the package's comment for how it meets
// writers.
func (s *Store) Read(ctx context.Context, stream string, from uint64) iter.Seq2[persistence.Record, error] {
	return func(yield func(persistence.Record, error) bool) {
		at := reading{stream: stream, next: from}
		for {
			var page []persistence.Record
			err := s.viewStream(ctx, stream, func(tx *bbolt.Tx) (err error) {
				page, err = at.page(tx)
				return err
			})
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(persistence.Record{}, err)
				return
			}
			if at.next > at.last {
				return
			}
		}
	}
}

// Due implements persistence.Store. A stream whose wake changes while Due runs may
// be missed or come twice.
func (s *Store) Due(ctx context.Context, t persistence.Wake) iter.Seq2[persistence.Info, error] {
	return func(yield func(persistence.Info, error) bool) {
		for next := []byte{}; next != nil; {
			var page []persistence.Info
			err := s.view(ctx, func(tx *bbolt.Tx) (err error) {
				page, next, err = readDue(tx, t, next)
				return err
			})
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
			}
			if err != nil {
				yield(persistence.Info{}, err)
				return
			}
		}
	}
}

// LoadSnapshot implements persistence.Store.
func (s *Store) LoadSnapshot(ctx context.Context, stream string) (snap persistence.Snapshot, ok bool, err error) {
	err = s.viewStream(ctx, stream, func(tx *bbolt.Tx) (err error) {
		snap, ok, err = readSnapshot(tx, stream)
		return err
	})
	return snap, ok, err
}

// Blob implements persistence.Store.
func (s *Store) Blob(ctx context.Context, stream, key string) (data []byte, err error) {
	err = s.viewStream(ctx, stream, func(tx *bbolt.Tx) (err error) {
		data, err = readBlob(tx, stream, key)
		return err
	})
	return data, err
}

// List implements persistence.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]persistence.Info, error) {
	if err := persistence.ValidateList(limit); err != nil {
		return nil, err
	}
	var infos []persistence.Info
	for len(infos) < limit {
		n := min(limit-len(infos), pageInfos)
		var page []persistence.Info
		err := s.view(ctx, func(tx *bbolt.Tx) (err error) {
			page, err = readList(tx, prefix, after, n)
			return err
		})
		if err != nil {
			return nil, err
		}
		infos = append(infos, page...)
		if len(page) < n {
			break
		}
		after = page[len(page)-1].Stream
	}
	return infos, nil
}
