package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// coalesce is how long answers are waited for that come together, in milliseconds.
const coalesce = 50

// The barrier: a continuation is armed by answers, and fires when no more come for a
// moment, no turn has the slot and the batch of calls is complete (chat.md 4.4). It is
// level-triggered: that it may fire is read off the state.

func (c *Continuation) waitKey() string { return fmt.Sprintf("barrier/%d", c.Arm) }

const expiryKey = "expiry/"

// arm has a continuation follow an answer. One that does not ask for it only has an
// armed one wait on.
func (c *Core) arm(asked bool, by Responder, tools json.RawMessage, now int64, ids Ids) []Event {
	s := &c.State
	p := s.Answers.Pending
	switch {
	case p != nil && p.Turn != 0 && s.Turns.byID(p.Turn).Status == Queued:
		return nil // its model sees the answer
	case p != nil && p.Turn != 0 && asked:
		return []Event{event(&pb.ContinuationDeferred{
			RequestId: ids.Request, Page: by.Page, BodyJson: s.Transcript.Body, ClientToolsJson: tools,
		})}
	case p != nil && p.Turn != 0, p == nil && !asked:
		return nil
	}
	armed := &pb.ContinuationArmed{
		RequestId: ids.Request, Arm: s.Answers.Arms + 1, FireMs: now + coalesce, Page: by.Page,
		BodyJson: s.Transcript.Body, ClientToolsJson: tools,
	}
	if p != nil {
		armed.RequestId = p.Request
		if !asked {
			armed.Page, armed.BodyJson, armed.ClientToolsJson = p.Page, p.Body, p.ClientTools
		}
	}
	return []Event{event(armed)}
}

// barrier is the wait of the armed continuation, if nothing but time is in its way.
func (s *State) barrier() []Wait {
	p := s.Answers.Pending
	if p == nil || p.Turn != 0 || s.incomplete() {
		return nil
	}
	return []Wait{{Key: p.waitKey(), Until: max(p.FireAt, 1)}}
}

// approvedWaits reports whether a continuation has a call of the last answer to run.
func (s *State) approvedWaits() bool {
	last := s.Transcript.lastAnswer()
	return slices.ContainsFunc(s.Calls, func(c *Call) bool { return c.MessageID == last && c.startable() })
}

// incomplete reports whether the last answer has calls that are answered beside others
// that are not.
func (s *State) incomplete() bool {
	m, ok := s.Transcript.Message(s.Transcript.lastAnswer())
	if !ok {
		return false
	}
	answered := slices.ContainsFunc(m.Parts, func(p uimessage.Part) bool {
		return p.Settled() || p.IsTool() && p.State == uimessage.ApprovalResponded
	})
	return answered && slices.ContainsFunc(m.Parts, s.waits)
}

// waits reports whether a call waits for a client or a person.
func (s *State) waits(p uimessage.Part) bool {
	if unanswered(p) {
		return !p.ProviderExecuted
	}
	if !p.IsTool() || p.State != uimessage.ApprovalResponded {
		return false
	}
	c := s.Call(p.ToolCallID)
	return c != nil && c.Kind == pb.CallKind_CALL_KIND_CLIENT
}

// expiries are the waits for answers that may not come for ever.
func (s *State) expiries() []Wait {
	var waits []Wait
	for _, c := range s.Calls {
		if c.Expires > 0 && !c.servers() {
			waits = append(waits, Wait{Key: expiryKey + c.ID, Until: c.Expires})
		}
	}
	return waits
}

// answersTimer decides on the waits of calls and of the continuation.
func (c *Core) answersTimer(cmd TimerFired) (events []Event, ours bool) {
	s := &c.State
	if id, ok := strings.CutPrefix(cmd.Key, expiryKey); ok {
		return c.expire(id, cmd.Now), true
	}
	p := s.Answers.Pending
	if p == nil || p.waitKey() != cmd.Key {
		return nil, false
	}
	last := s.Transcript.lastAnswer()
	if last == "" {
		return c.dropAnswers("no answer"), true
	}
	tools := p.ClientTools
	if tools == nil {
		tools = s.Transcript.ClientTools
	}
	return []Event{event(&pb.TurnAccepted{
		Turn: s.Turns.Last + 1, RequestId: p.Request, Kind: pb.TurnKind_TURN_KIND_CONTINUATION, Generation: s.Ledger.Generation,
		BodyJson: p.Body, ClientToolsJson: tools, MessageId: last, ContinuesMessage: true, Page: p.Page, Answers: true,
	})}, true
}

