package model

import (
	"context"
	"encoding/json"
)

type rawKey struct{}

// WithRaw returns a context in which answers show each event of the provider as
// it came. f is called on the goroutine that reads the answer, before the parts
// that the event leads to (calls of Chat Completions come at the answer's end), and
// also for events that lead to none. The bytes belong to f. Events that are no JSON
// are left out. Models without a wire call nothing.
func WithRaw(ctx context.Context, f func(json.RawMessage)) context.Context {
	return context.WithValue(ctx, rawKey{}, f)
}

// Raw returns the function of WithRaw, or nil: for those who write a Model.
func Raw(ctx context.Context) func(json.RawMessage) {
	f, _ := ctx.Value(rawKey{}).(func(json.RawMessage))
	return f
}
