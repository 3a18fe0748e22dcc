package actorstest

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
)

// OpenCall returns the agent's first open call of that tool, waiting for it if need be:
// see actors.Ref.OpenCalls. It fails the test after ten seconds. Call it, and what is
// below, on the test's goroutine.
func (h *Harness) OpenCall(agent *actors.Ref, tool string) actors.OpenCall {
	h.t.Helper()
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for {
		h.mu.Lock()
		changed := h.changed
		h.mu.Unlock()
		calls, err := agent.OpenCalls(context.Background())
		if err != nil {
			h.t.Fatalf("%s: open calls: %v", agent.Address(), err)
		}
		for _, c := range calls {
			if c.Tool == tool {
				return c
			}
		}
		select {
		case <-changed:
		case <-giveUp.C:
			h.t.Fatalf("%s: no call of %s is open; %d others are", agent.Address(), tool, len(calls))
		}
	}
}

// Answer waits for an open call of that tool and gives it its output, as a client does.
func (h *Harness) Answer(agent *actors.Ref, tool string, output any) {
	h.t.Helper()
	h.say(agent, tool, func(ctx context.Context, id string) error { return agent.AnswerCall(ctx, id, output, "") })
}

// Fail waits for an open call of that tool and says that it has failed.
func (h *Harness) Fail(agent *actors.Ref, tool, reason string) {
	h.t.Helper()
	h.say(agent, tool, func(ctx context.Context, id string) error { return agent.FailCall(ctx, id, reason, "") })
}

// Approve waits for an open call of that tool and lets it run.
func (h *Harness) Approve(agent *actors.Ref, tool string) {
	h.t.Helper()
	h.say(agent, tool, func(ctx context.Context, id string) error { return agent.Approve(ctx, id, "", "") })
}

// Deny waits for an open call of that tool and has it not run.
func (h *Harness) Deny(agent *actors.Ref, tool, reason string) {
	h.t.Helper()
	h.say(agent, tool, func(ctx context.Context, id string) error { return agent.Deny(ctx, id, reason, "") })
}

func (h *Harness) say(agent *actors.Ref, tool string, f func(ctx context.Context, id string) error) {
	h.t.Helper()
	if err := f(context.Background(), h.OpenCall(agent, tool).ID); err != nil {
		h.t.Fatalf("%s: call of %s: %v", agent.Address(), tool, err)
	}
}
