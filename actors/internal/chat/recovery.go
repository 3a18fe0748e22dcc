package chat

import (
	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// What a visitor reads when a turn is given up or a call was cut off.
const (
	gaveUpText     = "The assistant was interrupted and could not recover. Please try again."
	callCutOffText = "The tool call was interrupted before a result was recorded."
)

// Recovery follows the answer to one request through crashes and failures. It
// starts afresh when that answer is over.
type Recovery struct {
	Turn     uint64 // the turn that runs again or goes on; 0: none
	Crashes  uint32 // starts in a row that added nothing
	Failures uint32 // failed steps in a row that added nothing
	Work     uint64 // what the running answer has added so far

	// Work at the last start after a cut, and at the last failure. There is one
	// for each count, else a failure would hide the progress from a crash.
	StartMark, FailureMark uint64
}

// recoverTurn decides what becomes of a turn that the former incarnation left
// running: abort, give up, run again, or go on with what was said. A goodbye
// (passivation, planned stop) counts as no crash.
func (c *Core) recoverTurn(cmd Activate, cause pb.ActivationCause) []Event {
	s := &c.State
	t := s.Turns.Running()
	if t == nil || s.Steps.RetryAt > 0 && !c.policy.Handler {
		return nil // nothing was under way
	}
	if s.Stream.finished && s.Stream.HasContent() {
		return c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_COMPLETED}) // only its end was not told
	}
	if c.policy.NoRecovery {
		return concat(
			[]Event{event(&pb.RecoveryDecided{Turn: t.ID, Decision: pb.RecoveryDecision_RECOVERY_DECISION_ABORT})},
			c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_ABORTED}))
	}
	crashes := s.Recovery.Crashes
	if s.Recovery.Work > s.Recovery.StartMark {
		crashes = 0
	}
	if cause == pb.ActivationCause_ACTIVATION_CAUSE_CRASH {
		crashes++
	}
	detected := event(&pb.RecoveryDetected{Turn: t.ID, Crashes: crashes})
	switch {
	case crashes >= c.policy.MaxCrashes:
		return concat(
			[]Event{detected, event(&pb.RecoveryDecided{Turn: t.ID, Decision: pb.RecoveryDecision_RECOVERY_DECISION_GIVE_UP})},
			c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_ERROR, ErrorText: gaveUpText}))
	case s.Stream.HasContent():
		return append([]Event{detected}, c.continueTurn(t, cmd.Ids, 0)...)
	default:
		return append([]Event{detected}, c.retryTurn(t)...)
	}
}

// retryTurn runs t again under its own request id and message id; what clients
// may have seen of the former attempt is replaced by its new start.
func (c *Core) retryTurn(t *Turn) []Event {
	var events []Event
	if c.State.Stream.Open {
		events = append(events, event(&pb.StreamClosed{Turn: t.ID}))
	}
	events = append(events, event(&pb.RecoveryDecided{Turn: t.ID, Decision: pb.RecoveryDecision_RECOVERY_DECISION_RETRY}))
	return append(append(events, c.settleStored(t, true)...), c.start(t, t.Attempt+1))
}

// continueTurn ends t as handed over and queues, before all others, a turn that
// extends the partial answer, or begins it anew if nothing was said. Clients see
// it under a request id of its own.
func (c *Core) continueTurn(t *Turn, ids Ids, until int64) []Event {
	s := &c.State
	partial, said := uimessage.Sanitize(s.Stream.Message()), s.Stream.HasContent()
	partial, settled := c.settleCalls(t, partial, true)
	partial = s.settle(partial)
	var events []Event
	if said {
		events = puts(&pb.MessagesPut{Messages: []*pb.StoredMessage{c.unfinished(partial)}})
	}
	events = append(events,
		event(&pb.StreamClosed{Turn: t.ID}),
		event(&pb.RecoveryDecided{Turn: t.ID, Decision: pb.RecoveryDecision_RECOVERY_DECISION_CONTINUE}),
		event(&pb.TurnEnded{Turn: t.ID, Outcome: pb.TurnOutcome_TURN_OUTCOME_RECOVERING, MessageId: partial.ID}))
	return append(append(events, settled...),
		event(&pb.TurnAccepted{
			Turn: s.Turns.Last + 1, RequestId: ids.Request, Kind: pb.TurnKind_TURN_KIND_RECOVERY, Generation: t.Generation,
			OriginIds: t.OriginIDs, BodyJson: t.Body, ClientToolsJson: t.ClientTools,
			MessageId: partial.ID, ContinuesMessage: said || t.Continues, ContinuesTurn: t.ID, Front: true, UntilMs: until, Readonly: t.Readonly,
			Page: t.Page, Steps: uint32(t.Before),
		}))
}

// settle closes what a cut-off answer has left open: text that was being
// written is done, calls that nobody will finish have failed. What the loop has
// opened stays so.
func (s *State) settle(m uimessage.Message) uimessage.Message {
	parts := m.Parts[:0:0]
	for _, p := range m.Parts {
		switch {
		case p.IsTool() && p.State == uimessage.InputAvailable && s.Call(p.ToolCallID) != nil:
		case p.IsTool() && (p.State == uimessage.InputStreaming || p.State == uimessage.InputAvailable):
			p.State, p.ErrorText, p.Input = uimessage.OutputError, callCutOffText, uimessage.NormalizeInput(p.Input)
		case p.State == uimessage.Streaming:
			p.State = uimessage.Done
		}
		parts = append(parts, p)
	}
	m.Parts = parts
	return m
}

// settleStored is settleCalls for a turn that has not begun to write.
func (c *Core) settleStored(t *Turn, goesOn bool) []Event {
	if len(c.State.Calls) == 0 {
		return nil
	}
	m, ok := c.State.Transcript.Message(t.MessageID)
	if !ok {
		m.ID = t.MessageID
	}
	_, events := c.settleCalls(t, m, goesOn)
	for _, e := range events {
		if s := e.GetToolSettled(); s.GetState() != pb.ToolState_TOOL_STATE_UNSPECIFIED {
			s.Chunked, s.Raw = false, c.raw()
		}
	}
	return events
}

// settleRecovery says that the answer is over, if it had been cut off.
func (c *Core) settleRecovery(e *pb.TurnEnded) []Event {
	if r := &c.State.Recovery; r.Turn == 0 || r.Turn != e.GetTurn() {
		return nil
	}
	return []Event{event(&pb.RecoverySettled{Turn: e.GetTurn()})}
}

// progress counts what an outcome adds to the running answer. Answers come without a
// turn, too.
func (s *State) progress() {
	if s.Turns.Running() != nil {
		s.Recovery.Work++
	}
}

func (r *Recovery) applyDetected(e *pb.RecoveryDetected) {
	r.Crashes, r.StartMark = e.GetCrashes(), r.Work
}

func (r *Recovery) applyFailed(e *pb.StepFailed) {
	r.Failures, r.FailureMark = e.GetFailures(), r.Work
}

func (r *Recovery) applyDecided(e *pb.RecoveryDecided) {
	switch e.GetDecision() {
	case pb.RecoveryDecision_RECOVERY_DECISION_RETRY, pb.RecoveryDecision_RECOVERY_DECISION_CONTINUE:
		r.Turn = e.GetTurn()
	default:
		r.Turn = 0
	}
}
