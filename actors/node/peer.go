package node

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// peer is an agent's socket, with refusals in the sockets' words.
type peer struct{ *actors.Peer }

func (h *host) Connect(ctx context.Context, a feed.Address, s feed.Socket, r *http.Request) (protocol.Peer, error) {
	p, err := h.runtime.Ref(a).Connect(ctx, s, r)
	if err != nil {
		return nil, wire(err)
	}
	return peer{p}, nil
}

func (p peer) SetState(ctx context.Context, state json.RawMessage) error {
	return wire(p.Peer.SetState(ctx, state))
}

func (p peer) Call(ctx context.Context, method string, args []json.RawMessage, send func(json.RawMessage) error) (json.RawMessage, error) {
	result, err := p.Peer.Call(ctx, method, args, send)
	return result, wire(err)
}

func (h *host) Serve(w http.ResponseWriter, r *http.Request, a feed.Address, rest string) bool {
	return h.runtime.Ref(a).Serve(w, r, rest)
}
