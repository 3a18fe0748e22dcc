package actors

import (
	"context"
	"encoding/json"
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
func Update(c *ToolCall, output string) error { return c.update(json.RawMessage(output)) }
