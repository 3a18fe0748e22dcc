package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// prepareTool runs a call of the server's.
func (a *shell) prepareTool(e chat.RunTool) func(context.Context) chat.Command {
	t, c := a.core.State.Turns.Running(), a.core.State.Call(e.CallID)
	outcome := chat.ToolReturned{Turn: e.Turn, CallID: e.CallID, Attempt: e.Attempt}
	setup := a.loopSetup(t, a.entries(t))
	out, log, me := newStream(a, t.ID, t.Attempt, t.Request), a.log.With("request", t.Request, "call", c.ID, "tool", c.Tool), a.addr
	name, input := c.Tool, c.Input
	call := &ToolCall{
		ID: c.ID, Tool: c.Tool, RequestID: t.Request, Attempt: int(e.Attempt), Self: a.inTurn(),
		IdempotencyKey: fmt.Sprintf("%s/%s/%s", a.addr, c.MessageID, c.ID),
	}
	call.update = func(output json.RawMessage) error {
		call.shown.Store(true)
		return out.Chunk(uimessage.Chunk{Type: "tool-output-available", ToolCallID: call.ID, Output: output, Preliminary: true})
	}
	host, budget, steps := a.rt.toolHost(log), &a.class.Budget, setup.steps
	call.meter = &setup.inside
	call.afford = func(ctx context.Context) error {
		return budget.over(ctx, call.Self, budget.spent(call.RequestID, steps, call.meter, setup.began))
	}
	return func(ctx context.Context) chat.Command {
		ctx = inside(ctx, me)
		out.ctx = ctx
		var output json.RawMessage
		cfg, err := setup.config(ctx, log)
		if err == nil {
			tool, ok := cfg.tools.get(name)
			if !ok || tool.run == nil {
				err = sentence(fmt.Sprintf("There is no tool named %.100q any more; the call was not run.", name))
			} else {
				output, err = host.execute(ctx, tool, call, input)
			}
		} else {
			err = errors.New(publicText(err))
		}
		chunk := uimessage.Chunk{Type: "tool-output-available", ToolCallID: call.ID, Output: output}
		if call.shown.Load() {
			// A client that watches keeps what an earlier chunk has said unless this one says otherwise.
			chunk.Extra = map[string]json.RawMessage{"preliminary": json.RawMessage("false")}
		}
		if err != nil && ctx.Err() != nil {
			err = errInterrupted
		}
		if err != nil {
			outcome.Failed, outcome.Text = true, valid(err.Error())
			chunk = uimessage.Chunk{Type: "tool-output-error", ToolCallID: call.ID, ErrorText: outcome.Text}
		}
		outcome.Output, outcome.Now = output, nowMS()
		if ctx.Err() == nil {
			_ = out.Chunk(chunk) // one that clients are not shown is told by the outcome
		}
		return outcome
	}
}
