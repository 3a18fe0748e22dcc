package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// A checker compares what is in the buckets with the invariants of doc.go.
type checker struct {
	ctx     context.Context
	streams map[uint64]*checked // by id
	faults  []error
	looked  int // values so far
}

// A checked stream.
type checked struct {
	head
	next   uint64 // number that the next record should have
	inDue  bool
	strays int // values that belong to nothing, told once
}

var errEnough = errors.New("enough faults")

// check walks all buckets. Its error is that of ctx.
func (c *checker) check(tx *bbolt.Tx) error {
	c.streams = make(map[uint64]*checked)
	for _, pass := range []struct {
		bucket []byte
		look   func(k, v []byte)
	}{
		{headsBucket, c.head}, {recordsBucket, c.record}, {dueBucket, c.due}, {snapsBucket, c.snap}, {blobsBucket, c.blob},
	} {
		err := tx.Bucket(pass.bucket).ForEach(func(k, v []byte) error {
			pass.look(k, v)
			if len(c.faults) >= maxFaults {
				return errEnough
			}
			if c.looked++; c.looked%1024 == 0 {
				return c.ctx.Err()
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	sequence := tx.Bucket(headsBucket).Sequence()
	for id, s := range c.streams {
		if s.next != s.Head+1 {
			c.fault("stream %q: records from %d to %d are missing", s.Stream, s.next, s.Head)
		}
		if s.Wake != persistence.Never && !s.inDue {
			c.fault("stream %q: wake %d is not in the index of due streams", s.Stream, s.Wake)
		}
		if id == 0 || id > sequence {
			c.fault("stream %q: id %d was never given out (last was %d)", s.Stream, id, sequence)
		}
	}
	return nil
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%w: "+format, append([]any{persistence.ErrCorrupt}, args...)...))
}

func (c *checker) head(k, v []byte) {
	h, err := decodeHead(k, v)
	if err != nil {
		c.faults = append(c.faults, err)
		return
	}
	if other := c.streams[h.id]; other != nil {
		c.fault("streams %q and %q have one id, %d", h.Stream, other.Stream, h.id)
		return
	}
	if h.first == 0 || h.first > h.Head+1 {
		c.fault("stream %q: first record is %d, head is %d", h.Stream, h.first, h.Head)
	}
	if h.Base != 0 && h.Base != h.first {
		c.fault("stream %q: base is %d, first record is %d", h.Stream, h.Base, h.first)
	}
	if h.Deleted && (h.Base != 0 || h.Wake != persistence.Never || h.first != h.Head+1) {
		c.fault("stream %q: is deleted, but has base %d, wake %d, first record %d, head %d", h.Stream, h.Base, h.Wake, h.first, h.Head)
	}
	c.streams[h.id] = &checked{head: h, next: h.first}
}

// owner returns the stream to which a key with that id belongs, nil if none.
func (c *checker) owner(bucket string, id uint64) *checked {
	s := c.streams[id]
	if s == nil {
		// Told once, however many values there are.
		c.streams[id] = &checked{head: head{Info: persistence.Info{Deleted: true}, id: id}, next: 1, strays: 1}
		c.fault("bucket %s: stream id %d belongs to no stream", bucket, id)
		return nil
	}
	if s.Stream == "" {
		return nil
	}
	return s
}

func (c *checker) record(k, v []byte) {
	if len(k) != 16 {
		c.fault("bucket records: key of %d bytes", len(k))
		return
	}
	s := c.owner("records", binary.BigEndian.Uint64(k))
	if s == nil {
		return
	}
	r, flags, err := decodeRecord(s.Stream, k, v)
	if r.Seq < s.first || r.Seq > s.Head {
		if s.strays++; s.strays == 1 {
			c.fault("stream %q: record %d is outside of %d to %d", s.Stream, r.Seq, s.first, s.Head)
		}
		return
	}
	if r.Seq != s.next {
		c.fault("stream %q: records from %d to %d are missing", s.Stream, s.next, r.Seq-1)
	}
	s.next = r.Seq + 1
	if err != nil {
		c.faults = append(c.faults, err)
		return
	}
	if isBase := flags&baseFlag != 0; isBase != (r.Seq == s.Base) {
		c.fault("stream %q: record %d says base %t, base is %d", s.Stream, r.Seq, isBase, s.Base)
	}
}

func (c *checker) due(k, v []byte) {
	if len(k) != 16 {
		c.fault("bucket due: key of %d bytes", len(k))
		return
	}
	s := c.owner("due", binary.BigEndian.Uint64(k[8:]))
	if s == nil {
		return
	}
	wake := persistence.Wake(binary.BigEndian.Uint64(k))
	name, err := unseal(k, v, 1)
	switch {
	case err != nil:
		c.fault("stream %q: index of due streams: %w", s.Stream, err)
	case string(name) != s.Stream || wake != s.Wake:
		c.fault("stream %q: the index of due streams says %q at %d, its wake is %d", s.Stream, name, wake, s.Wake)
	default:
		s.inDue = true
	}
}

func (c *checker) snap(k, v []byte) {
	if len(k) != 8 {
		c.fault("bucket snaps: key of %d bytes", len(k))
		return
	}
	s := c.owner("snaps", binary.BigEndian.Uint64(k))
	if s == nil {
		return
	}
	b, err := unseal(k, v, 8)
	switch {
	case err != nil:
		c.fault("stream %q: snapshot: %w", s.Stream, err)
	case s.Deleted:
		c.fault("stream %q: is deleted, but has a snapshot", s.Stream)
	case binary.BigEndian.Uint64(b) > s.Head:
		c.fault("stream %q: snapshot of %d, head is %d", s.Stream, binary.BigEndian.Uint64(b), s.Head)
	}
}

func (c *checker) blob(k, v []byte) {
	if len(k) < 9 {
		c.fault("bucket blobs: key of %d bytes", len(k))
		return
	}
	s := c.owner("blobs", binary.BigEndian.Uint64(k))
	if s == nil {
		return
	}
	switch _, err := unseal(k, v, 0); {
	case err != nil:
		c.fault("stream %q: blob %q: %w", s.Stream, k[8:], err)
	case s.Deleted:
		c.fault("stream %q: is deleted, but has blob %q", s.Stream, k[8:])
	}
}
