package chat

import (
	"fmt"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// Steps is the model loop of the running turn: step after step until one asks
// for no tool. (Tools come with the machine answers.)
type Steps struct {
	Turn    uint64 // 0: the running turn, if any, is answered by a handler
	Step    uint32 // from 1
	Attempt uint32 // from 1, rises over all attempts at the turn
	RetryAt int64  // waits to try again; 0: runs
}

func (st *Steps) waitKey() string { return fmt.Sprintf("step/%d/%d/%d", st.Turn, st.Step, st.Attempt) }

// running reports whether that attempt of that step is under way.
func (st *Steps) running(turn uint64, step, attempt uint32) bool {
	return st.Turn == turn && st.Step == step && st.Attempt == attempt && st.RetryAt == 0
}

func (c *Core) beginSteps(e *pb.TurnStarted) []Event {
	if c.policy.Handler {
		return nil
	}
	return []Event{event(&pb.StepStarted{Turn: e.GetTurn(), Step: 1, Attempt: c.State.Steps.Attempt + 1})}
}

func (c *Core) decideStepAnswered(cmd StepAnswered) []Event {
	s := &c.State
	t := s.Turns.Running()
	if t == nil || t.CutOff || t.ID != cmd.Turn || !s.Steps.running(cmd.Turn, cmd.Step, cmd.Attempt) {
		return nil
	}
	reason := valid(cmd.Reason)
	finished := event(&pb.StepFinished{
		Turn: cmd.Turn, Step: cmd.Step, ContentJson: cmd.Content, FinishReason: reason, Usage: cmd.Usage, Model: valid(cmd.Model),
		MessageId: s.writingID(t),
	})
	return append([]Event{finished}, c.endWith(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_COMPLETED, FinishReason: reason}, cmd.Cleaned)...)
}

// decideStepErred tries again after a passing failure: the same step if nothing
// was said yet, else a new turn that goes on with what was said.
func (c *Core) decideStepErred(cmd StepErred) []Event {
	s := &c.State
	t := s.Turns.Running()
	if t == nil || t.CutOff || t.ID != cmd.Turn || !s.Steps.running(cmd.Turn, cmd.Step, cmd.Attempt) {
		return nil
	}
	failures := s.Recovery.Failures + 1
	if s.Recovery.Work > s.Recovery.FailureMark {
		failures = 1
	}
	again := cmd.Transient && failures < c.policy.MaxFailures
	failed := &pb.StepFailed{Turn: cmd.Turn, Step: cmd.Step, Attempt: cmd.Attempt, Cause: valid(cmd.Cause), Text: valid(cmd.Text), Failures: failures}
	if !again {
		end := &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_ERROR, ErrorText: valid(cmd.Public), InBand: s.Stream.Open}
		return append([]Event{event(failed)}, c.endWith(t, end, cmd.Cleaned)...)
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
}

func (s *State) applyStepFinished(e *pb.StepFinished) {
	s.Recovery.Work++
	s.Transcript.addStep(e.GetMessageId(), Record{
		Content: e.GetContentJson(), Segment: e.GetSegment(), Loop: e.GetLoop(), Last: e.GetLast(),
	})
}

func (s *State) applyStepFailed(e *pb.StepFailed) {
	s.Steps.RetryAt = e.GetRetryAtMs()
	s.Recovery.applyFailed(e)
}
