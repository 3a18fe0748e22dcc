package actors

import (
	"context"
	"encoding/json"
	"reflect"
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
	in         reflect.Type                      // of the input; nil: a client's tool
	fault      string                            // what is wrong with the registration
}

// ToolCall is one call of a tool, as its function gets it: see ToolCallFrom.
type ToolCall struct {
	ID        string
	Tool      string
	RequestID string // of the turn
	Attempt   int    // from 1; more than 1 if the tool is Repeatable and was cut off
	// IdempotencyKey names this call for ever, over attempts and restarts: give it to
	// services that know such keys.
	IdempotencyKey string
	// Self is the agent.
	Self *Self

	update func(json.RawMessage) error // shows a preliminary result; nil: nobody looks
}

// ToolCallFrom returns the call that ctx is for; nil in no tool's function.
func ToolCallFrom(ctx context.Context) *ToolCall {
	c, _ := ctx.Value(toolCallKey{}).(*ToolCall)
	return c
}

type toolCallKey struct{}

// A ToolOption sets something about a tool that most do not need.
type ToolOption func(*Tool)
