package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// toolPanicked is what the model is told of a function that has panicked.
const toolPanicked = "The tool has failed."

// sentence is an error whose text is written for the model.
type sentence string

func (s sentence) Error() string { return string(s) }

// errNotJSON is what the model is told of a result that has no JSON form.
var errNotJSON = sentence("The tool's result is not JSON.")

// errInterrupted is what the model is told of a call that was ended from outside.
var errInterrupted = sentence("The call was interrupted; its outcome is unknown.")

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
				output, err = a.runTool(ctx, tool, call, input, out)
			}
		} else {
			err = errors.New(publicText(err))
		}
		chunk := uimessage.Chunk{Type: "tool-output-available", ToolCallID: call.ID, Output: output}
		if err != nil && ctx.Err() != nil {
			err = errInterrupted
		}
		if err != nil {
			log.Info("a tool failed", "error", err)
			outcome.Failed, outcome.Text = true, valid(err.Error())
			chunk = uimessage.Chunk{Type: "tool-output-error", ToolCallID: call.ID, ErrorText: outcome.Text}
		}
		outcome.Output, outcome.Now = output, nowMS()
		outcome.Chunked = ctx.Err() == nil && out.Chunk(chunk) == nil
		return outcome
	}
}

// runTool runs the author's function. Its preliminary results go to out.
func (a *shell) runTool(ctx context.Context, tool Tool, call *ToolCall, input json.RawMessage, out *Stream) (json.RawMessage, error) {
	var mu sync.Mutex
	done := false
	call.update = func(output json.RawMessage) error {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return ErrTurnOver
		}
		return out.Chunk(uimessage.Chunk{Type: "tool-output-available", ToolCallID: call.ID, Output: output, Preliminary: true})
	}
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		done = true
	}()
	return a.rt.execute(ctx, tool, call, input)
}

// execute runs a tool's function until it returns, its time is over or ctx ends.
func (rt *Runtime) execute(ctx context.Context, tool Tool, call *ToolCall, input json.RawMessage) (json.RawMessage, error) {
	if err := tool.takes(input); err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, toolCallKey{}, call)
	late := sentence(fmt.Sprintf("The tool took longer than %s.", tool.timeout))
	if tool.timeout > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, tool.timeout, late)
		defer cancel()
		ctx = timed
	}
	type outcome struct {
		output   json.RawMessage
		panicked error
	}
	got := make(chan outcome, 1)
	err := rt.cutOff(ctx, func() (err error) {
		var o outcome
		o.panicked = guard(func() { o.output, err = tool.run(ctx, call, input) })
		got <- o
		return err
	})
	if cause := context.Cause(ctx); errors.Is(cause, late) && err != nil {
		return nil, late
	}
	if err != nil {
		return nil, err
	}
	o := <-got
	switch {
	case o.panicked != nil:
		rt.cfg.Log.Error("panic in author's code", "tool", tool.Name, "error", o.panicked)
		return nil, sentence(toolPanicked)
	case !json.Valid(o.output):
		return nil, errNotJSON
	}
	return o.output, nil
}
