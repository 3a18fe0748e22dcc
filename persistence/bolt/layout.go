package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	bbolt "go.etcd.io/bbolt"

	"github.com/holdfast-dev/holdfast/persistence"
)

// The files layout*.go know what is in the file (doc.go, "The file"); the other
// files know when it is written and read.

const formatVersion = 1

var (
	metaBucket    = []byte("meta")
	headsBucket   = []byte("heads")
	recordsBucket = []byte("records")
	dueBucket     = []byte("due")
	snapsBucket   = []byte("snaps")
	blobsBucket   = []byte("blobs")

	formatKey   = []byte("format")
	formatMagic = []byte("holdfast journal")
)

// createLayout makes an empty journal of an empty bbolt file.
func createLayout(tx *bbolt.Tx) error {
	for _, name := range [][]byte{metaBucket, headsBucket, recordsBucket, dueBucket, snapsBucket, blobsBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	version := binary.BigEndian.AppendUint32(nil, formatVersion)
	return tx.Bucket(metaBucket).Put(formatKey, new(arena).seal(formatKey, formatMagic, version))
}

// verifyLayout reports whether the file holds a journal that this package can read.
func verifyLayout(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return errors.New("it is a bbolt file, but not a Holdfast journal (no bucket meta)")
	}
	b, err := unseal(formatKey, meta.Get(formatKey), len(formatMagic)+4)
	if err != nil {
		return fmt.Errorf("its format is unreadable: %w", err)
	}
	if !bytes.HasPrefix(b, formatMagic) {
		return errors.New("it is a bbolt file, but not a Holdfast journal (other format name)")
	}
	if v := binary.BigEndian.Uint32(b[len(formatMagic):]); v != formatVersion {
		return fmt.Errorf("it has journal format %d and this program knows format %d only: it was written by a newer version of Holdfast", v, formatVersion)
	}
	for _, name := range [][]byte{headsBucket, recordsBucket, dueBucket, snapsBucket, blobsBucket} {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: bucket %s is missing", persistence.ErrCorrupt, name)
		}
	}
	return nil
}

// headCacheSize is the most heads that a layout remembers, some 200 bytes each.
const headCacheSize = 1 << 16

// A layout is what the writer remembers between groups: the heads that it has
// seen, as they are on disk. Owned by the writer.
type layout struct{ heads map[string]head }

// begin starts a group of calls that share the transaction tx.
func (l *layout) begin(tx *bbolt.Tx) *group {
	return &group{
		layout: l, staged: make(map[string]head),
		heads: tx.Bucket(headsBucket), records: tx.Bucket(recordsBucket), due: tx.Bucket(dueBucket),
		snaps: tx.Bucket(snapsBucket), blobs: tx.Bucket(blobsBucket),
	}
}

// forget is called when what is on disk may be something else than remembered.
func (l *layout) forget() { l.heads = nil }

// A group is a transaction under construction. A method that returns an error of
// package persistence has refused the call and changed nothing; any other error
// means that the transaction must not be committed.
type group struct {
	layout  *layout
	staged  map[string]head // as they will be after the commit
	changed bool
	values  arena

	heads, records, due, snaps, blobs *bbolt.Bucket
}

// committed tells that the transaction is durable.
func (g *group) committed() {
	if g.layout.heads == nil || len(g.layout.heads) > headCacheSize {
		g.layout.heads = make(map[string]head)
	}
	for name, h := range g.staged {
		g.layout.heads[name] = h
	}
}

// head returns the stream's head; one that never was has id 0 and first 1.
func (g *group) head(name string) (head, error) {
	if h, ok := g.staged[name]; ok {
		return h, nil
	}
	if h, ok := g.layout.heads[name]; ok {
		return h, nil
	}
	return lookUp(g.heads, name)
}

func lookUp(heads *bbolt.Bucket, name string) (head, error) {
	key := []byte(name)
	value := heads.Get(key)
	if value == nil {
		return head{Info: persistence.Info{Stream: name}, first: 1}, nil
	}
	return decodeHead(key, value)
}

func (g *group) put(bucket *bbolt.Bucket, key []byte, contents ...[]byte) error {
	g.changed = true
	return bucket.Put(key, g.values.seal(key, contents...))
}

