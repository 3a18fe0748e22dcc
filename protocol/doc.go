// Package protocol is the WebSocket and HTTP side of a node: routes, frames,
// the room of an agent's sockets, resume, state and calls. It speaks the wire protocol of the
// published Agents SDK clients (npm agents 0.32, @cloudflare/ai-chat 0.12) and
// knows nothing of how agents work: it asks a Host and is told through a feed.
//
// # The way of a fact
//
//	Host ── feed item ──► room ── log entry ──► cursor of each socket ──► frame
//
// A room belongs to one agent. It keeps one ordered log of frames; each socket
// reads it with a cursor that its own writer advances. What is meant for one
// socket alone, a replay above all, stands in the same log. From that follow:
//
//   - Each socket sees everything in the order in which it was decided, and a
//     replay and the live stream join without gap or overlap.
//   - A frame is encoded once for all sockets.
//   - What a socket may see is decided by marks in the log (it has been offered
//     a stream; it has accepted; the stream is over), not by what is true when
//     its writer gets there.
//   - A slow socket costs memory only up to a bound; then it is closed with 1013
//     and its client resumes. An idle room holds no frames, and a room with an open
//     stream that stream's chunks, which any page may come and ask for.
//
// Clients without sockets have the same room: a response that streams is a seat
// that follows one answer alone (see viewer), a turn is submitted as a frame is.
//
// # Duties of the Host
//
//  1. Of each incarnation of an agent, in this order: Handler.Room, feed.Loaded,
//     items in the order of the agent's decisions, each only when it is a fact;
//     at last Handler.Gone if it left memory with nothing under way, or
//     Handler.Lost if it ended in any other way.
//  2. For each request: Accepted; then, if it streams, Opened, Chunks with rising
//     numbers, Closed, Transcript; then exactly one Ended. At most one stream is
//     open. The transcript comes before the end, else it could wipe what a user
//     sends in the moment the answer is complete.
//  3. For each Host.View that returns nil, one feed.View.
//  4. For each socket one Peer, asked for before anything is sent to it: its Terms
//     decide what the connect sequence has. A state that a socket or the author has
//     set is put as a feed.State before SetState, or the call that did it, returns.
//     Likewise the feed.Armed or feed.Runnable that comes of an answer, before Answer
//     or Approve returns: its page asks for what there is to resume right after it.
//  5. While a stream is open, transcripts show its message as it was when the
//     stream opened: the rest comes to a late socket as a replay.
//
// # What a client is spared
//
// A stream is offered once its first chunk is there, so that every replay begins
// with it. A reconnecting page whose request waits is parked and told when it
// streams, or that it will not. An error that nobody saw is offered to whoever
// asks next. A connection never gets chunks of a stream that it was offered and
// has not accepted, and gets the end of it in any case. A command that has been
// read is carried out, even if the page is closed right after sending it.
//
// # Calls
//
// Answers to calls come as frames or over HTTP, and have no order but that of their
// arrival: the first counts. What goes on with them belongs to the page that has
// answered last, since its hook waits for that; a page is the key that its sockets
// share, so that one which has lost its connection still is it. A call that a page is to
// run is shown as such to one page, or each would run it (see token).
//
// # What is the author's
//
// A frame that is none of the protocol's goes to the Peer as it came: unknown types,
// the types that a node sends, what only looks like a call, binary frames, and to an
// agent that does not chat the frames of the chat. What the author sends, to one
// socket or to all, and the replies to calls stand in the log with everything else;
// an offer that is not accepted holds back the chat alone. A streaming method waits
// while its socket has half of what may wait for it, so that it never is the cause
// of a close.
//
// # Goroutines
//
// A socket has a reader and a writer; what its client sends is done in the order of
// its arrival by a third goroutine that exists only while there is something, so an
// agent that is slow never keeps pings and closes from being answered. What the
// author wrote about sockets (Opened, Message, Closed) runs in order on a fourth,
// each call on its own behind Opened, and neither holds up the chat. As much may
// wait for the author as in one frame of the largest size; after that the client
// waits. Handler.Close waits for all of them.
package protocol
