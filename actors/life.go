package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
)

// rebaseAfter is how many records an idle agent's journal may have beyond its
// base before they are replaced by a new one.
const rebaseAfter = 1000

// touch puts off the passivation.
func (a *shell) touch() {
	a.eager = false
	if a.phase == leaving { // its last call is still under way, and will find it up
		a.phase = up
		a.slot.stay()
	}
	if a.idle == nil {
		a.idle = time.AfterFunc(a.class.passivateAfter(), func() { a.tell(idleFired{}) })
		return
	}
	a.idle.Reset(a.class.passivateAfter())
}

// quiet reports whether nothing is under way that needs this incarnation: no
// turn, no hook, no append, nobody who waits in this process. Waits for a time
// are kept by the store.
func (a *shell) quiet() bool {
	return a.core.State.Idle() && len(a.tail) == 0 && len(a.running) == 0 && len(a.watch) == 0 && len(a.vigils) == 0 && !a.looking
}

// leave begins a passivation. From here on the slot queues what comes; what was
// sent before is in the mailbox ahead of lastCall.
func (a *shell) leave() {
	switch {
	case a.phase != up:
	case !a.quiet():
		a.idle.Reset(a.class.passivateAfter())
	default:
		a.phase = leaving
		a.slot.leave()
		a.calls++
		a.tell(lastCall{a.calls})
	}
}

func (a *shell) lastCall(m lastCall) {
	if a.phase != leaving || m.call != a.calls {
		return // something came, and the agent stayed
	}
	if !a.quiet() {
		a.touch()
		return
	}
	a.rest()
}

// letGo has the agent leave as soon as it is idle, unless somebody uses it before.
func (a *shell) letGo() {
	a.eager = true
	a.leave()
}

// rest stores the goodbye and then stops: at a passivation, and when the node
// stops. What still runs is cut off, but by intent; it goes on at the next start.
func (a *shell) rest() {
	a.phase = resting
	for _, r := range a.running {
		r.cancel(errStopping)
	}
	if l := a.live; l != nil {
		l.locked(func() {
			a.takeChunks(l)
			a.endStream(l)
		})
	}
	if a.stale() {
		a.activate()
	}
	if a.activated {
		if events, err := a.core.Step(chat.Rest{}); err == nil {
			a.enter(events, persistence.Durable)
		}
	}
	if len(a.tail) == 0 {
		a.depart()
		return
	}
	a.flush(true)
}

// depart leaves a snapshot behind and stops. Everything is durable.
func (a *shell) depart() {
	switch {
	case a.durable == a.covered && !a.wiped && !a.shed:
	case a.wiped || a.shed || a.durable-a.based > rebaseAfter:
		a.rebase()
	default:
		a.leaveSnapshot()
	}
	a.end(errNodeStops)
	a.stop()
}

// leaveSnapshot makes the next load short.
func (a *shell) leaveSnapshot() {
	if !a.core.State.CanRebase() {
		return
	}
	snapshot := persistence.Snapshot{Seq: a.durable, Data: a.base()}
	a.rt.background(func() {
		if err := a.rt.cfg.Store.SaveSnapshot(a.rt.ctx, a.slot.stream, snapshot); err != nil {
			a.log.Debug("no snapshot was left", "error", err)
		}
	})
}

// lost ends the incarnation by a fault. Nothing that was not durable was told to
// anybody; sockets are closed so that they resume with whoever comes next.
func (a *shell) lost(why string, err error) {
	if a.phase == gone {
		return
	}
	a.log.Error("incarnation ends: "+why, "error", err)
	a.fault = true
	a.end(errRestarting)
	a.rt.cfg.Rooms.Lost(a.addr)
	a.stop()
}

// end refuses what comes, cancels what runs and fails what waits.
func (a *shell) end(refusal error) {
	a.phase, a.refusal = gone, refusal
	if l := a.live; l != nil {
		l.locked(func() { a.endStream(l) })
	}
	a.cancel(fmt.Errorf("%w: %w", ErrInterrupted, refusal))
	if a.out != nil {
		a.out.fail(refusal)
	}
	for request, waiters := range a.watch {
		notify(waiters, ChatResponse{RequestID: request, Err: ErrInterrupted})
	}
	a.watch = nil
	for _, c := range a.callers {
		c.stop()
	}
	for v := range a.vigils {
		v.done <- refusal
	}
	a.vigils = nil
	for _, reply := range a.deletions {
		reply(refusal)
	}
	for _, m := range a.removals {
		m.reply(refusal)
	}
	a.deletions, a.removals = nil, nil
	for _, w := range a.waiting {
		refuse(w, refusal)
	}
	a.waiting = nil
}

// stop has the slot queue from now on. What was sent before is in the mailbox
// ahead of the farewell, and is refused: protoactor would drop it without a word.
func (a *shell) stop() {
	a.phase = gone
	a.slot.leave()
	a.tell(farewell{})
}

// stopped runs on the way out, whatever the reason.
func (a *shell) stopped() {
	if a.phase != gone {
		a.fault = true
		a.end(errRestarting)
		a.rt.cfg.Rooms.Lost(a.addr)
	}
	a.cancel(context.Canceled)
	for _, t := range []*time.Timer{a.timer, a.idle} {
		if t != nil {
			t.Stop()
		}
	}
}

// mayHaveWork reports whether the agent may have work though nobody calls.
func (a *shell) mayHaveWork() bool {
	return a.fault || a.core == nil || a.wakeAt() != 0
}
