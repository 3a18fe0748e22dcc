package chat

import (
	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// The model loop beyond one step: calls are opened while the model answers, the
// server's run when its answer is complete, and the model is asked again when they
// all have an outcome.

// stepping returns the running turn if it is at that attempt of that step, and the
// model's answer is awaited; else nil.
func (c *Core) stepping(turn uint64, step, attempt uint32) *Turn {
	t := c.State.Turns.Running()
	if t == nil || t.CutOff || t.ID != turn || !c.State.Steps.running(turn, step, attempt) {
		return nil
	}
	return t
}

func (c *Core) decideOpenCall(cmd OpenCall) ([]Event, error) {
	t := c.stepping(cmd.Turn, cmd.Step, cmd.Attempt)
	if t == nil {
		return nil, ErrTurnOver
	}
	call := cmd.Call
	if c.State.Call(call.ID) != nil {
		return nil, nil
	}
	return []Event{event(&pb.ToolCallOpened{
		Turn: t.ID, Step: cmd.Step, CallId: valid(call.ID), Tool: valid(call.Tool), Kind: call.Kind, MessageId: c.State.Writing(t),
		InputJson: call.Input, ApprovalId: call.ApprovalID, Repeatable: call.Repeatable, ExpiresMs: call.Expires,
	})}, nil
}

// beginLoop runs what the message's calls are due, then asks the model.
func (c *Core) beginLoop(t *Turn) []Event {
	if calls := c.State.startable(t); len(calls) > 0 {
		return startCalls(calls)
	}
	return []Event{c.askModel(t, c.State.stepsOf(t)+1)}
}

// stepsOf is how many steps the running loop of a handler has had before it was cut
// off. The turn's own loop counts from its start.
func (s *State) stepsOf(t *Turn) uint32 {
	n := s.Steps.Step
	if s.Steps.Loop == 0 || n > 0 {
		return n
	}
	for _, r := range t.Own(s.Transcript.Steps(s.Writing(t))) {
		if r.Loop == s.Steps.Loop {
			n++
		}
	}
	return n
}

func (c *Core) askModel(t *Turn, step uint32) Event {
	return event(&pb.StepStarted{Turn: t.ID, Step: step, Attempt: c.State.Steps.Attempt + 1})
}

// afterTool asks the model again when the last call of the step has its outcome.
func (c *Core) afterTool() []Event {
	s := &c.State
	t := s.Turns.Running()
	if t == nil || t.CutOff || s.Steps.Turn != t.ID || !s.Steps.Answered || s.toolsRun(t.ID) {
		return nil
	}
	return []Event{c.askModel(t, s.stepsOf(t)+1)}
}

func (c *Core) decideStepAnswered(cmd StepAnswered) []Event {
	s := &c.State
	t := c.stepping(cmd.Turn, cmd.Step, cmd.Attempt)
	if t == nil {
		return nil
	}
	reason := valid(cmd.Reason)
	finished := event(&pb.StepFinished{
		Turn: cmd.Turn, Step: cmd.Step, ContentJson: cmd.Content, FinishReason: reason, Usage: cmd.Usage, Model: valid(cmd.Model),
		MessageId: s.Writing(t), Segment: s.segment(), Loop: s.Steps.Loop, Last: cmd.Last,
	})
	if cmd.Last {
		return append([]Event{finished}, c.endLoop(t, reason, "", cmd.Cleaned)...)
	}
	if calls := s.startable(t); len(calls) > 0 {
		return append([]Event{finished}, startCalls(calls)...)
	}
	return []Event{finished, c.askModel(t, cmd.Step+1)}
}

// segment is the place of the running step in the message that is being written:
// behind so many step-start parts.
func (s *State) segment() (n uint32) {
	if !s.Stream.Open {
		return 0
	}
	for _, p := range s.Stream.Message().Parts {
		if p.Type == uimessage.StepStart {
			n++
		}
	}
	return n
}

// endLoop ends the loop, and with it the turn unless a handler has asked for it.
func (c *Core) endLoop(t *Turn, reason, failed string, cleaned *uimessage.Message) []Event {
	if loop := c.State.Steps.Loop; loop > 0 {
		return []Event{event(&pb.LoopEnded{Turn: t.ID, Loop: loop, Reason: reason, ErrorText: failed})}
	}
	end := &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_COMPLETED, FinishReason: reason}
	if failed != "" {
		end = &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_ERROR, ErrorText: failed, InBand: c.State.Stream.Open}
	}
	return c.endWith(t, end, cleaned)
}

