package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// ChildAddress names a sub-agent within its parent.
type ChildAddress struct{ Class, Name string }

// SubAgentInfo is a registered sub-agent.
type SubAgentInfo struct {
	ChildAddress
	CreatedAt time.Time // when it was registered
}

// SubAgent returns the sub-agent of that class and name, which is registered with
// its parent if it is not yet; durable on return. A sub-agent is an agent like
// any other, with a conversation and a journal of its own, but it is reached
// through its parent alone and does not outlive it. Its turns are independent of
// its parent's.
//
// name has 1 to 512 bytes of UTF-8 without NUL and may hold anything else; clients
// write it percent-encoded. While a predecessor of that name is being deleted,
// SubAgent waits until it is gone. It panics if class is not registered on this
// node. Errors: *Error if the name is not allowed, the sub-agent would be nested
// too deep or its parent has 10,000 already.
func (r *Ref) SubAgent(ctx context.Context, class *Agent, name string) (*Ref, error) {
	child := r.child(class, name)
	return child, r.register(ctx, child.addr)
}

// child is the handle of a sub-agent, registered or not.
func (r *Ref) child(class *Agent, name string) *Ref {
	r.rt.mustKnow(class)
	return &Ref{rt: r.rt, addr: r.addr.Child(class.Name, name)}
}

func (r *Ref) register(ctx context.Context, child feed.Address) error {
	if err := r.rt.checkAddress(child); err != nil {
		return err
	}
	known, err := r.hasSubAgent(ctx, child)
	if err != nil || known {
		return err // without a word in the journal
	}
	for {
		err := r.order(ctx, chat.RegisterSub{Class: child.Class, Name: child.Name, Now: nowMS()})
		if !errors.Is(err, chat.ErrRemoving) {
			return err
		}
		if err := r.awaitRemoval(ctx, child); err != nil {
			return err
		}
	}
}

// order gives a command that is for agents of every kind.
func (r *Ref) order(ctx context.Context, cmd chat.Command) error {
	return r.await(ctx, func(reply func(error)) any { return ask{cmd: cmd, reply: reply} })
}

// SubAgents lists the registered sub-agents in the order of their registration,
// without those that are being deleted.
func (r *Ref) SubAgents(ctx context.Context) ([]SubAgentInfo, error) {
	var list []SubAgentInfo
	err := r.query(ctx, func(s *chat.State, _ *outflow, _ uint64) {
		for _, c := range s.Family.Children {
			if !c.Removing {
				list = append(list, SubAgentInfo{ChildAddress{c.Class, c.Name}, time.UnixMilli(c.CreatedMS)})
			}
		}
	})
	return list, err
}

// HasSubAgent reports whether the sub-agent is registered. One that is being
// deleted no longer is. It brings nothing into being.
func (r *Ref) HasSubAgent(ctx context.Context, class *Agent, name string) (bool, error) {
	return r.hasSubAgent(ctx, r.child(class, name).addr)
}

func (r *Ref) hasSubAgent(ctx context.Context, child feed.Address) (has bool, err error) {
	err = r.query(ctx, func(s *chat.State, _ *outflow, _ uint64) {
		c := s.Family.Child(child.Class, child.Name)
		has = c != nil && !c.Removing
	})
	return has, err
}

// DeleteSubAgent deletes a sub-agent for good, as Ref.Delete does, and forgets it.
// One that there never was is no error. It panics if class is not registered on
// this node.
func (r *Ref) DeleteSubAgent(ctx context.Context, class *Agent, name string) error {
	return r.deleteChild(ctx, r.child(class, name))
}

func (r *Ref) deleteChild(ctx context.Context, child *Ref) error {
	known := false
	err := r.query(ctx, func(s *chat.State, _ *outflow, _ uint64) {
		known = s.Family.Child(child.addr.Class, child.addr.Name) != nil
	})
	switch {
	case err != nil:
		return err
	case !known: // but somebody may have used it without asking
		return child.deleteAlone(ctx, "")
	}
	if err := r.order(ctx, chat.RemoveSub{Class: child.addr.Class, Name: child.addr.Name}); err != nil {
		return err
	}
	return r.awaitRemoval(ctx, child.addr)
}

// Parent returns the agent that this one is a sub-agent of; false for a root.
func (r *Ref) Parent() (*Ref, bool) {
	up, ok := r.addr.Up()
	if !ok {
		return nil, false
	}
	return &Ref{rt: r.rt, addr: up}, true
}

// ParentPath lists the agents above this one, the root first; empty for a root.
func (r *Ref) ParentPath() []feed.Address {
	var path []feed.Address
	for up, ok := r.addr.Up(); ok; up, ok = up.Up() {
		path = append(path, up)
	}
	slices.Reverse(path)
	return path
}

// maxDepth bounds how deep sub-agents are nested: a root has none above it.
const maxDepth = 8

// checkDepth refuses what is too far down.
func checkDepth(a feed.Address) error {
	depth := 0
	for up, ok := a.Up(); ok; up, ok = up.Up() {
		depth++
	}
	if depth > maxDepth {
		return &Error{Code: BadRequest, Message: fmt.Sprintf("sub-agent is nested %d deep; the limit is %d", depth, maxDepth)}
	}
	return nil
}

// awaitRemoval is answered when the sub-agent is not, or no longer, being removed.
type awaitRemoval struct {
	child feed.Address
	reply func(error)
}

func (r *Ref) awaitRemoval(ctx context.Context, child feed.Address) error {
	return r.await(ctx, func(reply func(error)) any { return awaitRemoval{child, reply} })
}

func (a *shell) awaitRemoval(m awaitRemoval) {
	a.removals = append(a.removals, m)
	a.removed()
}

// removed answers those who wait for sub-agents that are gone.
func (a *shell) removed() {
	a.removals = slices.DeleteFunc(a.removals, func(m awaitRemoval) bool {
		if c := a.core.State.Family.Child(m.child.Class, m.child.Name); c != nil && c.Removing {
			return false
		}
		a.out.put(output{need: a.version(), send: m.reply})
		return true
	})
}

// prepareDeleteSub deletes a sub-agent for good.
func (a *shell) prepareDeleteSub(e chat.DeleteSub) func(context.Context) chat.Command {
	child := &Ref{rt: a.rt, addr: a.addr.Child(e.Class, e.Name)}
	return func(ctx context.Context) chat.Command {
		if err := child.deleteSurely(ctx); err != nil {
			return chat.SubRemoved{} // this incarnation is over
		}
		return chat.SubRemoved(e)
	}
}
