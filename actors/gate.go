package actors

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Deny is a refusal with an HTTP status and a text that a client may read. It
// panics if status is none from 400 to 599.
func Deny(status int, text string) error {
	if status < 400 || status > 599 {
		panic(fmt.Sprintf("actors: Deny: status %d is none from 400 to 599", status))
	}
	return &Error{Code: Denied, Status: status, Message: text}
}

// Enter asks the gate of parent, BeforeSubAgent of its class, whether r may reach
// its sub-agent child. A socket's child is registered on return, which is durable;
// a plain request brings nothing into being.
func (rt *Runtime) Enter(ctx context.Context, r *http.Request, parent, child feed.Address) error {
	if err := rt.checkAddress(child); err != nil {
		return err
	}
	class, ok := rt.classes[parent.Class]
	if !ok {
		return errUnknown(parent.Class)
	}
	if class.BeforeSubAgent == nil {
		return Deny(http.StatusForbidden, "sub-agents of this agent cannot be reached")
	}
	ref := rt.Ref(parent)
	if err := ref.askGate(ctx, r, class, ChildAddress{child.Class, child.Name}); err != nil {
		return err
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return nil
	}
	return ref.register(ctx, child)
}

func (r *Ref) askGate(ctx context.Context, req *http.Request, class *Agent, child ChildAddress) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, class.hookTimeout(), errHookTimeout)
	defer cancel()
	if p := guard(func() { err = class.BeforeSubAgent(ctx, r.self(), req, child) }); p != nil {
		return fmt.Errorf("BeforeSubAgent of %s: %w", r.addr, p)
	}
	return err
}
