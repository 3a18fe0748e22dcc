// Package wire plays the recorded scenarios of testdata against a real node over
// real sockets, and compares what every connection receives, frame by frame.
//
// A recording says what the published clients of the Agents SDK rely on. The
// scenarios say what each connection sends and which frames it waits for; they
// judge nothing. Ends are not awaited by the clock: a question that has an answer
// of its own (see stage.settle) comes after everything that was due before it.
package wire
