// Package feed is the vocabulary between an agent and the room of its sockets:
// what an agent lets out, in the one order in which everybody sees it. It is a
// leaf of plain types, shared by actors (which produce) and protocol (which
// turns items into frames); neither imports the other.
//
// Everything in a feed is a fact: an item that rests on an event is put only
// when that event is in the journal. (Prose chunks may run ahead of the disk by
// a bounded window.)
package feed

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// A Sink takes the items of one agent. Put is called by one goroutine at a
// time, in order, and must not block or call back into the agent.
type Sink interface{ Put(Item) }

// An Item is one thing that an agent lets out.
//
//sumtype:decl
type Item interface{ item() }

// Outcome tells how a turn ended.
type Outcome string

const (
	Completed  Outcome = "completed"
	Errored    Outcome = "error"
	Aborted    Outcome = "aborted"
	Skipped    Outcome = "skipped"
	Recovering Outcome = "recovering" // handed over to a recovery turn
)

type (
	// Loaded starts an incarnation's feed: the whole volatile picture. A sink
	// that knew an older incarnation forgets what it knew of it. Sockets stay,
	// unless that one left a stream open, whose end would never be told.
	Loaded struct {
		Pending    []string   // requests accepted, not streaming, oldest first
		Recovering string     // request that waits between two attempts; "" if none
		Failed     *Ended     // remembered terminal error, if any
		FailedLog  []Chunk    // what was streamed before it failed
		Recent     []Ended    // the last requests that ended, oldest first
		Armed      *Armed     // the continuation that is armed, if any
		Runnable   []Runnable // calls that wait for a client to run them
	}

	// Accepted: a turn has been accepted and does not stream yet.
	Accepted struct{ Request string }

	// Opened: a turn has begun to stream. At most one stream is open.
	Opened struct {
		Request      string
		Continuation bool
		Page         string // Key of the client that the continuation belongs to; "": to nobody
	}

	// Chunk is one UI-message chunk of the open stream.
	Chunk struct {
		Seq  uint64 // rises strictly within a request; gaps are allowed
		Body []byte // JSON of one uimessage.Chunk; never changed after Put
	}

	// Closed: the open stream has ended. Its transcript and Ended follow.
	Closed struct{ Request string }

	// Transcript is the whole conversation, for everybody but one.
	Transcript struct {
		Messages []byte // JSON array of UI messages
		Request  string // excludes the socket that sent this request, if any
		By       string // excludes this socket, if any
		Private  bool   // instead: only for the socket that sent Request
	}

	// Ended: a turn is over; exactly one for each Accepted. It is the last item of its request.
	Ended struct {
		Request      string
		Outcome      Outcome
		Text         string // readable text of an error, or words in place of an answer
		InBand       bool   // the error came as a chunk of the stream: two frames
		Continuation bool
		MessageIDs   []string // trailing user messages of the request
		Private      bool     // only the requester is told (a skipped request)
	}

	// Cleared: the conversation was wiped.
	Cleared struct{ By string } // excludes this socket, if any

	// Recovery: a cut-off turn waits for its next attempt (or no longer does).
	Recovery struct {
		On      bool
		Request string
	}

	// Armed: answers have come that a continuation is to go on with, under that request
	// id. It is not accepted yet, and waits, if need be, for siblings or for the end of a
	// turn. Again for each answer that comes meanwhile; then Accepted, or Disarmed.
	Armed struct {
		Request string
		Page    string // Key of the client that has answered last: it is waited for by none but that
	}

	// Disarmed: that continuation does not come.
	Disarmed struct{ Request string }

	// Updated: one message has changed in place, by an answer to one of its calls.
	Updated struct{ Message []byte }

	// Runnable: a call without a function of the server's has been approved, and waits
	// for one client to run it. Message is its message with the call as input-available,
	// for the eyes of that client alone. Settled says when it has an outcome.
	Runnable struct {
		Call    string
		Message []byte
		Page    string // Key of the client that has approved; "" if there is none
		Now     bool   // that client does not ask first: the continuation is not for it
	}

	// Settled: a call that was Runnable is no longer.
	Settled struct{ Call string }

	// MCP: the states of the agent's MCP servers have changed.
	MCP struct{ JSON []byte } // the frame's field mcp, an object

	// View answers Host.View: the transcript and the state as of this place in the feed.
	View struct {
		Ask      uint64
		Messages []byte // JSON array of UI messages; nil: the agent is no chat agent
		Wiped    bool   // empty because it was cleared, not because it is new
		State    []byte // JSON of the author's state; nil: there is none
		MCP      []byte // as in the item; nil: there are no servers
	}

	// State: the author's state has changed.
	State struct {
		JSON []byte
		By   string // excludes this socket, if any
	}

	// Cast is a frame of the author's own for all sockets but some.
	Cast struct {
		Data   []byte
		Binary bool
		Except []string // sockets
	}

	// Closing: all sockets are closed, after what is due to them.
	Closing struct {
		Code   int
		Reason string
	}
)

func (Loaded) item()     {}
func (Accepted) item()   {}
func (Opened) item()     {}
func (Chunk) item()      {}
func (Closed) item()     {}
func (Transcript) item() {}
func (Ended) item()      {}
func (Cleared) item()    {}
func (Recovery) item()   {}
func (Armed) item()      {}
func (Disarmed) item()   {}
func (Updated) item()    {}
func (Runnable) item()   {}
func (Settled) item()    {}
func (MCP) item()        {}
func (View) item()       {}
func (State) item()      {}
func (Cast) item()       {}
func (Closing) item()    {}

// A Submit is a chat request that has been parsed and checked at the edge.
type Submit struct {
	// Fingerprint, if any, tells requests of one id apart: the id is then a caller's
	// idempotency key, and another request under it is refused.
	Fingerprint []byte
	Request     string // chosen by the client
	By          string // the socket that asks, if any
	Readonly    bool   // which may not change the agent's state
	Messages    []uimessage.Message
	Regenerate  bool
	Append      bool            // Messages are added to the conversation, instead of being the client's whole list
	Body        json.RawMessage // custom fields as one object; nil if there are none
	ClientTools json.RawMessage // array; nil if absent
}

// An Answer is the outcome of a tool call, as a client or a person gives it.
type Answer struct {
	Call        string // its id
	Output      json.RawMessage
	Failed      bool
	ErrorText   string          // of Failed; "": it was declined
	Continue    bool            // the turn goes on when its siblings are answered, too
	ClientTools json.RawMessage // array; nil: as they were
	By          string          // the socket, if any
	Page        string          // its Key
	Who         string          // whom it speaks for, if that is known
}

// An Approval is a person's decision on a call that waits for one.
type Approval struct {
	Call     string
	Approved bool
	Reason   string
	Continue bool
	By, Page string
	Who      string
}
