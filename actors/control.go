package actors

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
)

// AbortAllRequests ends the turn that has its slot: one that runs, that waits to be
// tried again, or whose messages are being made. What it has said is kept; what is
// queued behind it goes on. Durable on return.
func (r *Ref) AbortAllRequests(ctx context.Context) error {
	return r.ask(ctx, ask{cmd: chat.Interrupt{}})
}

// ResetTurnState ends all turns and keeps the conversation: what runs is aborted, with
// what it has said, and what is queued is skipped. Calls of OnChatResponse that are
// due or under way are dropped; none is made for these ends. Durable on return.
func (r *Ref) ResetTurnState(ctx context.Context) error {
	return r.ask(ctx, ask{cmd: chat.Reset{}})
}

// HasPendingInteraction reports whether any answer, stored or being written, has a
// tool call that waits for its output or for an approval. It counts calls of the
// server's tools, too.
func (r *Ref) HasPendingInteraction(ctx context.Context) (pending bool, err error) {
	err = r.query(ctx, func(s *chat.State, _ *outflow, _ uint64) { pending = s.HasPendingInteraction() })
	return pending, err
}

// Await returns the end of a request's turn, waiting for it if need be. A turn that a
// crash has cut off is followed. Ends are remembered for the last 32 turns, and for the
// last 1,000 requests of those that had a fingerprint, also over restarts; the answer
// is in the response as long as it is in the conversation.
//
// An Error of code NotFound says that the agent does not know the request, or no
// longer. Else errors are as for Chat; the end of ctx ends the wait alone.
func (r *Ref) Await(ctx context.Context, request string) (ChatResponse, error) {
	over, err := r.wait(ctx)
	if err != nil {
		return ChatResponse{}, err
	}
	defer over()
	end := make(chan ChatResponse, 1)
	err = r.visit(ctx, func(a *shell) error {
		if !a.watchTurn(request, end) {
			return &Error{Code: NotFound, Message: fmt.Sprintf("request %q is not known", request)}
		}
		return nil
	})
	if err != nil {
		return ChatResponse{}, err
	}
	return r.response(ctx, end)
}
