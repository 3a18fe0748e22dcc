package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// Bounds of what one transaction copies out.
const (
	pageRecords = 256
	pageBytes   = 1 << 20
	pageInfos   = 1024
)

func readInfo(tx *bbolt.Tx, name string) (persistence.Info, error) {
	h, err := lookUp(tx.Bucket(headsBucket), name)
	return h.Info, err
}

// A reading is the place of a Read between two pages. Its view is the records
// from first to last of the stream as it was at the first page.
type reading struct {
	stream string
	begun  bool
	next   uint64 // number of the next record
	first  uint64
	last   uint64
}

// page returns the next records, none at the end.
func (r *reading) page(tx *bbolt.Tx) ([]persistence.Record, error) {
	h, err := lookUp(tx.Bucket(headsBucket), r.stream)
	if err != nil {
		return nil, err
	}
	switch {
	case !r.begun:
		r.begun, r.first, r.last, r.next = true, h.first, h.Head, max(r.next, h.first)
	case h.first != r.first && h.first >= r.next && r.next <= r.last:
		return nil, fmt.Errorf("%w: stream %q was rebased or deleted up to %d while it was read at %d; read it again",
			persistence.ErrUnavailable, r.stream, h.first, r.next)
	}
	var out []persistence.Record
	size := 0
	c := tx.Bucket(recordsBucket).Cursor()
	k, v := c.Seek(pairKey(h.id, r.next))
	for ; r.next <= r.last && len(out) < pageRecords && size < pageBytes; k, v = c.Next() {
		if !bytes.Equal(k, pairKey(h.id, r.next)) {
			return out, fmt.Errorf("%w: stream %q, record %d is missing", persistence.ErrCorrupt, r.stream, r.next)
		}
		if size > 0 && size+len(v) > pageBytes {
			break
		}
		record, _, err := decodeRecord(r.stream, k, v)
		if err != nil {
			return out, err
		}
		record.Data = bytes.Clone(record.Data)
		out = append(out, record)
		size += len(v)
		r.next++
	}
	return out, nil
}

// readDue returns the streams that are due at t, in the order of the index, from
// the key from on, and the key to go on from, nil at the end.
func readDue(tx *bbolt.Tx, t persistence.Wake, from []byte) ([]persistence.Info, []byte, error) {
	var out []persistence.Info
	heads := tx.Bucket(headsBucket)
	c := tx.Bucket(dueBucket).Cursor()
	for k, v := c.Seek(from); k != nil && t > 0 && binary.BigEndian.Uint64(k) <= uint64(t); k, v = c.Next() {
		if len(out) == pageInfos {
			return out, bytes.Clone(k), nil
		}
		name, err := unseal(k, v, 1)
		if err != nil {
			return out, nil, fmt.Errorf("index of due streams: %w", err)
		}
		h, err := lookUp(heads, string(name))
		if err != nil {
			return out, nil, err
		}
		out = append(out, h.Info)
	}
	return out, nil, nil
}

// readList returns up to limit streams in the order of names.
func readList(tx *bbolt.Tx, prefix, after string, limit int) ([]persistence.Info, error) {
	var out []persistence.Info
	c := tx.Bucket(headsBucket).Cursor()
	for k, v := c.Seek([]byte(max(prefix, after))); k != nil && len(out) < limit; k, v = c.Next() {
		name := string(k)
		if !strings.HasPrefix(name, prefix) {
			break
		}
		if name == after {
			continue
		}
		h, err := decodeHead(k, v)
		if err != nil {
			return nil, err
		}
		out = append(out, h.Info)
	}
	return out, nil
}

func readSnapshot(tx *bbolt.Tx, name string) (s persistence.Snapshot, ok bool, err error) {
	h, err := lookUp(tx.Bucket(headsBucket), name)
	if err != nil {
		return s, false, err
	}
	key := idKey(h.id)
	value := tx.Bucket(snapsBucket).Get(key)
	if value == nil {
		return s, false, nil
	}
	b, err := unseal(key, value, 8)
	if err != nil {
		// A snapshot is a cache: an unreadable one is none. Check tells of it.
		return s, false, nil
	}
	return persistence.Snapshot{Seq: binary.BigEndian.Uint64(b), Data: bytes.Clone(b[8:])}, true, nil
}

func readBlob(tx *bbolt.Tx, name, blob string) ([]byte, error) {
	h, err := lookUp(tx.Bucket(headsBucket), name)
	if err != nil {
		return nil, err
	}
	key := blobKey(h.id, blob)
	value := tx.Bucket(blobsBucket).Get(key)
	if h.id == 0 || value == nil {
		return nil, fmt.Errorf("%w: blob %q of stream %q", persistence.ErrNotFound, blob, name)
	}
	b, err := unseal(key, value, 0)
	if err != nil {
		return nil, fmt.Errorf("stream %q, blob %q: %w", name, blob, err)
	}
	return bytes.Clone(b), nil
}
