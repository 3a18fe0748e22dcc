// Package persistence is the contract between an agent and the journal that
// holds it. It knows nothing of agents: a journal is a named stream of records
// with gap-free sequence numbers, and everything else here hangs on a stream.
//
// The rules that every store keeps, and that persistencetest checks:
//
//  1. A stream's head is the number of its last record. An append names the
//     head that it expects; the store refuses it if another has written since.
//     This is the only fence against two writers, so no lock or lease is needed.
//  2. An append is stored whole or not at all, with its wake time and its blobs.
//  3. When done is called with nil the append survives a power cut.
//  4. Heads never go back: a deleted stream keeps its head, and whoever writes
//     to its name again goes on above it.
//  5. Records of class Streamed may be dropped by a Rebase that keeps facts; in
//     all other respects they are stored like any record.
//
// Callers keep at most one append per stream under way.
package persistence

import (
	"context"
	"errors"
	"iter"
)

var (
	// ErrConflict: another writer has appended since the caller last looked.
	// Nothing was stored. The caller's view of the stream is worthless.
	ErrConflict = errors.New("journal: another writer has appended to the stream")

	// ErrUnknown: the append may or may not have been stored, and nobody can
	// tell without looking: call Find with the append's batch. A store that has
	// lost its disk or its server answers so, and refuses Find until it is back.
	ErrUnknown = errors.New("journal: outcome of the append is unknown")

	// ErrUnavailable: the store cannot be read now (disk or server gone, reopening).
	// Nothing was changed. Trying again later is right.
	ErrUnavailable = errors.New("journal: store is unavailable")

	// ErrClosed: the store has been closed. Nothing was stored.
	ErrClosed = errors.New("journal: store is closed")

	// ErrNotFound: no blob of that key, or no such stream.
	ErrNotFound = errors.New("journal: not found")

	// ErrCorrupt: what is stored cannot be what was written. The error's text
	// names the stream and the sequence number.
	ErrCorrupt = errors.New("journal: stored data is damaged")

	// ErrInvalid: the caller broke the contract (no stream name, no records, a
	// record over MaxRecordBytes …). The error's text names field, value and limit.
	ErrInvalid = errors.New("journal: invalid request")

	// ErrInUse: another process holds the store's files.
	ErrInUse = errors.New("journal: in use by another process")
)

const (
	// MaxStreamName is the longest name of a stream, in bytes.
	MaxStreamName = 1024
	// MaxRecordBytes is the largest record. Larger values belong into blobs.
	MaxRecordBytes = 16 << 20
	// MaxAppendRecords is the most records that one append may carry.
	MaxAppendRecords = 1 << 14
	// MaxAppendBytes is the most that one append may carry in records and blobs
	// together, and the largest snapshot.
	MaxAppendBytes = 64 << 20
	// MaxBlobKey is the longest key of a blob, in bytes.
	MaxBlobKey = 1024
)

// A Batch names one append for ever, so that its writer can recognise it after
// ErrUnknown. Incarnation is unique among all writers of the stream; N counts
// that writer's appends from 1. The zero Batch names nothing.
type Batch struct{ Incarnation, N uint64 }

// Class tells what may become of a record.
type Class uint8

const (
	// Durable records are facts.
	Durable Class = iota
	// Streamed records repeat what a later durable record says again (prose on
	// its way); a Rebase may drop them.
	Streamed
)

// A Record is one entry of a stream. Data belongs to the store after Append and
// to the caller after Read.
type Record struct {
	Seq   uint64 // set by the store: 1 for a stream's first record
	Class Class
	Data  []byte
}

// A Wake is the time at which a stream has work though nobody calls, in
// milliseconds since the Unix epoch.
type Wake int64

const (
	// Never: the stream has no work of its own.
	Never Wake = 0
	// Now: the stream has work at once; it is due at any time.
	Now Wake = 1
)

// A Blob is a value too large for a record, stored in the same transaction.
type Blob struct {
	Key  string // unique within the stream; a second put of a key is a no-op
	Data []byte
}

// An Append adds records to a stream.
type Append struct {
	Stream   string
	Expected uint64 // the stream's head as the caller knows it; 0 for a new stream
	Batch    Batch
	Records  []Record // at least one; Seq is ignored
	Wake     Wake     // replaces what the stream's last append said
	Blobs    []Blob
}

