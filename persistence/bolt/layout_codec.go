package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/holdfast-dev/holdfast/persistence"
)

const (
	sealBytes = 4  // of a sealed value, before its content
	headBytes = 57 // content of a row of heads

	deletedFlag  = 1 // of heads
	streamedFlag = 1 // of records
	baseFlag     = 2 // of records
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// arena gives out the values of one group, so that they cost few allocations.
// What it gave stays valid; bbolt keeps values until the commit.
type arena struct{ free []byte }

const arenaBytes = 64 << 10

func (a *arena) take(n int) []byte {
	if n > len(a.free) {
		a.free = make([]byte, max(n, arenaBytes))
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}

// seal returns the value of key that holds the contents one after the other.
func (a *arena) seal(key []byte, contents ...[]byte) []byte {
	n := sealBytes
	for _, c := range contents {
		n += len(c)
	}
	value := a.take(n)[:sealBytes]
	for _, c := range contents {
		value = append(value, c...)
	}
	binary.BigEndian.PutUint32(value, sealOf(key, value[sealBytes:]))
	return value
}

func sealOf(key, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, content)
}

// unseal returns the content of a value, if it is at least n bytes long and sealed
// for key. The content is part of value.
func unseal(key, value []byte, n int) ([]byte, error) {
	if len(value) < sealBytes+n {
		return nil, fmt.Errorf("%w: value has %d bytes, at least %d are needed", persistence.ErrCorrupt, len(value), sealBytes+n)
	}
	content := value[sealBytes:]
	if want, got := binary.BigEndian.Uint32(value), sealOf(key, content); want != got {
		return nil, fmt.Errorf("%w: checksum is %08x, stored as %08x", persistence.ErrCorrupt, got, want)
	}
	return content, nil
}

// pairKey is the key of records (id, seq) and of due (wake, id).
func pairKey(a, b uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, 16), a), b)
}

func idKey(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

func blobKey(id uint64, key string) []byte { return append(idKey(id), key...) }

// A head is a row of heads. The zero head is a stream that never was.
type head struct {
	persistence.Info
	id    uint64
	first uint64
}

func (h head) encode() []byte {
	b := make([]byte, 1, headBytes)
	if h.Deleted {
		b[0] = deletedFlag
	}
	for _, n := range [...]uint64{h.id, h.Head, h.first, h.Base, h.Last.Incarnation, h.Last.N, uint64(h.Wake)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func decodeHead(name, value []byte) (head, error) {
	b, err := unseal(name, value, headBytes)
	if err != nil {
		return head{}, fmt.Errorf("stream %q: head: %w", name, err)
	}
	number := func(i int) uint64 { return binary.BigEndian.Uint64(b[1+8*i:]) }
	return head{
		Info: persistence.Info{
			Stream: string(name), Head: number(1), Base: number(3),
			Last: persistence.Batch{Incarnation: number(4), N: number(5)},
			Wake: persistence.Wake(number(6)), Deleted: b[0]&deletedFlag != 0,
		},
		id: number(0), first: number(2),
	}, nil
}

// decodeRecord returns the record stored under key; its data is part of value.
func decodeRecord(stream string, key, value []byte) (r persistence.Record, flags byte, err error) {
	r.Seq = binary.BigEndian.Uint64(key[8:])
	b, err := unseal(key, value, 1)
	if err != nil {
		return r, 0, fmt.Errorf("stream %q, record %d: %w", stream, r.Seq, err)
	}
	if b[0]&streamedFlag != 0 {
		r.Class = persistence.Streamed
	}
	r.Data = b[1:]
	return r, b[0], nil
}
