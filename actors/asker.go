package actors

import (
	"context"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// noteAsker remembers which socket has asked for a turn, until that is over.
func (a *shell) noteAsker(request, socket string) {
	if socket == "" {
		return
	}
	for r := range a.askers {
		if a.core.State.Turns.Request(r) == nil {
			delete(a.askers, r)
		}
	}
	a.askers[request] = socket
}

// cause is the context of an effect. What a turn runs knows the socket that has
// asked for it, if that is open, and whether it may change the state, in any case.
func (a *shell) cause(e chat.Effect) context.Context {
	_, handler := e.(chat.Handle)
	_, model := e.(chat.CallModel)
	_, tool := e.(chat.RunTool)
	t := a.core.State.Turns.Running()
	if !handler && !model && !tool || t == nil {
		return a.ctx
	}
	ctx := a.ctx
	if t.Readonly {
		ctx = context.WithValue(ctx, readonlyKey{}, a.addr)
	}
	if c := a.rt.lobbies.find(a.addr, a.askers[t.Request]); c != nil {
		ctx = withConnection(ctx, c)
	}
	return ctx
}

type readonlyKey struct{}

// readonly reports whether what ctx is for was caused by a client that may not
// change the agent's state.
func (r *Ref) readonly(ctx context.Context) bool {
	of, _ := ctx.Value(readonlyKey{}).(feed.Address)
	c := ConnectionFrom(ctx)
	return of == r.addr || c != nil && c.agent == r.addr && c.terms.Readonly
}
