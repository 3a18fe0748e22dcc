package protocol

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Host runs the agents. It is all that this package needs from the rest of the
// node. All methods may be called concurrently and honour their context.
//
// Commands return when what they ask for is durable (or refused); what follows
// reaches the agent's room through its feed. Errors are *Error values when a
// client is to blame, anything else is an internal failure that is logged and
// told to the client as "internal error".
type Host interface {
	// Class returns the registered class whose kebab name is segment.
	Class(segment string) (class string, ok bool)

	// Chats reports whether agents of that class are chat agents. The frames and
	// paths of the chat protocol mean nothing to others.
	Chats(class string) bool

	// Connect makes an agent acquainted with a socket that has been accepted,
	// before anything is sent to it. r is the upgrade request; its body is not
	// used. An error closes the socket with the code of an *Error, and nothing that
	// it has sent is done. s takes frames at once; they follow the connect sequence.
	Connect(ctx context.Context, a feed.Address, s feed.Socket, r *http.Request) (Peer, error)

	// Enter asks parent's gate whether r may reach its sub-agent child. An error
	// refuses the request: a plain one with its status, a socket with 4000 more for
	// 4xx, else with 1011.
	Enter(ctx context.Context, r *http.Request, parent, child feed.Address) error

	// Serve answers a plain request that is none of the protocol's; false: it is
	// nobody's, and nothing was written. rest is what follows the agent's path, with
	// a slash in front, as it stands in the URL.
	Serve(w http.ResponseWriter, r *http.Request, a feed.Address, rest string) bool

	// View wakes the agent if need be and puts a feed.View{Ask: ask} into its
	// feed, behind everything that was decided before.
	View(ctx context.Context, a feed.Address, ask uint64) error

	// Transcript returns the stored conversation as a JSON array of UI messages.
	Transcript(ctx context.Context, a feed.Address) ([]byte, error)

	// Submit asks for a turn. Submitting a request id again changes nothing.
	Submit(ctx context.Context, a feed.Address, s feed.Submit) error

	// Cancel ends the turn of that request, running or queued. An unknown or
	// ended request is no error.
	Cancel(ctx context.Context, a feed.Address, request string) error

	// Clear wipes the conversation and ends all its turns. by is the socket
	// that asked (excluded from feed.Cleared). key makes a repeat harmless.
	Clear(ctx context.Context, a feed.Address, by, key string) error

	// SetMessages inserts or replaces messages by id; it removes none. by is
	// excluded from the broadcast.
	SetMessages(ctx context.Context, a feed.Address, by string, messages []uimessage.Message) error

	// Message returns one stored message as JSON, whole even where the transcript
	// has a compacted one. NotFound if there is none of that id.
	Message(ctx context.Context, a feed.Address, id string) ([]byte, error)

	// Answer gives a call its outcome, Approve decides on one that waits for approval.
	// Durable on return. The first answer counts: another one is a Conflict. NotFound:
	// no message has such a call.
	Answer(ctx context.Context, a feed.Address, answer feed.Answer) error
	Approve(ctx context.Context, a feed.Address, approval feed.Approval) error

	// Calls returns the calls that wait for a client or a person, as a JSON array of
	// objects: toolCallId, toolName, input, messageId, state, approvalId if it is to be
	// approved, and expiresAt in RFC 3339 if it expires.
	Calls(ctx context.Context, a feed.Address) ([]byte, error)

	// Await returns when the turn of a request has ended, following it through
	// recoveries. NotFound if the agent does not know the request (any more).
	Await(ctx context.Context, a feed.Address, request string) (Outcome, error)
}

// Outcome is the end of a turn.
type Outcome struct {
	Status  feed.Outcome
	Text    string          // readable text of an error
	Message json.RawMessage // the answer; nil if there is none
}

// A Peer is what an agent makes of one of its sockets. SetState and Call may be
// called concurrently with everything; Opened, Message and Closed come in this
// order, one at a time, and run author's code: they may take their time, which
// holds up nothing of the protocol. A panic is logged, and ends the socket with 1011;
// one in Call, that call.
type Peer interface {
	// Terms are asked once, before the connect sequence.
	Terms() feed.Terms

	// Opened: the connect sequence is on its way (or the socket has gone already).
	Opened(ctx context.Context)

	// Message is a frame that is none of the protocol's.
	Message(ctx context.Context, data []byte, binary bool)

	// Closed is the last call, one for each Peer: also if Opened never was, because
	// the agent could not be woken. code is 1006 if the socket just broke.
	Closed(code int, reason string)

	// SetState replaces the agent's state; durable on return. The text of an
	// *Error is told to this socket alone, any other as "State update rejected".
	SetState(ctx context.Context, state json.RawMessage) error

	// Call runs a method of the author's; calls of one socket run side by side, 64
	// at most. send passes on what a streaming method says before its end; it waits
	// while too much is on its way, and fails when the socket is gone. result is nil
	// if the method returns nothing. The text of an *Error is told to the caller, any
	// other as "Unknown error occurred". ctx ends when the node stops, and from the
	// first send on also with the socket: a call that was read is carried out, even
	// if its page is closed.
	Call(ctx context.Context, method string, args []json.RawMessage, send func(json.RawMessage) error) (result json.RawMessage, err error)
}