func (c *Core) expire(callID string, now int64) []Event {
	s := &c.State
	id, p, ok := s.Part(callID)
	settled := &pb.ToolSettled{
		CallId: callID, MessageId: id, State: pb.ToolState_TOOL_STATE_ERROR, ErrorText: expiredText, By: pb.Settler_SETTLER_EXPIRY,
		AtMs: now, Chunked: !ok || p.Final(), Raw: c.raw(),
	}
	events := []Event{event(settled)}
	if settled.GetChunked() {
		return events
	}
	return append(events, c.arm(true, Responder{}, nil, now, Ids{Request: fmt.Sprintf("expired-%s-%d", callID, s.Turns.Last)})...)
}

// afterAnswers decides, at a turn's end, what becomes of the continuations: an armed one
// does not follow an answer that was complete, cancelled or failed (chat.md 2.6); a
// deferred one takes the place of the one that has ended.
func (c *Core) afterAnswers(e *pb.TurnEnded) []Event {
	s := &c.State
	bad := e.GetOutcome() == pb.TurnOutcome_TURN_OUTCOME_ABORTED || e.GetOutcome() == pb.TurnOutcome_TURN_OUTCOME_ERROR
	p, d := s.Answers.Pending, s.Answers.Deferred
	switch {
	case d != nil && p == nil: // its predecessor has just ended
		armed := &pb.ContinuationArmed{
			RequestId: d.Request, Arm: s.Answers.Arms + 1, FireMs: 1, Page: d.Page, BodyJson: d.Body, ClientToolsJson: d.ClientTools,
		}
		if bad {
			return c.dropAnswers("the turn before it has not ended well")
		}
		return []Event{event(armed)}
	case p == nil || p.Turn != 0 || e.GetOutcome() == pb.TurnOutcome_TURN_OUTCOME_SKIPPED:
		return nil
	case bad, e.GetFinishReason() == "stop" && !s.incomplete() && !s.approvedWaits():
		return c.dropAnswers("the turn has ended without it")
	}
	return nil
}

// dropAnswers drops what is armed and what is deferred.
func (c *Core) dropAnswers(why string) []Event {
	var events []Event
	a := &c.State.Answers
	if a.Pending != nil && a.Pending.Turn == 0 {
		events = append(events, event(&pb.ContinuationDropped{RequestId: a.Pending.Request, Reason: why}))
	}
	if a.Deferred != nil {
		events = append(events, event(&pb.ContinuationDropped{RequestId: a.Deferred.Request, Reason: why}))
	}
	return events
}

func (a *Answers) applyArmed(e *pb.ContinuationArmed) {
	a.Arms = e.GetArm()
	a.Pending, a.Deferred = &Continuation{
		Request: e.GetRequestId(), Arm: e.GetArm(), FireAt: e.GetFireMs(), Page: e.GetPage(), Body: e.GetBodyJson(), ClientTools: e.GetClientToolsJson(),
	}, nil
}

func (a *Answers) applyDeferred(e *pb.ContinuationDeferred) {
	request := e.GetRequestId()
	if a.Deferred != nil {
		request = a.Deferred.Request
	}
	a.Deferred = &Continuation{Request: request, Page: e.GetPage(), Body: e.GetBodyJson(), ClientTools: e.GetClientToolsJson()}
}

func (a *Answers) applyDropped(e *pb.ContinuationDropped) {
	if a.Pending != nil && a.Pending.Request == e.GetRequestId() {
		a.Pending = nil
	}
	if a.Deferred != nil && a.Deferred.Request == e.GetRequestId() {
		a.Deferred = nil
	}
}

// follow notes the turn of the continuation: its own, or the one that goes on with it
// after a cut.
func (a *Answers) follow(e *pb.TurnAccepted) {
	if p := a.Pending; p != nil && (e.GetAnswers() || p.Turn != 0 && p.Turn == e.GetContinuesTurn()) {
		p.Turn = e.GetTurn()
	}
}

func (a *Answers) ended(e *pb.TurnEnded) {
	if p := a.Pending; p != nil && p.Turn == e.GetTurn() && e.GetOutcome() != pb.TurnOutcome_TURN_OUTCOME_RECOVERING {
		a.Pending = nil
	}
}

func (a *Answers) base(b *pb.Base) {
	if p := a.Pending; p != nil && p.Turn == 0 {
		b.Continuation = &pb.ContinuationArmed{
			RequestId: p.Request, Arm: p.Arm, FireMs: p.FireAt, Page: p.Page, BodyJson: p.Body, ClientToolsJson: p.ClientTools,
		}
	}
}
