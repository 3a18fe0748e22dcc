package chat

import (
	"fmt"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// Steps is the model loop of the running turn: step after step until one leaves
// nothing for the server to run. See loop.go.
type Steps struct {
	Turn       uint64 // 0: the running turn, if any, is answered by a handler
	Step       uint32 // from 1; 0: calls of the message that the turn goes on with are run first
	Attempt    uint32 // from 1, rises over all attempts at the turn
	RetryAt    int64  // waits to try again; 0: runs
	Loop       uint32 // the handler's loop that it is; 0: the turn's own
	Answered   bool   // the model has answered; its calls run
	Compacting bool   // the conversation is being summed up
	Compacted  bool   // it was: once in a turn
}

func (st *Steps) waitKey() string { return fmt.Sprintf("step/%d/%d/%d", st.Turn, st.Step, st.Attempt) }

// running reports whether that attempt of that step is under way.
func (st *Steps) running(turn uint64, step, attempt uint32) bool {
	return st.Turn == turn && st.Step == step && st.Attempt == attempt && st.RetryAt == 0 && !st.Answered && !st.Compacting
}

func (c *Core) beginSteps() []Event {
	t := c.State.Turns.Running()
	if c.policy.Handler || t == nil {
		return nil
	}
	return c.beginLoop(t)
}

// decideStepErred tries again after a passing failure: the same step if nothing
// was said yet, else a new turn that goes on with what was said.
func (c *Core) decideStepErred(cmd StepErred) []Event {
	s := &c.State
	t := c.stepping(cmd.Turn, cmd.Step, cmd.Attempt)
	if t == nil {
		return nil
	}
	failures := s.Recovery.Failures + 1
	if s.Recovery.Work > s.Recovery.FailureMark {
		failures = 1
	}
	again := cmd.Transient && failures < c.policy.MaxFailures
	failed := &pb.StepFailed{Turn: cmd.Turn, Step: cmd.Step, Attempt: cmd.Attempt, Cause: valid(cmd.Cause), Text: valid(cmd.Text), Failures: failures}
	if cmd.Compacts && !s.Steps.Compacted {
		failed.Compacts = true
		return []Event{event(failed), event(&pb.CompactionStarted{Turn: t.ID, Attempt: cmd.Attempt})}
	}
	if !again {
		return append([]Event{event(failed)}, c.endLoop(t, "", valid(cmd.Public), cmd.Cleaned)...)
	}
	failed.RetryAtMs = cmd.Now + backoff(failures, cmd.RetryAfter)
	if !s.Stream.Open {
		return []Event{event(failed)}
	}
	return append([]Event{event(failed)}, c.continueTurn(t, cmd.Ids, failed.GetRetryAtMs())...)
}

// backoff is 1, 2, 4 … 30 seconds, or what the provider asks for up to 60.
func backoff(failures uint32, retryAfter int64) int64 {
	const second, most, mostAsked = 1000, 30_000, 60_000
	wait := min(int64(second)<<min(failures-1, 5), most)
	return max(wait, min(retryAfter, mostAsked))
}

// decideTimerFired starts what has waited. A key names one wait; a timer that is
// late, or early, does nothing.
func (c *Core) decideTimerFired(cmd TimerFired) []Event {
	s := &c.State
	_, waits := s.Outstanding()
	if !slices.ContainsFunc(waits, func(w Wait) bool { return w.Key == cmd.Key && w.Until <= cmd.Now }) {
		return nil
	}
	if d := s.Outbox.head(); d != nil && d.waitKey() == cmd.Key {
		return []Event{event(&pb.DeliveryStarted{Id: d.ID, Attempt: d.Attempt + 1})}
	}
	if events, ours := c.answersTimer(cmd); ours {
		return events
	}
	t := s.Turns.Running()
	for _, queued := range s.Turns.Queue {
		if queued.waitKey() == cmd.Key {
			return c.begin(queued)
		}
	}
	return []Event{event(&pb.StepStarted{Turn: t.ID, Step: s.Steps.Step, Attempt: s.Steps.Attempt + 1})}
}

func (st *Steps) applyStarted(e *pb.StepStarted) {
	st.Turn, st.Step, st.Attempt, st.RetryAt = e.GetTurn(), e.GetStep(), e.GetAttempt(), 0
	st.Answered, st.Compacting = false, false
}

func (s *State) applyStepFinished(e *pb.StepFinished) {
	s.Recovery.Work++
	s.Steps.Answered = true
	s.Usage = sum(s.Usage, e.GetUsage())
	s.Transcript.addStep(e.GetMessageId(), Record{
		Content: e.GetContentJson(), Segment: e.GetSegment(), Loop: e.GetLoop(), Last: e.GetLast(),
	})
}

func (s *State) applyStepFailed(e *pb.StepFailed) {
	s.Steps.RetryAt = e.GetRetryAtMs()
	s.Recovery.applyFailed(e)
}

// sum adds what a call of a model has used to a total.
func sum(total, u *Usage) *Usage {
	if u == nil {
		return total
	}
	return &Usage{
		Input: total.GetInput() + u.GetInput(), Output: total.GetOutput() + u.GetOutput(), Reasoning: total.GetReasoning() + u.GetReasoning(),
		CacheRead: total.GetCacheRead() + u.GetCacheRead(), CacheWrite: total.GetCacheWrite() + u.GetCacheWrite(),
	}
}