// decideToolReturned: what the stream's chunks say already is not said again.
func (c *Core) decideToolReturned(cmd ToolReturned) []Event {
	s := &c.State
	call := s.Call(cmd.CallID)
	if call == nil || !call.runs() || call.Turn != cmd.Turn || call.Attempt != cmd.Attempt {
		return nil
	}
	id, p, ok := s.Part(cmd.CallID)
	e := &pb.ToolSettled{
		CallId: cmd.CallID, MessageId: id, State: pb.ToolState_TOOL_STATE_OUTPUT, By: pb.Settler_SETTLER_SERVER, AtMs: cmd.Now,
		Chunked: !ok || p.Final(),
	}
	if cmd.Failed {
		e.State = pb.ToolState_TOOL_STATE_ERROR
	}
	if !e.GetChunked() {
		e.OutputJson, e.ErrorText = cmd.Output, valid(cmd.Text)
	}
	return []Event{event(e)}
}

func (c *Core) decideLoopStopped(cmd LoopStopped) []Event {
	t := c.stepping(cmd.Turn, cmd.Step, cmd.Attempt)
	if t == nil {
		return nil
	}
	return c.endLoop(t, valid(cmd.Reason), valid(cmd.Failed), cmd.Cleaned)
}

func (c *Core) decideStartLoop(cmd StartLoop) ([]Event, error) {
	s := &c.State
	t := s.Turns.attempt(cmd.Turn, cmd.Attempt)
	if t == nil || s.Steps.Turn == t.ID && s.Steps.Loop != cmd.Loop {
		return nil, ErrTurnOver
	}
	if s.Steps.Turn == t.ID {
		return nil, nil
	}
	return []Event{event(&pb.LoopStarted{Turn: t.ID, Loop: cmd.Loop})}, nil
}

func (c *Core) decideCompacted(cmd Compacted) []Event {
	s := &c.State
	t := s.Turns.Running()
	if t == nil || t.CutOff || t.ID != cmd.Turn || !s.Steps.Compacting || s.Steps.Attempt != cmd.Attempt {
		return nil
	}
	if cmd.Failed != "" {
		return c.endLoop(t, "", valid(cmd.Failed), nil)
	}
	if _, ok := s.Transcript.message(s.Transcript.known(cmd.UptoID)); !ok {
		return []Event{c.askModel(t, s.Steps.Step)} // cleared or trimmed meanwhile; the model says whether it fits
	}
	return []Event{
		event(&pb.ContextCompacted{UptoId: cmd.UptoID, Summary: valid(cmd.Summary), Model: valid(cmd.Model), Usage: cmd.Usage}),
		c.askModel(t, s.Steps.Step),
	}
}

func (s *State) applyLoopStarted(e *pb.LoopStarted) {
	s.Steps = Steps{Turn: e.GetTurn(), Loop: e.GetLoop(), Attempt: s.Steps.Attempt, Compacted: s.Steps.Compacted}
}

func (s *State) applyLoopEnded() {
	s.Steps = Steps{Attempt: s.Steps.Attempt, Compacted: s.Steps.Compacted}
}

func (s *State) applyCompacted(e *pb.ContextCompacted) {
	s.Transcript.Compaction = Compaction{UptoID: e.GetUptoId(), Summary: e.GetSummary()}
	s.Usage = sum(s.Usage, e.GetUsage())
}
