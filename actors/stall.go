package actors

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// errStalled ends an attempt at a turn that has been silent for too long.
var errStalled = Errorf("The answer stalled. Please try again.")

// watched runs f, which writes to out, and ends its context with errStalled when it
// has been silent for StallTimeout. If f does not listen it is left behind: what it
// still writes is refused.
func (a *shell) watched(ctx context.Context, out *Stream, f func(context.Context) error) error {
	out.ctx, out.stall = ctx, a.class.StallTimeout
	if out.stall == 0 {
		return f(ctx)
	}
	// Both contexts end with the effect's, or with the node's; nobody need end them.
	ctx, stop := context.WithCancelCause(ctx)
	silence, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	out.ctx = ctx
	out.timer = time.AfterFunc(out.stall, func() {
		stop(errStalled)
		leave(errStalled)
	})
	err := a.rt.cutOff(silence, func() error { return f(ctx) })
	out.timer.Stop()
	if silence.Err() == nil {
		return err
	}
	out.close()
	return errStalled
}

// alive says that the attempt is not silent.
func (s *Stream) alive() {
	if s.timer != nil {
		s.timer.Reset(s.stall)
	}
}

// patient says that it is we who are waited for.
func (s *Stream) patient() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// close refuses what comes.
func (s *Stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// asFailure makes of a stall what it is for the model loop: a passing failure.
func asFailure(err error) error {
	if errors.Is(err, errStalled) {
		return &model.Error{Cause: model.Transient, Public: errStalled.Error(), Err: err}
	}
	return err
}
