package actors

import (
	"bytes"
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Broadcast sends a text frame of the author's own to all sockets of the agent
// but some, behind everything that the agent has decided before. It is told to
// who is connected, and stored nowhere.
func (r *Ref) Broadcast(ctx context.Context, text string, except ...*Connection) error {
	return r.cast(ctx, []byte(valid(text)), false, except)
}

// BroadcastBinary is Broadcast with a binary frame.
func (r *Ref) BroadcastBinary(ctx context.Context, data []byte, except ...*Connection) error {
	return r.cast(ctx, bytes.Clone(data), true, except)
}

// BroadcastJSON is Broadcast with the JSON of v.
func (r *Ref) BroadcastJSON(ctx context.Context, v any, except ...*Connection) error {
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("actors: broadcast: %w", err)
	}
	return r.cast(ctx, data, false, except)
}

func (r *Ref) cast(ctx context.Context, data []byte, binary bool, except []*Connection) error {
	item := feed.Cast{Data: data, Binary: binary}
	for _, c := range except {
		if c != nil { // of ConnectionFrom
			item.Except = append(item.Except, c.ID())
		}
	}
	return r.query(ctx, func(_ *chat.State, out *outflow, version uint64) {
		out.put(output{need: version, item: item})
	})
}
