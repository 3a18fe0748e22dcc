package actors

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// ChatOptions make the caller of Ref.Chat the client of its turn. They are for that turn
// alone, with the recoveries that follow it in this process: nothing of them is stored.
//
// With options the end of ctx cancels the turn, as soon as the running OnClientToolCall
// has returned; Chat then returns the aborted response, or ctx's error if the end cannot
// be stored within some seconds.
type ChatOptions struct {
	// ClientTools are offered to the model beside the agent's, and take the place of
	// those of the same name. ClientTool makes one. NeedsApproval has no effect: who
	// asks is who decides.
	ClientTools []Tool
	// OnClientToolCall runs the model's calls of ClientTools, several at once, while Chat
	// waits. ctx ends with the turn and with Chat's; ToolCallFrom(ctx) is the call. What
	// it returns must have a JSON form. An error, a panic and what is no JSON are tool
	// errors, which the model sees, and the turn goes on. A call that the end of the
	// process cuts off is not run again: it has failed.
	//
	// nil: calls are seen by OnChunk, and the turn ends with them open. See OpenCalls.
	OnClientToolCall func(ctx context.Context, call ClientToolCall) (any, error)
	// OnChunk gets each chunk of the answer, in order, when sockets do. It is called by
	// Chat, on its goroutine: it holds up nobody else.
	OnChunk func(chunk uimessage.Chunk)
}

// ClientToolCall is a call as OnClientToolCall gets it.
type ClientToolCall struct {
	ID, Tool string
	Input    json.RawMessage // an object
}

// errHungUp is the outcome of a call whose caller has gone before it was run.
var errHungUp = sentence("The call was cancelled.")

// caller is who waits in Chat with options, as long as the turn is unfinished.
type caller struct {
	ctx     context.Context //nolint:containedctx // the call of Chat is what this stands for
	options ChatOptions
	tools   []Tool
	stop    func() bool // of the watch over ctx; set by the shell

	mu      sync.Mutex
	running sync.WaitGroup // of OnClientToolCall
	chunks  []uimessage.Chunk
	heard   chan struct{} // has a value if there are chunks
}

// newCaller checks options at the edge.
func newCaller(ctx context.Context, options []ChatOptions) (*caller, error) {
	switch {
	case len(options) == 0:
		return nil, nil
	case len(options) > 1:
		return nil, &Error{Code: BadRequest, Message: "more than one ChatOptions"}
	}
	c := &caller{ctx: ctx, options: options[0], tools: slices.Clone(options[0].ClientTools), heard: make(chan struct{}, 1)}
	for i := range c.tools {
		t := &c.tools[i]
		if t.run != nil || t.in != nil {
			t.fault = "it is the server's; ClientTool makes a client's"
		}
	}
	if p := problemOf(c.tools); p != "" {
		return nil, &Error{Code: BadRequest, Message: "ChatOptions.ClientTools " + p}
	}
	for i := range c.tools {
		t := &c.tools[i]
		t.approval, t.repeatable = nil, false
		if c.options.OnClientToolCall != nil {
			t.run = c.answer
		}
	}
	return c, nil
}

// answer runs a call in the caller's callback.
func (c *caller) answer(ctx context.Context, call *ToolCall, input json.RawMessage) (json.RawMessage, error) {
	if !c.begin() {
		return nil, errHungUp
	}
	defer c.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	output, err := c.options.OnClientToolCall(ctx, ClientToolCall{ID: call.ID, Tool: call.Tool, Input: input})
	if err != nil {
		return nil, err
	}
	raw, err := encode(output)
	if err != nil {
		return nil, errNotJSON
	}
	return raw, nil
}

// begin reports whether the caller still answers. If so running is to be ended.
func (c *caller) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.running.Add(1)
	return true
}

// settled returns a channel that is closed when no callback runs any more. It is for
// callers whose context is over; of nil none ever runs.
func (c *caller) settled() <-chan struct{} {
	done := make(chan struct{})
	if c == nil {
		close(done)
		return done
	}
	c.mu.Lock() // behind every begin
	defer c.mu.Unlock()
	go func() {
		c.running.Wait()
		close(done)
	}()
	return done
}

// hear takes a chunk that everybody may see. It does not block.
func (c *caller) hear(chunk uimessage.Chunk) {
	c.mu.Lock()
	c.chunks = append(c.chunks, chunk)
	c.mu.Unlock()
	select {
	case c.heard <- struct{}{}:
	default:
	}
}

// listen returns a channel that says when there is something to tell.
func (c *caller) listen() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.heard
}

// tell hands over what was heard.
func (c *caller) tell() {
	if c == nil {
		return
	}
	c.mu.Lock()
	chunks := c.chunks
	c.chunks = nil
	c.mu.Unlock()
	for _, chunk := range chunks {
		c.options.OnChunk(chunk)
	}
}

// keepCaller remembers who waits for a request's turn, until that is over.
func (a *shell) keepCaller(request string, c *caller) {
	if a.core.State.Turns.Request(request) == nil || a.callers[request] != nil {
		return
	}
	a.callers[request] = c
	c.stop = context.AfterFunc(c.ctx, func() { a.tell(forget((*shell).hangUp)) })
}

// forgetCallers drops those whose turns are over.
func (a *shell) forgetCallers() {
	for request, c := range a.callers {
		if a.core.State.Turns.Request(request) == nil {
			c.stop()
			delete(a.callers, request)
		}
	}
}

// hangUp cancels the turns of callers who have gone, unless a callback still runs.
func (a *shell) hangUp() {
	for request, c := range a.callers {
		if c.ctx.Err() != nil && !interrupted(c.ctx) && !a.answering(c) {
			a.step(chat.Cancel{Request: request})
		}
	}
}

// answering reports whether a call is under way in the caller's callback.
func (a *shell) answering(c *caller) bool {
	return slices.ContainsFunc(a.core.State.Calls, func(call *chat.Call) bool {
		ours := slices.ContainsFunc(c.tools, func(t Tool) bool { return t.Name == call.Tool })
		return ours && a.running[chat.RunTool{Turn: call.Turn, CallID: call.ID, Attempt: call.Attempt}.Key()] != nil
	})
}

// callersTools are the tools that a turn's caller brings along.
func (a *shell) callersTools(request string) []Tool {
	if c := a.callers[request]; c != nil {
		return c.tools
	}
	return nil
}

// tap has the turn's caller hear what l lets out.
func (a *shell) tap(l *livestream, request string) {
	if c := a.callers[request]; c != nil && c.options.OnChunk != nil {
		l.tap = c.hear
	}
}

// interrupted reports whether ctx is over without anybody having changed their mind.
func interrupted(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, ErrInterrupted) || errors.Is(cause, errStopping)
}
