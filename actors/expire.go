package actors

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// An agent that nobody uses any more is deleted for good. When it was last used
// is told by the time of its newest record; the store wakes it when its time has
// come. Whatever has not changed the journal is noted in memory and stored with
// the goodbye, which moves the time.

// expiresAt is when the agent is to be deleted if nobody uses it until then, in
// milliseconds since the epoch; 0: never.
func (a *shell) expiresAt() int64 {
	if a.class.DeleteIdleAfter == 0 || !a.core.State.AtRest() {
		return 0
	}
	return a.used + a.class.DeleteIdleAfter.Milliseconds()
}

// wakeAt is when the agent has work or is to be deleted though nobody calls: see
// chat.State.WakeAt.
func (a *shell) wakeAt() int64 {
	at := a.core.State.WakeAt()
	if expires := a.expiresAt(); expires != 0 && (at == 0 || expires < at) {
		at = expires
	}
	return at
}

// stale reports whether the store would wake the agent at another time than is
// right: it was looked at since, or its class has another DeleteIdleAfter now.
func (a *shell) stale() bool { return a.wakeAt() != int64(a.storedWake) }

// used is what the search for signs of life has found: when the agent was last used.
type used struct{ at int64 }

// expire looks around before the agent is deleted.
func (a *shell) expire() {
	if a.looking {
		return
	}
	a.looking = true
	rt, ctx, me := a.rt, a.ctx, a.addr
	rt.background(func() {
		at := rt.usedBelow(ctx, me)
		a.tell(used{at})
	})
}

func (a *shell) expired(m used) {
	a.looking = false
	a.used = max(a.used, m.at)
	switch at := a.expiresAt(); {
	case at == 0 || at > nowMS():
		a.settle() // not yet
		return
	case !a.core.State.Unused():
		a.used = nowMS() // somebody is awaited: look again after as long a time
		a.settle()
		return
	}
	if parent, ok := a.addr.Up(); ok {
		a.expireChild(a.rt.Ref(parent))
		return
	}
	a.log.Info("nobody has used the agent for DeleteIdleAfter: it is deleted")
	a.step(chat.Delete{Reason: "idle", IfUnused: true})
}

// expireChild has the parent delete the agent, since it has to forget it as well.
func (a *shell) expireChild(parent *Ref) {
	ctx, child := a.ctx, a.rt.Ref(a.addr)
	a.looking = true
	a.rt.background(func() {
		if err := parent.deleteChild(ctx, child); err != nil {
			a.tell(used{nowMS()}) // try again later
		}
	})
}

// usedBelow finds when an agent's sockets or anybody below it were last used. What
// cannot be read is in use.
func (rt *Runtime) usedBelow(ctx context.Context, a feed.Address) int64 {
	if rt.cfg.Rooms.Occupied(a) {
		return nowMS()
	}
	streams, err := below(ctx, rt.cfg.Store, a.Path())
	if err != nil {
		return nowMS()
	}
	var at int64
	for _, info := range streams {
		child, ok := feed.ParsePath(info.Stream)
		switch {
		case info.Deleted || !ok:
		case rt.cfg.Rooms.Occupied(child):
			return nowMS()
		default:
			at = max(at, newest(ctx, rt.cfg.Store, info))
		}
	}
	return at
}

// newest is the time of a stream's last record.
func newest(ctx context.Context, store persistence.Store, info persistence.Info) int64 {
	for r, err := range store.Read(ctx, info.Stream, info.Head) {
		var rec journalv1.Record
		if err != nil || proto.Unmarshal(r.Data, &rec) != nil {
			break
		}
		return rec.GetAtMs()
	}
	return nowMS()
}
