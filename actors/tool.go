package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Tool is something that a model may call. NewTool, ClientTool and AgentTool make
// one; it is not changed afterwards and may be used by many agents.
type Tool struct {
	Name        string          // letters, digits, _ and -, at most 64
	Description string          // for the model
	Schema      json.RawMessage // JSON schema of the input, an object

	// run is the server's function; nil: a client, or a person, answers. The input
	// satisfies Schema. What it returns is JSON.
	run func(ctx context.Context, call *ToolCall, input json.RawMessage) (json.RawMessage, error)
	// approval tells whether a call with that input needs a person's approval; nil: none does.
	approval   func(input json.RawMessage) bool
	repeatable bool                              // a call that was cut off is run again
	timeout    time.Duration                     // of one run; 0: none
	check      func(input json.RawMessage) error // says what is wrong with an input, for the model; nil: all are right
	in         *shape                            // of the input; nil: of a client's tool
	fault      string                            // what is wrong with the registration
}

// ToolCall is one call of a tool, as its function gets it: see ToolCallFrom. Its
// methods may be called concurrently.
type ToolCall struct {
	ID        string
	Tool      string
	RequestID string // of the turn
	Attempt   int    // from 1; more than 1 if the tool is Repeatable and was cut off
	// IdempotencyKey names this call for ever, over attempts and restarts: give it to
	// services that know such keys.
	IdempotencyKey string
	// Self is the agent; nil in a Loop that runs outside of an agent.
	Self *Self

	update func(json.RawMessage) error // shows a preliminary result; nil: nobody looks
	shown  atomic.Bool                 // it has
	meter  *meter                      // counts what loops inside cost; nil: nobody counts
	afford func(context.Context) error // an error if no more may be spent; nil: no limit

	mu    sync.Mutex
	over  bool
	loops []LoopProgress // inside it, in the order in which they have begun
	same  map[string]int // how often loops inside have made a call, by its key
}

// ToolCallFrom returns the call that ctx is for; nil in no tool's function.
func ToolCallFrom(ctx context.Context) *ToolCall {
	c, _ := ctx.Value(toolCallKey{}).(*ToolCall)
	return c
}

type toolCallKey struct{}

// Update shows output in the place of the tool's result until that is there: progress,
// or a part of it. Outputs are shown in the order of the calls of Update. They are
// prose: a crash may lose the last ones. The error is ErrTurnOver when the call is over;
// also an output that has no JSON form is one. On a nil call, as in a test of the
// function alone, it does nothing.
func (c *ToolCall) Update(output any) error {
	data, err := encode(output)
	if err != nil {
		return fmt.Errorf("actors: a preliminary result has no JSON form: %w", err)
	}
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.show(data)
}

// show needs c.mu.
func (c *ToolCall) show(output json.RawMessage) error {
	switch {
	case c.over:
		return ErrTurnOver
	case c.update == nil:
		return nil
	}
	return c.update(output)
}

// end has nothing shown any more.
func (c *ToolCall) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}
