package chat

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Actions of FuzzCore on the model loop, on calls of tools and on their answers.

var callScripts = [][]string{
	{"ask", "call", "call:3", "answer step", "run tool:1", "answer step", "answer:17", "sleep", "answer step", "die", "answer:9"},
	{"ask", "call:2", "call:1", "answer step", "approve:9", "die", "run tool", "answer step", "approve:1", "approve:9", "sleep", "run tool:1", "die", "sleep"},
	{"ask", "loop", "call", "answer step", "run tool:1", "write:6", "die", "loop", "answer step", "succeed", "ask", "overflow", "die", "succeed"},
	{"ask", "call:4", "call:5", "answer step", "approve:1", "ask", "shorten", "sleep:1", "answer:1", "answer:9", "sleep", "call", "die", "run tool", "stop"},
	// Found by chance, and mended.
	{"ask:48", "call:50", "die:48", "regenerate:48", "approve:49"},
	{"ask:111", "write:26", "regenerate:8", "succeed:25", "fail:86", "write:247", "die:180"},
	{"forge:7", "call:178", "die:196", "write:235", "answer:131", "die:244", "ask:135"},
	{"ask:42", "write:221", "cancel:139", "continue:229", "call:155", "ask:74"},
	{"ask:234", "answer step:24", "write:224"},
}

// asked returns the call of the model that is due.
func (p *player) asked() (CallModel, bool) {
	work, _ := p.state().Outstanding()
	for _, e := range work {
		if e, ok := e.(CallModel); ok {
			return e, true
		}
	}
	return CallModel{}, false
}

var callKinds = []Call{
	{Kind: pb.CallKind_CALL_KIND_SERVER},
	{Kind: pb.CallKind_CALL_KIND_SERVER, Repeatable: true},
	{Kind: pb.CallKind_CALL_KIND_SERVER, ApprovalID: "asks"},
	{Kind: pb.CallKind_CALL_KIND_CLIENT},
	{Kind: pb.CallKind_CALL_KIND_CLIENT, ApprovalID: "asks"},
	{Kind: pb.CallKind_CALL_KIND_CLIENT, Expires: 1},
}

// call has the model ask for a call, and shows it, mostly.
func (p *player) call(how int) {
	e, ok := p.asked()
	if !ok {
		return
	}
	p.fresh++
	call := callKinds[how%len(callKinds)]
	call.ID, call.Tool, call.Input = fmt.Sprint("k", p.fresh), "t", []byte(`{}`)
	if how%5 == 4 && p.free("again") {
		call.ID = "again" // as providers do that count from the start in each answer
	}
	if call.ApprovalID != "" {
		call.ApprovalID += call.ID
	}
	if call.Expires > 0 {
		call.Expires = p.now + 1000
	}
	p.give(OpenCall{Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Call: call})
	if how/len(callKinds)%4 == 3 {
		return // the process dies before it is shown
	}
	chunks := []uimessage.Chunk{{Type: "tool-input-available", ToolCallID: call.ID, ToolName: call.Tool, Input: call.Input}}
	if call.ApprovalID != "" {
		chunks = append(chunks, uimessage.Chunk{Type: "tool-approval-request", ToolCallID: call.ID, ApprovalID: call.ApprovalID})
	}
	p.keep(chunks...)
	p.track()
}

// free reports whether a call's id is neither open nor in the answer that is being
// written: the shell gives no such id.
func (p *player) free(id string) bool {
	m, _ := p.state().Transcript.Message(p.state().Writing(p.state().Turns.Running()))
	if p.state().Stream.Open {
		m = p.state().Stream.Message()
	}
	return p.state().Call(id) == nil && !callIn(m, id).IsTool()
}

// answerStep ends the model's answer as the shell does: it is the last one if no call
// is the server's to run. Or the shell does not agree.
func (p *player) answerStep(how int) {
	e, ok := p.asked()
	if !ok {
		return
	}
	last := len(p.state().startable(p.state().Turns.Running())) == 0
	p.outcome(StepAnswered{
		Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Content: fmt.Appendf(nil, `["step %d"]`, e.Step), Reason: []string{"stop", "tool-calls"}[how%2],
		Last: last != (how%5 == 4), Usage: &Usage{Input: 1, Output: 2},
	})
}

