package actors

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
)

// running is an effect under way. Its outcome is always sent, also after cancel.
type running struct{ cancel context.CancelCauseFunc }

// errNotDue is the cause with which an effect is cancelled that is no longer due.
var errNotDue = fmt.Errorf("%w: its work is no longer due", ErrTurnOver)

// due names the effects that the core wants to be running.
func (a *shell) due() map[string]bool {
	work, _ := a.core.State.Outstanding()
	keys := make(map[string]bool, len(work))
	for _, e := range work {
		keys[e.Key()] = true
	}
	return keys
}

// reconcile starts what was due as of the last commit and still is, and cancels
// what is due neither by the disk nor by the state. Nothing is acted upon before
// its event is durable.
func (a *shell) reconcile() {
	if a.phase != up && a.phase != leaving {
		return
	}
	work, _ := a.core.State.Outstanding()
	now := make(map[string]bool, len(work))
	for _, e := range work {
		key := e.Key()
		now[key] = true
		if a.running[key] == nil && a.storedDue[key] {
			a.start(e)
		}
	}
	for key, r := range a.running {
		if !now[key] && !a.storedDue[key] {
			r.cancel(errNotDue) // its entry goes when its goroutine has ended
		}
	}
}

// start runs e on a goroutine of its own. A panic there is an outcome.
func (a *shell) start(e chat.Effect) {
	ctx, cancel := context.WithCancelCause(a.rt.ctx)
	key := e.Key()
	a.running[key] = &running{cancel: cancel}
	run := a.prepare(e)
	a.rt.background(func() {
		defer cancel(nil)
		a.tell(ended{key, guardedRun(ctx, run, func(err error) chat.Command { return a.crashed(e, err) })})
	})
}

// prepare takes what the effect needs from the state, on the actor's goroutine.
func (a *shell) prepare(e chat.Effect) func(context.Context) chat.Command {
	switch e := e.(type) {
	case chat.CallModel:
		return a.prepareModel(e)
	case chat.Handle:
		return a.prepareHandler(e)
	case chat.Deliver:
		return a.prepareHook(e)
	default:
		panic(fmt.Sprintf("actors: unknown effect %T", e))
	}
}

// crashed is the outcome of an effect that panicked.
func (a *shell) crashed(e chat.Effect, err error) chat.Command {
	a.log.Error("panic in author's code", "effect", e.Key(), "error", err)
	switch e := e.(type) {
	case chat.CallModel:
		return chat.StepErred{Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Cause: "panic", Public: generalFailure, Text: err.Error(), Now: nowMS()}
	case chat.Handle:
		return chat.HandlerEnded{Turn: e.Turn, Attempt: e.Attempt, Result: chat.Failed, Text: generalFailure}
	case chat.Deliver:
		return chat.DeliveryErred{ID: e.ID, Attempt: e.Attempt, Text: err.Error(), Now: nowMS()}
	}
	return nil
}

func guardedRun(ctx context.Context, run func(context.Context) chat.Command, crashed func(error) chat.Command) (outcome chat.Command) {
	defer func() {
		if p := recover(); p != nil {
			outcome = crashed(fmt.Errorf("%v\n%s", p, debug.Stack()))
		}
	}()
	return run(ctx)
}

// keepTime sets the one timer for the earliest wait. Waits are clamped by what
// their event stored, so a clock that jumps makes them late at most once.
func (a *shell) keepTime() {
	_, waits := a.core.State.Outstanding()
	var at int64
	for _, w := range waits {
		if at == 0 || w.Until < at {
			at = w.Until
		}
	}
	if at == a.timerAt {
		return
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer, a.timerAt = nil, at
	if at > 0 {
		a.timer = time.AfterFunc(time.Until(time.UnixMilli(at)), func() { a.tell(timerFired{}) })
	}
}

func (a *shell) timerFired() {
	a.timer, a.timerAt = nil, 0
	now := nowMS()
	_, waits := a.core.State.Outstanding()
	for _, w := range waits {
		if w.Until <= now {
			a.step(chat.TimerFired{Key: w.Key, Now: now}, "")
		}
	}
	a.keepTime()
}
