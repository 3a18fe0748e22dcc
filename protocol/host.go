package protocol

import (
	"context"

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
}
