// Package uimessage is the vocabulary of a conversation as the AI SDK's clients
// know it (versions 6 and 7): messages made of parts, chunks that build them
// while a model answers, and the fold of chunks into parts. It is a pure leaf:
// plain types and functions, no I/O, no clock, no randomness.
//
// How a stream goes through this package:
//
//  1. A producer hands each chunk to a Guard before it gets a number. The guard
//     rewrites it for the wire, drops what would undo an answered tool call and
//     refuses what would make a client fail its turn.
//  2. What the guard lets out is sent, kept and folded. The Fold is the one
//     projection: live, on replay and in storage.
//  3. When the chunks of a message are gone, Unfold makes chunks again that
//     fold to the same parts.
//
// Guards and folds belong to one goroutine. Messages, parts and chunks are
// values; the raw JSON and the Extra maps in them are shared between copies and
// must not be changed in place.
//
// # JSON
//
// Field names are matched exactly (encoding/json would fold case). What this
// package reads comes out compact and as valid UTF-8: invalid bytes become
// U+FFFD, so that no frame can break a WebSocket. Fields it does not know go to
// Extra and come out unchanged. Flags that are false and optional strings that
// are empty or null are left out. Raw fields that are set by hand must hold
// valid JSON; nothing checks them again.
//
// # Call ids
//
// A tool call id names one call within a message. A second announcement of the
// same id is taken for a provider's replay and dropped, so a producer whose
// provider re-uses ids from step to step has to make them unique first.
package uimessage
