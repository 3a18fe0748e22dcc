package persistencetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/persistence"
)

// A model is what a store should contain, in plain maps: the contract as the
// shortest program that keeps it.
type model map[string]*modelStream

type modelStream struct {
	info     persistence.Info
	records  []persistence.Record // ascending, without gaps, up to info.Head
	blobs    map[string]string
	snapshot *persistence.Snapshot
}

func (m model) stream(name string) *modelStream {
	if s := m[name]; s != nil {
		return s
	}
	return &modelStream{info: persistence.Info{Stream: name}, blobs: map[string]string{}}
}

func (m model) append(a persistence.Append) error {
	s := m.stream(a.Stream)
	if a.Expected != s.info.Head {
		return persistence.ErrConflict
	}
	for _, r := range a.Records {
		s.info.Head++
		s.records = append(s.records, persistence.Record{Seq: s.info.Head, Class: r.Class, Data: r.Data})
	}
	for _, b := range a.Blobs {
		if _, ok := s.blobs[b.Key]; !ok {
			s.blobs[b.Key] = string(b.Data)
		}
	}
	s.info.Last, s.info.Wake, s.info.Deleted = a.Batch, a.Wake, false
	m[a.Stream] = s
	return nil
}

func (m model) rebase(name string, upto uint64, base []byte, keep []string) error {
	s := m.stream(name)
	i := slices.IndexFunc(s.records, func(r persistence.Record) bool { return r.Seq == upto })
	if i < 0 {
		return persistence.ErrConflict
	}
	s.records = append([]persistence.Record{{Seq: upto, Data: base}}, s.records[i+1:]...)
	s.info.Base, s.snapshot = upto, nil
	if upto == s.info.Head {
		maps.DeleteFunc(s.blobs, func(key, _ string) bool { return !slices.Contains(keep, key) })
	}
	return nil
}

func (m model) delete(name string, expected uint64) error {
	s := m.stream(name)
	switch {
	case s.info.Deleted:
		return nil
	case s.info.Head != expected:
		return persistence.ErrConflict
	case s.info.Head > 0:
		m[name] = &modelStream{
			info:  persistence.Info{Stream: name, Head: s.info.Head, Last: s.info.Last, Deleted: true},
			blobs: map[string]string{},
		}
	}
	return nil
}

func (m model) save(name string, snap persistence.Snapshot) error {
	s := m.stream(name)
	switch {
	case s.info.Head == 0 || s.info.Deleted:
		return persistence.ErrNotFound
	case snap.Seq > s.info.Head:
		return persistence.ErrInvalid
	}
	s.snapshot = &snap
	return nil
}

func (m model) list(prefix, after string, limit int) []persistence.Info {
	var out []persistence.Info
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if strings.HasPrefix(name, prefix) && name > after && len(out) < limit {
			out = append(out, m[name].info)
		}
	}
	return out
}

func (m model) due(t persistence.Wake) []persistence.Info {
	out := slices.DeleteFunc(m.list("", "", len(m)), func(i persistence.Info) bool { return i.Wake == 0 || i.Wake > t })
	slices.SortStableFunc(out, func(a, b persistence.Info) int { return cmp.Compare(a.Wake, b.Wake) })
	return out
}
