package node

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// host lets the sockets speak to the agents.
type host struct {
	byKebab map[string]string
	runtime *actors.Runtime // set before the first request
}

var _ protocol.Host = (*host)(nil)

func kebabNames(agents []*actors.Agent) map[string]string {
	names := make(map[string]string, len(agents))
	for _, a := range agents {
		names[protocol.Kebab(a.Name)] = a.Name
	}
	return names
}

func (h *host) Class(segment string) (string, bool) {
	class, ok := h.byKebab[segment]
	return class, ok
}

func (h *host) Chats(class string) bool {
	a, ok := h.runtime.Class(class)
	return ok && a.Chats()
}

func (h *host) Enter(ctx context.Context, r *http.Request, parent, child feed.Address) error {
	return wire(h.runtime.Enter(ctx, r, parent, child))
}

func (h *host) Message(ctx context.Context, a feed.Address, id string) (out []byte, err error) {
	err = h.with(a, func(r *actors.Ref) error {
		m, err := r.Message(ctx, id)
		out = m.AppendJSON(nil)
		return err
	})
	return out, err
}

func (h *host) Await(ctx context.Context, a feed.Address, request string) (out protocol.Outcome, err error) {
	err = h.with(a, func(r *actors.Ref) error {
		response, err := r.Await(ctx, request)
		if errors.Is(err, actors.ErrInterrupted) {
			return &actors.Error{Code: actors.Unavailable, Message: "the agent was interrupted; please ask again"}
		}
		out = outcome(response)
		return err
	})
	return out, err
}

// outcome is a response as clients get it.
func outcome(r actors.ChatResponse) protocol.Outcome {
	out := protocol.Outcome{Status: feed.Outcome(r.Status)}
	if r.Err != nil {
		out.Text = r.Err.Error()
	}
	if r.Message.ID != "" {
		out.Message = r.Message.AppendJSON(nil)
	}
	return out
}

func (h *host) View(ctx context.Context, a feed.Address, ask uint64) error {
	return h.with(a, func(r *actors.Ref) error { return r.View(ctx, ask) })
}

func (h *host) Transcript(ctx context.Context, a feed.Address) (out []byte, err error) {
	err = h.with(a, func(r *actors.Ref) error {
		out, err = r.Transcript(ctx)
		return err
	})
	return out, err
}

func (h *host) Submit(ctx context.Context, a feed.Address, s feed.Submit) error {
	return h.with(a, func(r *actors.Ref) error { return r.Submit(ctx, s) })
}

func (h *host) Cancel(ctx context.Context, a feed.Address, request string) error {
	return h.with(a, func(r *actors.Ref) error { return r.AbortRequest(ctx, request) })
}

func (h *host) Clear(ctx context.Context, a feed.Address, by, key string) error {
	return h.with(a, func(r *actors.Ref) error { return r.Clear(ctx, by, key) })
}

func (h *host) SetMessages(ctx context.Context, a feed.Address, by string, messages []uimessage.Message) error {
	return h.with(a, func(r *actors.Ref) error { return r.SetMessages(ctx, by, messages) })
}

func (h *host) Answer(ctx context.Context, a feed.Address, answer feed.Answer) error {
	return h.with(a, func(r *actors.Ref) error { return r.Answer(ctx, answer) })
}

func (h *host) Approve(ctx context.Context, a feed.Address, approval feed.Approval) error {
	return h.with(a, func(r *actors.Ref) error { return r.Decide(ctx, approval) })
}

func (h *host) Calls(ctx context.Context, a feed.Address) (out []byte, err error) {
	err = h.with(a, func(r *actors.Ref) error {
		calls, err := r.OpenCalls(ctx)
		if err == nil {
			out, err = json.Marshal(calls)
		}
		return err
	})
	return out, err
}

func (h *host) with(a feed.Address, do func(*actors.Ref) error) error {
	return wire(do(h.runtime.Ref(a)))
}

// codes are the sockets' words for the agents' refusals.
var codes = map[actors.Code]protocol.Code{
	actors.BadRequest:   protocol.Invalid,
	actors.Conflict:     protocol.Conflict,
	actors.NotFound:     protocol.NotFound,
	actors.UnknownAgent: protocol.NotFound,
	actors.Busy:         protocol.Unavailable,
	actors.Unavailable:  protocol.Unavailable,
	actors.Stopping:     protocol.Unavailable,
	actors.Denied:       protocol.Denied,
	actors.Internal:     protocol.Internal,
	actors.Quarantined:  protocol.Quarantined,
}

// wire makes a refusal one that clients may read. Anything else stays internal.
func wire(err error) error {
	var e *actors.Error
	if !errors.As(err, &e) {
		return err
	}
	return &protocol.Error{Code: codes[e.Code], Message: e.Message, Status: e.Status}
}
