// Package bolt is the persistence.Store of a single node: one bbolt file, no
// service, no further files.
//
// # How it works
//
// One goroutine writes. It takes all appends that are pending, of all streams, at
// most 4,096 or 4 MiB of them, into one bbolt transaction, and answers them after
// the commit, which costs two fdatasync whatever is in it. While several appends
// at a time come it waits, at most 2 ms, for those who wrote a moment ago; appends
// that come one at a time, from one stream or several, never wait.
//
// Reads copy pages of at most 256 records or 1 MiB (or one larger record) out of
// short transactions and hold none while the caller works, since a transaction
// that stays open lets the file grow. A Read therefore looks up the stream again
// for each page. Appends do not disturb it: it ends at the head that it began
// with. If a Rebase or a Delete has taken away records that it has not yielded, it
// ends with persistence.ErrUnavailable; Read again.
//
// Due and List are paged, too. They see each stream as it is when its page is read.
//
// # When the disk fails
//
// If a commit fails, its outcome is unknown: all its appends get ErrUnknown and
// the store suspends itself. Appends then get ErrUnknown, all else ErrUnavailable,
// and Health says why. The writer tries to open the file again, first after 50 ms,
// then at growing intervals of at most 5 s. Once the file can be opened, and its
// headers can be written again and synced, so that what is seen is on the disk and
// not only in the page cache, the store serves again. Then Find tells what became
// of each append.
//
// bbolt reads through a memory map. A page that the disk cannot deliver is a fault
// in the address space (SIGBUS), not an error. The goroutines of this package turn
// such faults into ErrUnavailable (debug.SetPanicOnFault), but bbolt itself scans
// the file on goroutines of its own when it opens the file, and after a failed
// commit. The first scan is preceded by our own over ordinary reads, which finds
// unreadable and damaged pages before bbolt can trip over them; a page that
// becomes unreadable between a failed commit and bbolt's scan ends the process.
// That loses nothing, as a power cut would not.
//
// # Opening
//
// Open holds an exclusive lock on the file (ErrInUse if another process has it),
// reads it once from front to back, which also brings it into the page cache, and
// walks all of bbolt's pages. A file that is empty, truncated, foreign, damaged or
// of a newer format is refused in words and left as it is. This takes about one
// second per GiB in the page cache. A new file is made under the name of the
// journal with .new appended and renamed when it is complete.
//
// # The file
//
// The file is a bbolt database (magic ED0CDAED, version 2). Its freelist is not
// stored. Integers are big-endian, so that keys sort by number. All buckets are at
// the top level. This is format 1.
//
//	bucket   key                        value
//	meta     "format"                   sealed: "holdfast journal" (16), version (4)
//	heads    name of the stream         sealed: head, see below
//	records  stream id (8), seq (8)     sealed: flags (1), data
//	due      wake (8), stream id (8)    sealed: name of the stream
//	snaps    stream id (8)              sealed: seq (8), data
//	blobs    stream id (8), blob key    sealed: data
//
// Every value is sealed: its first four bytes are the CRC-32C (Castagnoli) of the
// key followed by the rest of the value. So a changed bit is found in any value,
// and a value under another's key, too. The pages of bbolt have no checksums of
// their own; Open and Check verify their structure.
//
//	offset  length  sealed value of heads
//	0       4       CRC-32C
//	4       1       flags: 1 deleted
//	5       8       stream id, from the sequence of bucket heads, never used again
//	13      8       head: number of the last record, 0 if there never was one
//	21      8       first: number of the first record that is there, or will be
//	29      8       base: number of the base record, 0 if there is none
//	37      16      batch of the newest append: incarnation, n
//	53      8       wake, milliseconds since the Unix epoch; 0 never, 1 now
//
//	offset  length  sealed value of records
//	0       4       CRC-32C
//	4       1       flags: 1 streamed (else durable), 2 base
//	5       …       data
//
// Invariants, which Check verifies, for each row of heads:
//
//   - records has each number from first to head once, and none else of that id;
//   - base is 0 or first, and the flag base is set on that record alone;
//   - due has the pair (wake, id) if wake is not 0, and none else of that id;
//   - a deleted stream has base 0, wake 0, first = head + 1, no snapshot, no blobs;
//   - the snapshot's seq is not above head.
//
// Each id in the other buckets belongs to a row of heads. To read a stream, take
// its row in heads and walk records from (id, first) to (id, head).
package bolt
