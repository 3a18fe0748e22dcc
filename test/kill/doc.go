// Package kill kills a node with kill -9 at random moments, while several agents
// answer and clients reconnect as the official hook does, and checks after each
// kill, against the journal as it lies on disk, that
//
//   - what any client was told has happened: a request that was accepted, an end
//     and its outcome, a message, a clear are in the journal;
//   - each accepted request ends exactly once, and clients are told;
//   - records do not change once they are written, and no position of a stream is
//     used for two chunks;
//   - each socket gets each stream from its first chunk on, without gap, repeat or
//     a frame after its end;
//   - answers are made of whole pieces: a cut-off one is a prefix, a continued one
//     is a prefix and then the rest, a completed one ends with its last word;
//   - at the end, what clients hold equals what is stored.
//
// A second test runs the same against a store that answers before it stores, and
// demands that the check notices.
//
//	go test ./test/kill -kills 200 -seed 1
package kill
