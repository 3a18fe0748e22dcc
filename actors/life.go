package actors

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// rebaseAfter is how many records an idle agent's journal may have beyond its
// base before they are replaced by a new one.
const rebaseAfter = 1000

// touch puts off the passivation.
func (a *shell) touch() {
	if a.phase == leaving {
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
	return a.core.State.Idle() && len(a.tail) == 0 && len(a.running) == 0 && len(a.watch) == 0
}

// leave begins a passivation. From here on the slot queues what comes; what was
// sent before is in the mailbox ahead of lastCall.
func (a *shell) leave() {
	switch {
	case a.phase == failed:
		a.stop()
	case a.phase != up:
	case !a.quiet():
		a.idle.Reset(a.class.passivateAfter())
	default:
		a.phase = leaving
		a.slot.leave()
		a.tell(lastCall{})
	}
}

func (a *shell) lastCall() {
	if a.phase != leaving {
		return
	}
	if !a.quiet() {
		a.touch()
		return
	}
	a.rest()
}

// rest stores the goodbye and then stops: at a passivation, and when the node
// stops. What still runs is cut off, but by intent; it goes on at the next start.
func (a *shell) rest() {
	switch a.phase {
	case resting, gone:
		return
	case failed:
		a.stop()
		return
	}
	a.phase = resting
	for _, r := range a.running {
		r.cancel(errStopping)
	}
	if l := a.live; l != nil {
		l.mu.Lock()
		a.takeChunks(l)
		l.end()
		l.mu.Unlock()
		a.live = nil
		a.rt.grid.leave(a)
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
	s := &a.core.State
	if s.CanRebase() && a.durable > 0 {
		a.leaveSnapshot()
	}
	a.out.fail(&Error{Code: Stopping, Message: "the agent is stopping"})
	a.stop()
}

// leaveSnapshot makes the next load short; now and then it also shortens the journal.
func (a *shell) leaveSnapshot() {
	s, store, stream := &a.core.State, a.rt.cfg.Store, a.slot.stream
	data, err := proto.Marshal(&journalv1.Record{AtMs: nowMS(), Incarnation: a.batch.Incarnation, Event: s.Base()})
	if err != nil {
		panic(err)
	}
	upto, grown := a.durable, a.durable-a.based > rebaseAfter
	a.rt.background(func() {
		if grown {
			err = store.Rebase(a.rt.ctx, stream, upto, data, nil)
		} else {
			err = store.SaveSnapshot(a.rt.ctx, stream, persistence.Snapshot{Seq: upto, Data: data})
		}
		if err != nil {
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
	a.end(errors.Join(ErrInterrupted, err))
	a.rt.cfg.Rooms.Lost(a.addr)
	a.stop()
}

// end cancels what runs and fails what waits.
func (a *shell) end(err error) {
	a.phase = gone
	for _, r := range a.running {
		r.cancel(err)
	}
	if l := a.live; l != nil {
		l.mu.Lock()
		l.end()
		l.mu.Unlock()
		a.live = nil
		a.rt.grid.leave(a)
	}
	a.out.fail(&Error{Code: Unavailable, Message: "the agent is restarting; please try again", err: err})
	for request, waiters := range a.watch {
		for _, w := range waiters {
			w <- ChatResponse{RequestID: request, Err: ErrInterrupted}
		}
	}
	a.watch = nil
}

func (a *shell) stop() {
	a.phase = gone
	a.slot.leave()
	a.root.Stop(a.self)
}

// stopped runs on the way out, whatever the reason: also when the supervisor
// restarts a shell that has panicked.
func (a *shell) stopped() {
	if a.phase != gone {
		a.end(ErrInterrupted)
		a.rt.cfg.Rooms.Lost(a.addr)
	}
	for _, t := range []*time.Timer{a.timer, a.idle} {
		if t != nil {
			t.Stop()
		}
	}
	for _, w := range a.waiting {
		refuse(w, &Error{Code: Unavailable, Message: "the agent is restarting; please try again", err: ErrInterrupted})
	}
	a.waiting = nil
}
