package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/persistence"
)

// A Disk is what stores have stored. The zero value is an empty disk.
type Disk struct {
	mu      sync.Mutex
	streams map[string]*stream // guarded by mu
}

// A stream as stored. Records are never changed in place, so that a reader may
// keep a slice of them without the lock.
//
// Invariant: len(records) == info.Head - first + 1.
// Invariant: info.Base is 0 or first.
type stream struct {
	info     persistence.Info
	first    uint64 // number of the first record that is there, or will be
	records  []persistence.Record
	blobs    map[string][]byte
	snapshot *persistence.Snapshot
}

// append stores a, unless dead says that its writer is gone.
func (d *Disk) append(a persistence.Append, dead func() bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dead() {
		return unknown("the store has crashed")
	}
	s := d.streams[a.Stream]
	if s == nil {
		s = &stream{info: persistence.Info{Stream: a.Stream}, first: 1}
	}
	if s.info.Head != a.Expected {
		return conflict("stream %q has head %d, expected %d", a.Stream, s.info.Head, a.Expected)
	}
	for _, r := range a.Records {
		s.info.Head++
		s.records = append(s.records, persistence.Record{Seq: s.info.Head, Class: r.Class, Data: r.Data})
	}
	for _, b := range a.Blobs {
		if s.blobs == nil {
			s.blobs = make(map[string][]byte)
		}
		if _, ok := s.blobs[b.Key]; !ok {
			s.blobs[b.Key] = b.Data
		}
	}
	s.info.Last, s.info.Wake, s.info.Deleted = a.Batch, a.Wake, false
	if d.streams == nil {
		d.streams = make(map[string]*stream)
	}
	d.streams[a.Stream] = s
	return nil
}

func (d *Disk) rebase(name string, upto uint64, base []byte, keep []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.streams[name]
	if s == nil {
		return conflict("stream %q has no record %d", name, upto)
	}
	if upto < s.first || upto > s.info.Head {
		return conflict("stream %q has records %d to %d, rebase asks for %d", name, s.first, s.info.Head, upto)
	}
	s.records = append([]persistence.Record{{Seq: upto, Data: bytes.Clone(base)}}, s.records[upto-s.first+1:]...)
	s.first, s.info.Base, s.snapshot = upto, upto, nil
	if upto == s.info.Head {
		maps.DeleteFunc(s.blobs, func(key string, _ []byte) bool { return !slices.Contains(keep, key) })
	}
	return nil
}

func (d *Disk) delete(name string, expected uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.streams[name]
	switch {
	case s == nil && expected == 0, s != nil && s.info.Deleted:
		return nil
	case s == nil:
		return conflict("stream %q does not exist, expected head %d", name, expected)
	case s.info.Head != expected:
		return conflict("stream %q has head %d, expected %d", name, s.info.Head, expected)
	}
	d.streams[name] = &stream{
		info:  persistence.Info{Stream: name, Head: s.info.Head, Last: s.info.Last, Deleted: true},
		first: s.info.Head + 1,
	}
	return nil
}

func (d *Disk) info(name string) persistence.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.streams[name]; s != nil {
		return s.info
	}
	return persistence.Info{Stream: name}
}

// records returns those from from on. The caller must not change them.
func (d *Disk) records(name string, from uint64) []persistence.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.streams[name]
	if s == nil || from > s.info.Head {
		return nil
	}
	if from < s.first {
		from = s.first
	}
	return s.records[from-s.first:]
}

func (d *Disk) save(name string, snap persistence.Snapshot) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.streams[name]
	if s == nil || s.info.Deleted {
		return notFound("stream %q", name)
	}
	if err := persistence.ValidateSnapshot(snap, s.info.Head); err != nil {
		return err
	}
	s.snapshot = &persistence.Snapshot{Seq: snap.Seq, Data: bytes.Clone(snap.Data)}
	return nil
}

func (d *Disk) load(name string) (persistence.Snapshot, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.streams[name]
	if s == nil || s.snapshot == nil {
		return persistence.Snapshot{}, false
	}
	return persistence.Snapshot{Seq: s.snapshot.Seq, Data: bytes.Clone(s.snapshot.Data)}, true
}

func (d *Disk) blob(name, key string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.streams[name]; s != nil {
		if data, ok := s.blobs[key]; ok {
			return bytes.Clone(data), nil
		}
	}
	return nil, notFound("blob %q of stream %q", key, name)
}

// due returns the streams with work at t, earliest first.
func (d *Disk) due(t persistence.Wake) []persistence.Info {
	infos := d.collect(func(i persistence.Info) bool { return i.Wake != persistence.Never && i.Wake <= t })
	slices.SortFunc(infos, func(a, b persistence.Info) int {
		return cmp.Or(cmp.Compare(a.Wake, b.Wake), cmp.Compare(a.Stream, b.Stream))
	})
	return infos
}

func (d *Disk) list(prefix, after string, limit int) []persistence.Info {
	infos := d.collect(func(i persistence.Info) bool {
		return strings.HasPrefix(i.Stream, prefix) && i.Stream > after
	})
	slices.SortFunc(infos, func(a, b persistence.Info) int { return cmp.Compare(a.Stream, b.Stream) })
	return infos[:min(limit, len(infos))]
}

func (d *Disk) collect(wanted func(persistence.Info) bool) []persistence.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	var infos []persistence.Info
	for _, s := range d.streams {
		if wanted(s.info) {
			infos = append(infos, s.info)
		}
	}
	return infos
}

// check compares each stream with its invariants.
func (d *Disk) check() []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var faults []error
	for name, s := range d.streams {
		if uint64(len(s.records)) != s.info.Head-s.first+1 {
			faults = append(faults, fmt.Errorf("%w: stream %q: %d records from %d, head %d",
				persistence.ErrCorrupt, name, len(s.records), s.first, s.info.Head))
		}
		for i, r := range s.records {
			if r.Seq != s.first+uint64(i) {
				faults = append(faults, fmt.Errorf("%w: stream %q: record %d is numbered %d",
					persistence.ErrCorrupt, name, s.first+uint64(i), r.Seq))
			}
		}
	}
	return faults
}

func conflict(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{persistence.ErrConflict}, args...)...)
}

func notFound(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{persistence.ErrNotFound}, args...)...)
}
