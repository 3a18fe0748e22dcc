package actors

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// loopAnswer is an answer that nobody watches.
type loopAnswer struct {
	words
	callIDs
	finish model.FinishPart
}

func (a *loopAnswer) read(ctx context.Context, m model.Model, req model.Request) error {
	finished := false
	for part, err := range m.Stream(ctx, req) {
		if err != nil {
			return err
		}
		switch p := part.(type) {
		case model.TextStart:
			a.start(p.ID, model.Content{Kind: model.TextContent})
		case model.TextDelta:
			a.add(p.ID, p.Text)
		case model.TextEnd:
			a.end(p.ID, p.Metadata)
		case model.ReasoningStart:
			a.start(p.ID, model.Content{Kind: model.ReasoningContent, Metadata: p.Metadata})
		case model.ReasoningDelta:
			a.add(p.ID, p.Text)
		case model.ReasoningEnd:
			a.end(p.ID, p.Metadata)
		case model.File:
			a.content = append(a.content, model.Content{Kind: model.FileContent, MediaType: p.MediaType, Data: p.Data})
		case model.ToolCall:
			a.content = append(a.content, model.Content{
				Kind: model.ToolCallContent, CallID: a.id(p.CallID), Tool: valid(p.Tool), Input: p.Input, Metadata: p.Metadata,
			})
			a.complete(p.CallID)
		case model.FinishPart:
			a.finish, finished = p, true
		case model.ToolInputStart, model.ToolInputDelta, model.Source: // nothing that the model is told again
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !finished {
		return &model.Error{Cause: model.Transient, Public: generalFailure, Err: errors.New("the answer has no end")}
	}
	return nil
}

// answer runs the calls of one step, all at once, and keeps their outcomes in the order
// of the calls.
func (r *loopRun) answer(ctx context.Context, calls []model.Content) []CallResult {
	if len(calls) == 0 {
		return nil
	}
	outcomes := make([]CallResult, len(calls))
	for _, c := range calls {
		r.progress.change(func(p *LoopProgress) { p.Running = append(p.Running, c.Tool) })
	}
	var running sync.WaitGroup
	for i := range calls {
		running.Go(func() {
			outcomes[i] = r.call(ctx, calls[i])
			r.progress.change(func(p *LoopProgress) {
				if at := slices.Index(p.Running, calls[i].Tool); at >= 0 {
					p.Running = slices.Delete(slices.Clone(p.Running), at, at+1)
				}
			})
		})
	}
	running.Wait()
	results := make([]model.Content, len(calls))
	for i, o := range outcomes {
		results[i] = model.Content{Kind: model.ToolResultContent, CallID: o.ID, Tool: o.Tool, Output: o.Output}
		if o.State == uimessage.OutputError {
			results[i].IsError, results[i].Output = true, quoted(o.ErrorText)
		}
	}
	r.messages = append(r.messages, model.Message{Role: model.ToolRole, Content: results})
	return outcomes
}

func (r *loopRun) call(ctx context.Context, c model.Content) CallResult {
	out := CallResult{ID: c.CallID, Tool: c.Tool, Input: uimessage.NormalizeInput(c.Input), State: uimessage.OutputAvailable}
	output, err := r.run(ctx, c)
	if err != nil {
		out.State, out.ErrorText = uimessage.OutputError, valid(err.Error())
		return out
	}
	out.Output = output
	return out
}

func (r *loopRun) run(ctx context.Context, c model.Content) (json.RawMessage, error) {
	input := c.Input
	tool, ok := r.tools.get(c.Tool)
	if !ok {
		return nil, noTool(c.Tool)
	}
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	if err := tool.takes(input); err != nil {
		return nil, err
	}
	if tool.run == nil {
		return nil, sentence("The tool is run by clients, which cannot be asked here.")
	}
	needs, err := r.host.needsApproval(tool, input)
	if err != nil {
		return nil, err
	}
	if needs {
		return nil, sentence("The call needs a person's approval, which cannot be got here.")
	}
	return r.host.execute(ctx, tool, r.toolCall(c), input)
}

// toolCall is a call as its tool gets it.
func (r *loopRun) toolCall(c model.Content) *ToolCall {
	hash := sha256.Sum256(c.Input)
	key := fmt.Sprintf("%s/%x", c.Tool, hash[:12])
	steps := r.steps // tools that are left behind ask later
	call := &ToolCall{
		ID: c.CallID, Tool: c.Tool, Attempt: 1, meter: &r.inside,
		afford: func(ctx context.Context) error { return r.afford(ctx, steps) },
	}
	if p := r.parent; p != nil {
		call.RequestID, call.Attempt, call.Self = p.RequestID, p.Attempt, p.Self
		call.IdempotencyKey = fmt.Sprintf("%s/%s/%d", p.IdempotencyKey, key, p.again(key))
		return call
	}
	call.IdempotencyKey = fmt.Sprintf("%s/%s/%s", r.key, key, c.CallID)
	return call
}

// again counts the calls of loops inside c that are the same: from 1.
func (c *ToolCall) again(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.same == nil {
		c.same = make(map[string]int)
	}
	c.same[key]++
	return c.same[key]
}

// progress shows how far a loop is as a preliminary result of the call around it.
type progress struct {
	call *ToolCall // nil: nobody looks
	make func(LoopProgress) any
	log  *slog.Logger

	mu    sync.Mutex
	state LoopProgress
	at    int // in call.loops
}

func (p *progress) begin() {
	if p.call == nil {
		return
	}
	p.call.mu.Lock()
	defer p.call.mu.Unlock()
	p.at = len(p.call.loops)
	p.call.loops = append(p.call.loops, p.state)
}

// change shows the state as f makes it. What cannot be shown, since the call is over, is
// of no interest any more.
func (p *progress) change(f func(*LoopProgress)) {
	if p.call == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.state)
	if p.make != nil {
		err := guard(func() {
			if v := p.make(p.state); v != nil {
				_ = p.call.Update(v)
			}
		})
		if err != nil {
			p.log.Error("panic in author's code", "field", "Loop.Progress", "error", err)
		}
		return
	}
	p.call.mu.Lock()
	defer p.call.mu.Unlock()
	p.call.loops[p.at] = p.state
	if data, err := encode(LoopsProgress{p.call.loops}); err == nil {
		_ = p.call.show(data)
	}
}
