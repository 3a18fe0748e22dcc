package actors

import "context"

// WaitUntilStable returns nil when nothing will happen in the conversation unless
// somebody does something: no turn is running, queued or waiting for a time, no call
// of OnChatResponse is due, which might ask for more, and no tool call waits for a
// client or a person (see HasPendingInteraction). It waits for ever if need be: the end
// of ctx is its only bound, and its error is then ctx's. While it waits the agent stays
// in memory.
//
// The Self of OnChatResponse does not wait for that hook, nor for those behind it.
// Inside a turn it is refused with ErrInsideTurn.
func (r *Ref) WaitUntilStable(ctx context.Context) error {
	over, err := r.wait(ctx)
	if err != nil {
		return err
	}
	defer over()
	v := &vigil{inHook: r.delivery != nil, done: make(chan error, 2)}
	err = r.visit(ctx, func(a *shell) error {
		a.vigils[v] = true
		return nil
	})
	if err == nil {
		select {
		case err = <-v.done:
			return err
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	r.rt.whisper(r.addr, forget(func(a *shell) { delete(a.vigils, v) }))
	return err
}

// vigil is somebody who waits until nothing happens any more.
type vigil struct {
	inHook bool // and is a hook, which is itself due
	done   chan error
}

// endVigils answers those whose wait is over.
func (a *shell) endVigils() {
	for v := range a.vigils {
		if a.stable(v.inHook) {
			delete(a.vigils, v)
			a.out.put(output{need: a.version(), send: func(err error) { v.done <- err }})
		}
	}
}

func (a *shell) stable(inHook bool) bool {
	s := &a.core.State
	return len(s.Turns.Queue) == 0 && (inHook || len(s.Outbox.Entries) == 0) && s.Answers.Pending == nil && !s.HasPendingInteraction()
}
