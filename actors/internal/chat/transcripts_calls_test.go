package chat

import (
	"github.com/cockroachdb/datadriven"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Commands of transcripts on the model loop, on calls of tools and on their answers.

// openCall opens a call of the step that is due, and shows it unless it is hidden.
func (p *play) openCall(d *datadriven.TestData) {
	e := p.call(d)
	call := Call{
		ID: word(d, 0), Tool: "t", Kind: pb.CallKind_CALL_KIND_SERVER, Input: []byte("{}"), ApprovalID: value(d, "approval"), Repeatable: d.HasArg("repeatable"),
	}
	if d.HasArg("client") {
		call.Kind = pb.CallKind_CALL_KIND_CLIENT
	}
	if ms := number(d, "expires", 0); ms > 0 {
		call.Expires = p.now + int64(ms)
	}
	p.do(OpenCall{Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Call: call})
	if d.HasArg("hidden") {
		return
	}
	chunks := []uimessage.Chunk{{Type: "tool-input-available", ToolCallID: call.ID, ToolName: call.Tool, Input: call.Input}}
	if call.ApprovalID != "" {
		chunks = append(chunks, uimessage.Chunk{Type: "tool-approval-request", ToolCallID: call.ID, ApprovalID: call.ApprovalID})
	}
	p.keep(chunks...)
}

// returned is the outcome of a call of the server's, whose chunk was shown or not.
func (p *play) returned(d *datadriven.TestData) {
	cmd := ToolReturned{Turn: p.state().Turns.Last, CallID: word(d, 0), Attempt: uint32(number(d, "attempt", 1)), Output: []byte(d.Input), Failed: d.HasArg("failed"), Now: p.now}
	if cmd.Failed {
		cmd.Output, cmd.Text = nil, d.Input
	}
	if d.HasArg("shown") {
		chunk := uimessage.Chunk{Type: "tool-output-available", ToolCallID: cmd.CallID, Output: cmd.Output}
		if cmd.Failed {
			chunk = uimessage.Chunk{Type: "tool-output-error", ToolCallID: cmd.CallID, ErrorText: cmd.Text}
		}
		p.keep(chunk)
	}
	p.do(cmd)
}

func (p *play) responder(d *datadriven.TestData) Responder {
	return Responder{Page: value(d, "page"), Who: value(d, "who")}
}

func (p *play) result(d *datadriven.TestData) {
	cmd := Answer{
		CallID: word(d, 0), Output: []byte(d.Input), Failed: d.HasArg("failed"), Continue: !d.HasArg("stay"), By: p.responder(d), Now: p.now, Ids: p.ids(),
	}
	if cmd.Failed {
		cmd.Output, cmd.ErrorText = nil, d.Input
	}
	if tools := value(d, "tools"); tools != "" {
		cmd.ClientTools = []byte(tools)
	}
	p.do(cmd)
}

func (p *play) approves(d *datadriven.TestData) {
	p.do(Approve{
		CallID: word(d, 0), Approved: !d.HasArg("no"), Reason: d.Input, Continue: !d.HasArg("stay"), By: p.responder(d), Now: p.now, Ids: p.ids(),
	})
}

func (p *play) startLoop(d *datadriven.TestData) {
	t := p.state().Turns.Running()
	p.do(StartLoop{Turn: t.ID, Attempt: t.Attempt, Loop: uint32(number(d, "loop", 1))})
}

func (p *play) stopped(d *datadriven.TestData) {
	e := p.call(d)
	p.do(LoopStopped{Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Reason: "tool-calls", Failed: d.Input})
}

func (p *play) compacted(d *datadriven.TestData) {
	e, _ := p.firstDue().(Compact)
	p.do(Compacted{Turn: e.Turn, Attempt: e.Attempt, UptoID: word(d, 0), Summary: d.Input, Model: "m", Usage: usage(d)})
}

func usage(d *datadriven.TestData) *Usage {
	if n := number(d, "tokens", 0); n > 0 {
		return &Usage{Input: int64(n), Output: 1}
	}
	return nil
}
