package actors

import (
	"context"
	"errors"
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

// reconcile starts what was due as of the last commit and still is: nothing is
// acted upon before its event is durable. What is no longer due is cancelled at
// once: if the event that says so is lost, it was merely interrupted.
func (a *shell) reconcile() {
	if a.phase != up && a.phase != leaving && a.phase != erasing {
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
		if !now[key] {
			r.cancel(errNotDue) // its entry goes when its goroutine has ended
		}
	}
}

// start runs e on a goroutine of its own. A panic there is an outcome.
func (a *shell) start(e chat.Effect) {
	ctx, cancel := context.WithCancelCause(a.cause(e))
	key := e.Key()
	a.running[key] = &running{cancel: cancel}
	run := a.prepare(e)
	a.rt.background(func() {
		defer cancel(nil)
		var outcome chat.Command
		defer func() { a.tell(ended{key, outcome}) }() // also after runtime.Goexit
		outcome = a.crashed(e, errGoexit)
		if err := guard(func() { outcome = run(ctx) }); err != nil {
			a.log.Error("panic in author's code", "effect", key, "error", err)
			outcome = a.crashed(e, err)
		}
	})
}

// errGoexit is how author's code ends that calls runtime.Goexit, as t.FailNow does.
var errGoexit = errors.New("the goroutine was ended from within")

// guard makes an error of a panic.
func guard(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
	return nil
}

// prepare takes what the effect needs from the state, on the actor's goroutine.
func (a *shell) prepare(e chat.Effect) func(context.Context) chat.Command {
	switch e := e.(type) {
	case chat.CallModel:
		return a.prepareModel(e)
	case chat.RunTool:
		return a.prepareTool(e)
	case chat.Compact:
		return a.prepareCompact(e)
	case chat.Handle:
		return a.prepareHandler(e)
	case chat.Prepare:
		return a.prepareMessages(e)
	case chat.Clean:
		return a.prepareClean(e)
	case chat.Deliver:
		return a.prepareHook(e)
	case chat.DeleteSub:
		return a.prepareDeleteSub(e)
	case chat.Erase:
		return a.prepareErase()
	default:
		panic(fmt.Sprintf("actors: unknown effect %T", e))
	}
}

// crashed is the outcome of an effect that panicked.
func (a *shell) crashed(e chat.Effect, err error) chat.Command {
	switch e := e.(type) {
	case chat.CallModel:
		return chat.StepErred{Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Cause: "panic", Public: generalFailure, Text: valid(err.Error()), Now: nowMS()}
	case chat.RunTool:
		return chat.ToolReturned{Turn: e.Turn, CallID: e.CallID, Attempt: e.Attempt, Failed: true, Text: toolPanicked, Now: nowMS()}
	case chat.Compact:
		return chat.Compacted{Turn: e.Turn, Attempt: e.Attempt, Failed: generalFailure}
	case chat.Handle:
		return chat.HandlerEnded{Turn: e.Turn, Attempt: e.Attempt, Result: chat.Failed, Text: generalFailure}
	case chat.Prepare:
		return chat.Prepared{Turn: e.Turn, Failed: true}
	case chat.Clean:
		return chat.Cleaned{Clean: e, Failed: true}
	case chat.DeleteSub:
		return chat.SubRemoved{}
	case chat.Erase:
		return chat.Erased{}
	case chat.Deliver:
		return chat.DeliveryErred{ID: e.ID, Attempt: e.Attempt, Text: valid(err.Error()), Now: nowMS()}
	}
	return nil
}

// keepTime sets the one timer for the earliest wait.
func (a *shell) keepTime() {
	_, waits := a.core.State.Outstanding()
	var at int64
	for _, w := range waits {
		if at == 0 || w.Until < at {
			at = w.Until
		}
	}
	if expires := a.expiresAt(); expires != 0 && !a.looking && (at == 0 || expires < at) {
		at = expires
	}
	if at == a.timerAt {
		return
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer, a.timerAt = nil, at
	if at > 0 {
		a.timer = time.AfterFunc(time.Until(time.UnixMilli(at)), func() { a.tell(timerFired{at}) })
	}
}

// timerFired ends the waits whose time has come. The timer knows how long it ran:
// if the clock was set back meanwhile, it is the clock that is wrong.
func (a *shell) timerFired(m timerFired) {
	if m.at != a.timerAt {
		return // another wait has taken its place
	}
	a.timer, a.timerAt = nil, 0
	now := max(nowMS(), m.at)
	_, waits := a.core.State.Outstanding()
	for _, w := range waits {
		if w.Until <= now {
			a.step(chat.TimerFired{Key: w.Key, Now: now})
		}
	}
	if at := a.expiresAt(); at != 0 && at <= now {
		a.expire()
	}
	a.settle()
}