// runTool hands in the outcome of a call of the server's, whose chunk was shown or not.
func (p *player) runTool(how int) {
	work, _ := p.state().Outstanding()
	var due []RunTool
	for _, e := range work {
		if e, ok := e.(RunTool); ok {
			due = append(due, e)
		}
	}
	if len(due) == 0 {
		return
	}
	e := due[how%len(due)]
	if how%3 > 0 {
		if t := p.state().Turns.Running(); t != nil {
			p.keep(uimessage.Chunk{Type: "tool-output-available", ToolCallID: e.CallID, Output: []byte(`"shown"`), Preliminary: how%3 == 2})
			p.track()
		}
	}
	if how%7 == 6 {
		return // dies between the chunk and its outcome
	}
	p.outcome(ToolReturned{
		Turn: e.Turn, CallID: e.CallID, Attempt: e.Attempt, Output: []byte(`"returned"`), Failed: how%5 == 4, Text: "no", Now: p.now,
	})
}

// known are the calls of all messages, and those that have not been shown.
func (p *player) known() []string {
	ids := map[string]bool{"nobody's": true}
	for id := range p.parts() {
		ids[id] = true
	}
	for _, c := range p.state().Calls {
		ids[c.ID] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

func (p *player) answerCall(how int) {
	known := p.known()
	cmd := Answer{
		CallID: known[how/8%len(known)], Output: []byte(`"answered"`), Failed: how%8 == 7, Continue: how%4 > 0, By: Responder{Page: fmt.Sprint("page", how%3)},
		Now: p.now, Ids: p.ids(),
	}
	if how%8 == 6 {
		cmd.ClientTools = []byte(`[{"name":"later"}]`)
	}
	p.give(cmd)
}

func (p *player) approve(how int) {
	known := p.known()
	p.give(Approve{
		CallID: known[how/8%len(known)], Approved: how%3 > 0, Reason: "because", Continue: how%4 > 0, By: Responder{Page: fmt.Sprint("page", how%3)},
		Now: p.now, Ids: p.ids(),
	})
}

// loop has the handler ask the model loop, or stops the loop before the model is asked.
func (p *player) loop(how int) {
	if e, ok := p.asked(); ok {
		p.outcome(LoopStopped{Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Reason: "tool-calls", Failed: []string{"", "Enough."}[how%2]})
		return
	}
	if t := p.state().Turns.Running(); t != nil {
		p.loops++
		p.give(StartLoop{Turn: t.ID, Attempt: t.Attempt, Loop: p.loops})
	}
}

// overflow has the conversation not fit into the model's context.
func (p *player) overflow(how int) {
	if e, ok := p.asked(); ok {
		cmd := p.fail(e, how%2 == 0).(StepErred)
		cmd.Compacts = true
		p.outcome(cmd)
	}
}

// calls reports whether calls were opened or answered, or a turn had several steps.
func (p *player) calls() bool {
	return slices.ContainsFunc(p.journal, func(r record) bool {
		e := p.decode(r)
		return e.GetStepFinished() != nil && !e.GetStepFinished().GetLast() || e.GetLoopStarted() != nil || e.GetToolCallOpened() != nil || e.GetToolSettled() != nil || e.GetApprovalDecided() != nil
	})
}

// remembered is what is said of calls: which have an outcome, and which.
type remembered struct {
	message string
	part    uimessage.Part
}

// parts are the newest part of each call.
func (r *rig) parts() map[string]remembered {
	all := map[string]remembered{}
	take := func(m uimessage.Message) {
		for _, p := range m.Parts {
			if p.IsTool() && m.Role == uimessage.Assistant {
				all[p.ToolCallID] = remembered{m.ID, p}
			}
		}
	}
	for _, m := range r.state().Transcript.Messages {
		if !m.Foreign {
			take(m.parse())
		}
	}
	if r.state().Stream.Open {
		take(r.state().Stream.Message())
	}
	return all
}

// checkCalls: who waits is there, and nobody waits for nothing.
func (r *rig) checkCalls() {
	r.t.Helper()
	s := r.state()
	if s.Family.Deleted {
		return
	}
	running := s.Turns.Running()
	parts := r.parts()
	seen := map[string]bool{}
	for _, c := range s.Calls {
		require.False(r.t, seen[c.ID], "call %s is open twice", c.ID)
		seen[c.ID] = true
		if running != nil && s.Writing(running) == c.MessageID || s.Turns.writes(c.MessageID) {
			continue
		}
		was, ok := parts[c.ID]
		require.True(r.t, ok, "call %s is open in no message", c.ID)
		require.False(r.t, was.part.Final(), "call %s is open and has an outcome", c.ID)
		require.True(r.t, !c.servers() || c.Approved, "call %s is the server's, and nobody will run it", c.ID)
		require.False(r.t, c.runs(), "call %s runs without a turn", c.ID)
	}
	r.checkContinuation()
	r.checkOutcomes(parts)
}

func (r *rig) checkContinuation() {
	r.t.Helper()
	s := r.state()
	p, d := s.Answers.Pending, s.Answers.Deferred
	if p != nil && p.Turn != 0 {
		require.NotNil(r.t, s.Turns.byID(p.Turn), "the continuation's turn is over")
	}
	if d != nil {
		require.True(r.t, p != nil && p.Turn != 0, "a continuation is deferred, and none runs")
	}
	_, waits := s.Outstanding()
	if p != nil && p.Turn == 0 && s.Turns.holder() == nil && !s.incomplete() && !s.Family.Deleted {
		require.True(r.t, slices.ContainsFunc(waits, func(w Wait) bool { return w.Key == p.waitKey() }), "a continuation could fire, and nothing waits for it")
	}
}

// checkOutcomes: the first outcome of a call stays. The author, who may edit, and the
// size guard may write it in another way.
func (r *rig) checkOutcomes(parts map[string]remembered) {
	r.t.Helper()
	now := map[string]remembered{}
	for id, is := range parts {
		was, had := r.outcomesOf[id]
		if had && was.message == is.message {
			require.Equal(r.t, was.part.State, is.part.State, "call %s has another outcome", id)
			require.Equal(r.t, was.part.ErrorText, is.part.ErrorText, "call %s has another outcome", id)
			if r.policy.MaxBytes == 0 {
				require.JSONEq(r.t, string(orNull(was.part.Output)), string(orNull(is.part.Output)), "call %s has another outcome", id)
			}
		}
		if is.part.Final() {
			now[id] = is
		}
	}
	r.outcomesOf = now
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// checkJournal looks back at what was done about each call.
func (p *player) checkJournal() {
	opened, started, settled := map[string]*pb.ToolCallOpened{}, map[string]int{}, map[string]bool{}
	fired := map[string]bool{}
	for _, rec := range p.journal {
		e := p.decode(rec)
		switch {
		case e.GetCleared() != nil:
			clear(opened)
			clear(started)
			clear(settled)
		case e.GetBase() != nil:
			for _, c := range e.GetBase().GetCalls() {
				opened[c.GetOpened().GetCallId()] = c.GetOpened()
			}
		case e.GetToolCallOpened() != nil:
			id := e.GetToolCallOpened().GetCallId()
			require.True(p.t, opened[id] == nil || settled[id], "call %s is opened twice", id)
			opened[id], started[id], settled[id] = e.GetToolCallOpened(), 0, false
		case e.GetToolStarted() != nil:
			id := e.GetToolStarted().GetCallId()
			started[id]++
			require.False(p.t, settled[id], "call %s has an outcome and is started", id)
			require.NotNil(p.t, opened[id])
			require.Equal(p.t, pb.CallKind_CALL_KIND_SERVER, opened[id].GetKind())
			require.True(p.t, started[id] == 1 || opened[id].GetRepeatable(), "call %s is run %d times", id, started[id])
		case e.GetToolSettled() != nil:
			id := e.GetToolSettled().GetCallId()
			require.False(p.t, settled[id], "call %s has two outcomes", id)
			settled[id] = true
		case e.GetApprovalDecided() != nil && !e.GetApprovalDecided().GetApproved():
			id := e.GetApprovalDecided().GetCallId()
			require.False(p.t, settled[id], "call %s has two outcomes", id)
			settled[id] = true
		case e.GetTurnAccepted().GetAnswers():
			request := e.GetTurnAccepted().GetRequestId()
			require.False(p.t, fired[request], "continuation %s fires twice", request)
			fired[request] = true
		}
	}
}