// setHead stores h in the place of old, and keeps the due index with it.
func (g *group) setHead(old, h head) error {
	if old.Wake != persistence.Never && old.Wake != h.Wake {
		if err := g.due.Delete(pairKey(uint64(old.Wake), h.id)); err != nil {
			return err
		}
	}
	if h.Wake != persistence.Never && old.Wake != h.Wake {
		if err := g.put(g.due, pairKey(uint64(h.Wake), h.id), []byte(h.Stream)); err != nil {
			return err
		}
	}
	g.staged[h.Stream] = h
	return g.put(g.heads, []byte(h.Stream), h.encode())
}

func (g *group) append(a persistence.Append) error {
	old, err := g.head(a.Stream)
	if err != nil {
		return err
	}
	if old.Head != a.Expected {
		return fmt.Errorf("%w: stream %q has head %d, expected %d", persistence.ErrConflict, a.Stream, old.Head, a.Expected)
	}
	h := old
	if h.id == 0 {
		if h.id, err = g.heads.NextSequence(); err != nil {
			return err
		}
	}
	for _, r := range a.Records {
		h.Head++
		flags := []byte{0}
		if r.Class == persistence.Streamed {
			flags[0] = streamedFlag
		}
		if err := g.put(g.records, pairKey(h.id, h.Head), flags, r.Data); err != nil {
			return err
		}
	}
	for _, b := range a.Blobs {
		key := blobKey(h.id, b.Key)
		if g.blobs.Get(key) != nil {
			continue
		}
		if err := g.put(g.blobs, key, b.Data); err != nil {
			return err
		}
	}
	h.Last, h.Wake, h.Deleted = a.Batch, a.Wake, false
	return g.setHead(old, h)
}

func (g *group) rebase(name string, upto uint64, base []byte, keep []string) error {
	old, err := g.head(name)
	if err != nil {
		return err
	}
	if upto < old.first || upto > old.Head {
		return fmt.Errorf("%w: stream %q has records %d to %d, rebase asks for %d", persistence.ErrConflict, name, old.first, old.Head, upto)
	}
	h := old
	if err := g.drop(g.records, pairKey(h.id, h.first), pairKey(h.id, upto), nil); err != nil {
		return err
	}
	if err := g.put(g.records, pairKey(h.id, upto), []byte{baseFlag}, base); err != nil {
		return err
	}
	if upto == old.Head {
		kept := func(key []byte) bool { return slices.Contains(keep, string(key[8:])) }
		if err := g.drop(g.blobs, idKey(h.id), idKey(h.id+1), kept); err != nil {
			return err
		}
	}
	// The snapshot may hold what the base leaves out.
	if err := g.snaps.Delete(idKey(h.id)); err != nil {
		return err
	}
	h.first, h.Base = upto, upto
	return g.setHead(old, h)
}

func (g *group) delete(name string, expected uint64) error {
	old, err := g.head(name)
	if err != nil {
		return err
	}
	if old.Deleted {
		return nil
	}
	if old.Head != expected {
		return fmt.Errorf("%w: stream %q has head %d, expected %d", persistence.ErrConflict, name, old.Head, expected)
	}
	if old.id == 0 {
		return nil
	}
	for _, bucket := range []*bbolt.Bucket{g.records, g.snaps, g.blobs} {
		if err := g.drop(bucket, idKey(old.id), idKey(old.id+1), nil); err != nil {
			return err
		}
	}
	return g.setHead(old, head{
		Info: persistence.Info{Stream: name, Head: old.Head, Last: old.Last, Deleted: true},
		id:   old.id, first: old.Head + 1,
	})
}

func (g *group) saveSnapshot(name string, s persistence.Snapshot) error {
	h, err := g.head(name)
	if err != nil {
		return err
	}
	if h.id == 0 || h.Deleted {
		return fmt.Errorf("%w: stream %q", persistence.ErrNotFound, name)
	}
	if err := persistence.ValidateSnapshot(s, h.Head); err != nil {
		return err
	}
	return g.put(g.snaps, idKey(h.id), binary.BigEndian.AppendUint64(nil, s.Seq), s.Data)
}

// drop deletes the keys from from up to, but not including, to, except those kept.
func (g *group) drop(bucket *bbolt.Bucket, from, to []byte, kept func(key []byte) bool) error {
	g.changed = true
	// A cursor may skip a key after a Delete, so each key is sought anew.
	c := bucket.Cursor()
	for k, _ := c.Seek(from); k != nil && bytes.Compare(k, to) < 0; k, _ = c.Seek(from) {
		from = append(bytes.Clone(k), 0) // the next key that can be
		if kept != nil && kept(k) {
			continue
		}
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}
