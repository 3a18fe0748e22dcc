package memory

import (
	"bytes"
	"context"
	"iter"

	"github.com/holdfast-dev/holdfast/persistence"
)

// begin validates the stream's name and asks the hooks.
func (s *Store) begin(ctx context.Context, stream string) error {
	if err := persistence.ValidateStream(stream); err != nil {
		return err
	}
	return s.ready(ctx, stream)
}

// Find implements persistence.Store.
func (s *Store) Find(ctx context.Context, stream string, batch persistence.Batch) (persistence.Info, bool, error) {
	if err := s.begin(ctx, stream); err != nil {
		return persistence.Info{}, false, err
	}
	info := s.disk.info(stream)
	return info, batch != persistence.Batch{} && info.Last == batch, nil
}

// Read implements persistence.Store. It sees the stream as it was at the
// beginning, whatever is appended, rebased or deleted meanwhile.
func (s *Store) Read(ctx context.Context, stream string, from uint64) iter.Seq2[persistence.Record, error] {
	return func(yield func(persistence.Record, error) bool) {
		if err := s.begin(ctx, stream); err != nil {
			yield(persistence.Record{}, err)
			return
		}
		for _, r := range s.disk.records(stream, from) {
			if err := ctx.Err(); err != nil {
				yield(persistence.Record{}, err)
				return
			}
			r.Data = bytes.Clone(r.Data)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Rebase implements persistence.Store.
func (s *Store) Rebase(ctx context.Context, stream string, upto uint64, base []byte, keepBlobs []string) error {
	if err := persistence.ValidateRebase(stream, upto, base); err != nil {
		return err
	}
	if err := s.begin(ctx, stream); err != nil {
		return err
	}
	return s.disk.rebase(stream, upto, base, keepBlobs)
}

// Due implements persistence.Store. It sees all streams at one moment.
func (s *Store) Due(ctx context.Context, t persistence.Wake) iter.Seq2[persistence.Info, error] {
	return func(yield func(persistence.Info, error) bool) {
		if err := s.ready(ctx, ""); err != nil {
			yield(persistence.Info{}, err)
			return
		}
		for _, info := range s.disk.due(t) {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// SaveSnapshot implements persistence.Store.
func (s *Store) SaveSnapshot(ctx context.Context, stream string, snap persistence.Snapshot) error {
	if err := s.begin(ctx, stream); err != nil {
		return err
	}
	return s.disk.save(stream, snap)
}

// LoadSnapshot implements persistence.Store.
func (s *Store) LoadSnapshot(ctx context.Context, stream string) (persistence.Snapshot, bool, error) {
	if err := s.begin(ctx, stream); err != nil {
		return persistence.Snapshot{}, false, err
	}
	snap, ok := s.disk.load(stream)
	return snap, ok, nil
}

// Blob implements persistence.Store.
func (s *Store) Blob(ctx context.Context, stream, key string) ([]byte, error) {
	if err := s.begin(ctx, stream); err != nil {
		return nil, err
	}
	return s.disk.blob(stream, key)
}

// Delete implements persistence.Store.
func (s *Store) Delete(ctx context.Context, stream string, expected uint64) error {
	if err := s.begin(ctx, stream); err != nil {
		return err
	}
	return s.disk.delete(stream, expected)
}

// List implements persistence.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]persistence.Info, error) {
	if err := persistence.ValidateList(limit); err != nil {
		return nil, err
	}
	if err := s.ready(ctx, ""); err != nil {
		return nil, err
	}
	return s.disk.list(prefix, after, limit), nil
}

// Check implements persistence.Store.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		if err := s.ready(ctx, ""); err != nil {
			yield(err)
			return
		}
		for _, fault := range s.disk.check() {
			if !yield(fault) {
				return
			}
		}
	}
}
