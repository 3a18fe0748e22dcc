package actors

import (
	"context"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
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
// asked for it, if that is open; a turn that goes on after a crash was asked for by none.
func (a *shell) cause(e chat.Effect) context.Context {
	_, handler := e.(chat.Handle)
	_, model := e.(chat.CallModel)
	t := a.core.State.Turns.Running()
	if !handler && !model || t == nil {
		return a.ctx
	}
	if c := a.rt.lobbies.find(a.addr, a.askers[t.Request]); c != nil {
		return withConnection(a.ctx, c)
	}
	return a.ctx
}
