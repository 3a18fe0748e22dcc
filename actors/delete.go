package actors

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Destroy ends all turns of the agent, the running one as aborted and those that
// wait as skipped, closes its sockets with 1001 and lets it leave memory. The
// conversation stays, and whoever calls next brings the agent back. Durable on
// return.
func (r *Ref) Destroy(ctx context.Context) error {
	err := r.await(ctx, func(reply func(error)) any {
		return ask{cmd: chat.Reset{}, reply: reply, items: func(*chat.State) []feed.Item {
			return []feed.Item{feed.Closing{Code: 1001, Reason: "Agent destroyed"}}
		}}
	})
	if err == nil {
		r.rt.whisper(r.addr, goSoon{})
	}
	return err
}

// Delete deletes the agent for good: its turns end, its sockets are closed with
// 1001, and all that is stored of it and of its sub-agents is erased. Once begun it
// is finished, also over crashes, whether or not ctx ends. On return nothing is
// left, and the name stands for a new agent, which has nothing of the old one. An
// agent that there never was is no error. A sub-agent is also forgotten by its
// parent.
//
// The bytes are gone from the journal, and from the disk when the space is used
// again or the journal compacted.
func (r *Ref) Delete(ctx context.Context) error {
	if parent, ok := r.Parent(); ok {
		return parent.deleteChild(ctx, r)
	}
	return r.deleteAlone(ctx, "")
}

// deleteAlone deletes the agent, and does not tell its parent.
func (r *Ref) deleteAlone(ctx context.Context, reason string) error {
	return r.await(ctx, func(reply func(error)) any { return deletion{reason, reply} })
}

// deletion is answered when nothing is left of the agent.
type deletion struct {
	reason string
	reply  func(error)
}

// delete begins the end of the agent, or joins one that has begun.
func (a *shell) delete(m deletion) {
	s := &a.core.State
	switch {
	case s.Family.Deleted:
	case !s.Ledger.Created:
		a.out.put(output{need: a.version(), item: chat.Closing(a.addr.Parent)})
		a.out.put(output{need: a.version(), send: m.reply})
		return
	default:
		a.step(chat.Delete{Reason: m.reason})
	}
	a.deletions = append(a.deletions, m.reply)
}

// dismantle lets nobody in any more, once it is stored that the agent is deleted.
// Who comes now meets the next agent of that name.
func (a *shell) dismantle() {
	if a.phase != up && a.phase != leaving || !a.core.State.Family.Deleted || len(a.tail) > 0 {
		return
	}
	a.phase = erasing
	a.slot.leave()
}

// receiveErasing takes what erasing needs. Nothing is decided any more.
func (a *shell) receiveErasing(m any) {
	switch m := m.(type) {
	case deletion:
		a.deletions = append(a.deletions, m.reply)
	case ended:
		a.endedErasing(m)
	case drain:
		a.rest()
	default:
		a.receiveAnswer(m)
		refuse(m, refusal(chat.ErrDeleted))
	}
}

func (a *shell) endedErasing(m ended) {
	delete(a.running, m.key)
	switch e, ok := m.outcome.(chat.Erased); {
	case !ok: // of a turn that was cut off
	case e.Gone:
		done := a.deletions
		a.deletions = nil
		a.end(refusal(chat.ErrDeleted))
		for _, reply := range done {
			reply(nil)
		}
		a.stop()
	default:
		a.lost("a deleted agent could not be erased", errors.New("another writer has appended to its journal"))
	}
}

// prepareErase deletes all sub-agents and then the agent's own journal, which is
// what says that there is something to delete.
func (a *shell) prepareErase() func(context.Context) chat.Command {
	me, rt, head, stream := a.addr, a.rt, a.durable, a.slot.stream
	children := make([]feed.Address, 0, len(a.core.State.Family.Children))
	for _, c := range a.core.State.Family.Children {
		children = append(children, me.Child(c.Class, c.Name))
	}
	return func(ctx context.Context) chat.Command {
		for _, child := range children {
			if rt.Ref(child).deleteSurely(ctx) != nil {
				return chat.Erased{}
			}
		}
		var conflict bool
		err := insist(ctx, func() error {
			if err := eraseBelow(ctx, rt.cfg.Store, stream); err != nil {
				return err
			}
			err := rt.cfg.Store.Delete(ctx, stream, head)
			if conflict = errors.Is(err, persistence.ErrConflict); conflict {
				return nil
			}
			return err
		})
		return chat.Erased{Gone: err == nil && !conflict}
	}
}

// deleteSurely deletes a sub-agent for good, however long that takes. If it
// cannot be opened, its journal is erased from outside. An error: ctx has ended.
func (r *Ref) deleteSurely(ctx context.Context) error {
	return insist(ctx, func() error {
		err := r.deleteAlone(ctx, "its parent is")
		var e *Error
		if errors.As(err, &e) && (e.Code == Quarantined || e.Code == UnknownAgent) {
			return erase(ctx, r.rt.cfg.Store, r.addr.Path())
		}
		return err
	})
}

// How long a deletion waits after a failure.
const (
	firstInsist = 100 * time.Millisecond
	lastInsist  = 10 * time.Second
)

// insist calls do until it returns nil or ctx ends.
func insist(ctx context.Context, do func() error) error {
	for wait := firstInsist; ; wait = min(2*wait, lastInsist) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if do() == nil {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}
