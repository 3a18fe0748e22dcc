package actors

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// ToolOf makes a tool of a function that takes JSON.
func ToolOf(name string, run func(ctx context.Context, call *ToolCall, input json.RawMessage) (json.RawMessage, error)) Tool {
	return Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`), run: run}
}

// ToolWith is t with a limit, a check of its input and the need of an approval.
func ToolWith(t Tool, timeout time.Duration, check func(json.RawMessage) error, approval func(json.RawMessage) bool) Tool {
	t.timeout, t.check, t.approval = timeout, check, approval
	return t
}

// Update shows a preliminary result of a call.
func Update(c *ToolCall, output string) error { return c.Update(json.RawMessage(output)) }

// Takes says what is wrong with an input of a tool.
func Takes(t Tool, input string) error { return t.takes(json.RawMessage(input)) }

// Execute runs a tool as an agent and a Loop do.
func Execute(ctx context.Context, t Tool, call *ToolCall, input string) (json.RawMessage, error) {
	h := toolHost{slog.New(slog.DiscardHandler), func(f func()) { go f() }}
	return h.execute(ctx, t, call, json.RawMessage(input))
}

// Shows has a call's preliminary results go to show.
func Shows(c *ToolCall, show func(json.RawMessage) error) { c.update = show }

// NeedsPerson asks a tool whether a call of it needs approval.
func NeedsPerson(t Tool, input string) bool {
	return t.approval != nil && t.approval(json.RawMessage(input))
}
