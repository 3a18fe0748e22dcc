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

// agent returns the handle of an address whose class came from Class.
func (h *host) agent(a feed.Address) (*actors.Ref, error) {
	if _, ok := h.runtime.Class(a.Class); !ok {
		return nil, &protocol.Error{Code: protocol.NotFound, Message: "no such agent class"}
	}
	return h.runtime.Ref(a), nil
}

func (h *host) Chats(string) bool { return true }

func (h *host) Connect(context.Context, feed.Address, feed.Socket, *http.Request) (protocol.Peer, error) {
	return peer{}, nil
}

func (h *host) Enter(ctx context.Context, r *http.Request, parent, child feed.Address) error {
	return wire(h.runtime.Enter(ctx, r, parent, child))
}

func (h *host) Serve(http.ResponseWriter, *http.Request, feed.Address, string) bool { return false }

func (h *host) Message(context.Context, feed.Address, string) ([]byte, error) {
	return nil, &protocol.Error{Code: protocol.NotFound, Message: "Not Found"}
}

func (h *host) Await(context.Context, feed.Address, string) (protocol.Outcome, error) {
	return protocol.Outcome{}, &protocol.Error{Code: protocol.NotFound, Message: "Not Found"}
}

// peer is a socket whose agent takes no notice of it.
type peer struct{}

func (peer) Terms() feed.Terms                     { return feed.Terms{} }
func (peer) Opened(context.Context)                {}
func (peer) Message(context.Context, []byte, bool) {}
func (peer) Closed(int, string)                    {}
func (peer) SetState(context.Context, json.RawMessage) error {
	return &protocol.Error{Code: protocol.Invalid, Message: "State update rejected"}
}

func (peer) Call(_ context.Context, method string, _ []json.RawMessage, _ func(json.RawMessage) error) (json.RawMessage, error) {
	return nil, &protocol.Error{Code: protocol.NotFound, Message: "Method " + method + " does not exist"}
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

func (h *host) with(a feed.Address, do func(*actors.Ref) error) error {
	r, err := h.agent(a)
	if err != nil {
		return err
	}
	return wire(do(r))
}

// codes are the sockets' words for the agents' refusals.
var codes = map[actors.Code]protocol.Code{
	actors.BadRequest:   protocol.Invalid,
	actors.UnknownAgent: protocol.NotFound,
	actors.Busy:         protocol.Unavailable,
	actors.Unavailable:  protocol.Unavailable,
	actors.Stopping:     protocol.Unavailable,
	actors.Quarantined:  protocol.Quarantined,
	actors.Denied:       protocol.Denied,
}

// wire makes a refusal one that clients may read. Anything else stays internal.
func wire(err error) error {
	var e *actors.Error
	if !errors.As(err, &e) {
		return err
	}
	return &protocol.Error{Code: codes[e.Code], Message: e.Message, Status: e.Status}
}
