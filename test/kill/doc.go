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
//   - turns run one at a time, each question is there once, and no more than one
//     answer to it;
//   - messages that overlap are run, merged, skipped or dropped as the agent's policy
//     says, and each sender is told;
//   - each acknowledged change of a state is in it once, and sockets are never shown
//     an older state;
//   - a key of POST …/turns stands for one turn and one answer, however often and by
//     however many it is sent, and for no other body;
//   - a sub-agent that was deleted is wholly there or wholly gone, its sockets are told,
//     and nothing of it comes back under its name;
//   - OnChatResponse has each whole answer followed up once;
//   - at the end, what clients hold equals what is stored.
//
// A second test runs the same against a store that answers before it stores, and
// demands that the check notices with each kind of client.
//
//	go test ./test/kill -kills 200 -seed 1
package kill
