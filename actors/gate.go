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
// its sub-agent child. On return the child of a socket, and of a request that may
// change something, is registered, which is durable; one that only looks brings
// nothing into being.
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
	err := rt.author(ctx, class.hookTimeout(), func(ctx context.Context) error {
		return class.BeforeSubAgent(ctx, ref.self(), r, ChildAddress{child.Class, child.Name})
	})
	if err != nil {
		return fmt.Errorf("BeforeSubAgent of %s: %w", parent, err)
	}
	if looks[r.Method] && !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return nil
	}
	return ref.register(ctx, child)
}

// looks are the methods of requests that change nothing.
var looks = map[string]bool{http.MethodGet: true, http.MethodHead: true, http.MethodOptions: true}