// Info is what a store knows of a stream without reading its records.
type Info struct {
	Stream  string
	Head    uint64 // number of the last record; 0 if there never was one
	Base    uint64 // number of the base record; 0 if there is none
	Last    Batch  // the newest append
	Wake    Wake
	Deleted bool // deleted for good; Head is kept
}

// A Snapshot is a cache of what the records up to Seq add up to. It may vanish
// at any time; a missing or unreadable one costs time, never data.
type Snapshot struct {
	Seq  uint64
	Data []byte
}

// A Store holds many streams. All methods may be called concurrently.
type Store interface {
	// Append stores a and calls done exactly once, from any goroutine and perhaps
	// before Append returns, when the outcome is known. It does not block on the
	// disk. done must return quickly. Outcomes: nil (durable), ErrConflict,
	// ErrUnknown, ErrInvalid, ErrClosed, and ErrCorrupt (the stream's head cannot
	// be read; nothing was stored). The caller must not change a's slices afterwards.
	Append(a Append, done func(error))

	// Find reports the stream's head and whether batch is in it. A store need
	// only remember each stream's newest batch. Used after ErrUnknown, when no
	// append of the caller is under way. Error: ErrUnavailable, ErrClosed.
	Find(ctx context.Context, stream string, batch Batch) (info Info, found bool, err error)

	// Read yields the records with Seq >= from in order and without gaps. After
	// a Rebase the first one is the base. It sees what was durable when it
	// began, may be stopped at any time and holds no lock while the caller
	// works. It ends after the first error (ErrUnavailable, ErrCorrupt, ErrClosed).
	// A Rebase or Delete that takes away what Read has not yielded yet may end it
	// with ErrUnavailable; what it has yielded stands, and a new Read sees the rest.
	Read(ctx context.Context, stream string, from uint64) iter.Seq2[Record, error]

	// Rebase replaces all records up to and including upto by base, which gets
	// the number upto. Records above upto stay. Durable on return. A second
	// call with the same upto replaces the base. ErrConflict if there is no record
	// upto: it is above the head, below an existing base, or was deleted. If upto
	// is the head, blobs whose keys are not in keepBlobs are dropped; else all stay,
	// since the records above may have brought some. The snapshot is dropped, too:
	// it may hold what the base leaves out. Last and Wake stay. It may end with
	// ErrUnknown, as an append may; to call it again is right then.
	Rebase(ctx context.Context, stream string, upto uint64, base []byte, keepBlobs []string) error

	// Due yields the streams whose wake is not Never and not after t, earliest first.
	Due(ctx context.Context, t Wake) iter.Seq2[Info, error]

	// SaveSnapshot replaces the stream's snapshot, without any promise of
	// durability. ErrNotFound if the stream does not exist or is deleted,
	// ErrInvalid if s.Seq is above its head.
	SaveSnapshot(ctx context.Context, stream string, s Snapshot) error
	// LoadSnapshot returns the stream's snapshot if there is one.
	LoadSnapshot(ctx context.Context, stream string) (s Snapshot, ok bool, err error)

	// Blob returns the value of key, or ErrNotFound.
	Blob(ctx context.Context, stream, key string) ([]byte, error)

	// Delete removes the stream's records, snapshot, blobs and wake for good, if
	// its head is still expected (else ErrConflict). A tombstone keeps the head and
	// Last. Deleting a deleted stream is no error, nor is deleting one that never
	// was (expected 0), which leaves nothing behind. Durable on return, else
	// ErrUnknown as for Rebase.
	Delete(ctx context.Context, stream string, expected uint64) error

	// List returns up to limit streams whose names start with prefix, in the
	// order of their names, after the name after. Deleted ones are listed, too.
	List(ctx context.Context, prefix, after string, limit int) ([]Info, error)

	// Check walks everything and yields one error for each fault that it finds.
	Check(ctx context.Context) iter.Seq[error]

	// Health is nil while the store takes appends, else says in words why not.
	Health() error

	// Close waits for the appends under way and releases the files. Further
	// calls answer ErrClosed. Safe to call twice.
	Close() error
}
