package chat

import (
	"encoding/json"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Turns that the author's program asks for.

type (
	// Continue asks for a turn that extends the last answer. The same Request
	// again changes nothing.
	Continue struct {
		Request     string
		Fingerprint []byte
		Body        json.RawMessage // nil: that of the last client's request
		Readonly    bool            // as in Submit
	}

	// Prepared is the outcome of Prepare.
	Prepared struct {
		Turn     uint64
		Messages []uimessage.Message
		Failed   bool // there are none: the turn does not run
	}

	// Interrupt ends the turn that has the slot. What is queued goes on.
	Interrupt struct{}

	// Reset ends all turns and keeps the conversation.
	Reset struct{}

	// Prepare has the author's function make the messages of a turn whose slot has come.
	Prepare struct{ Turn uint64 }
)

func (Continue) command()  {}
func (Prepared) command()  {}
func (Interrupt) command() {}
func (Reset) command()     {}
func (Prepare) effect()    {}

// decideContinue accepts nothing if there is no answer and none can come before
// the slot does.
func (c *Core) decideContinue(cmd Continue) ([]Event, error) {
	s := &c.State
	if known, err := s.Ledger.Keys.asked(cmd.Request, cmd.Fingerprint); known || err != nil {
		return nil, err
	}
	switch {
	case len(s.Turns.Queue) == 0 && s.Transcript.lastAnswer() == "":
		return nil, nil
	case len(s.Turns.Queue) >= c.policy.MaxQueuedTurns:
		return nil, Busy{Limit: c.policy.MaxQueuedTurns}
	}
	return []Event{event(&pb.TurnAccepted{
		Turn: s.Turns.Last + 1, RequestId: cmd.Request, Kind: pb.TurnKind_TURN_KIND_CONTINUATION, Generation: s.Ledger.Generation,
		BodyJson: cmd.Body, ContinuesMessage: true, Fingerprint: cmd.Fingerprint, Readonly: cmd.Readonly,
	})}, nil
}

// lastAnswer is the id of the last message that is an answer of the agent's; "":
// there is none.
func (tr *Transcript) lastAnswer() string {
	for _, m := range slices.Backward(tr.Messages) {
		if m.Role == string(uimessage.Assistant) && !m.Foreign {
			return m.ID
		}
	}
	return ""
}

func (c *Core) decidePrepared(cmd Prepared) []Event {
	t := c.State.Turns.holder()
	if t == nil || t.ID != cmd.Turn || !t.Deferred {
		return nil
	}
	if cmd.Failed {
		return c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_SKIPPED})
	}
	c.asks = true
	start := c.start(t, 1)
	start.GetTurnStarted().OriginIds = uimessage.TrailingUsers(cmd.Messages)
	return append(c.put(cmd.Messages), start)
}

func (c *Core) decideInterrupt() []Event {
	t := c.State.Turns.holder()
	if t == nil {
		return nil
	}
	return c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_ABORTED})
}

// decideReset ends the running turn last: no other may start.
func (c *Core) decideReset() []Event {
	s := &c.State
	events := append(c.dropAnswers("reset"), event(&pb.TurnsReset{Generation: s.Ledger.Generation + 1}))
	for _, t := range slices.Backward(s.Turns.Queue) {
		events = append(events, c.endTurn(t, &pb.TurnEnded{Outcome: killed(t)})...)
	}
	return events
}

// killed is the outcome of a turn that a clear or a reset ends. One that waits to
// go on with an answer has run.
func killed(t *Turn) pb.TurnOutcome {
	if t.Status == Queued && t.Kind != pb.TurnKind_TURN_KIND_RECOVERY {
		return pb.TurnOutcome_TURN_OUTCOME_SKIPPED
	}
	return pb.TurnOutcome_TURN_OUTCOME_ABORTED
}

// skipUnprepared ends turns whose messages an older incarnation would have made.
// The one that has the slot comes last: no other may start.
func (c *Core) skipUnprepared() []Event {
	var events []Event
	for _, t := range slices.Backward(c.State.Turns.Queue) {
		if t.Deferred {
			events = append(events, c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_SKIPPED})...)
		}
	}
	return events
}

// applyReset: what an older generation has left undone is nobody's any more.
func (s *State) applyReset(e *pb.TurnsReset) {
	s.Ledger.Generation = e.GetGeneration()
	s.Outbox = Outbox{}
}

// HasPendingInteraction reports whether a tool call waits to be answered or approved, or
// for a client to run it, in a stored message or in the one that is being written.
func (s *State) HasPendingInteraction() bool {
	return s.Stream.Open && slices.ContainsFunc(s.Stream.Message().Parts, s.awaits) || s.awaitsPerson()
}
