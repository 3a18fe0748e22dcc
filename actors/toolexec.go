package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/holdfast-dev/holdfast/actors/model"
)

const (
	// toolPanicked is what the model is told of a function that has panicked.
	toolPanicked = "The tool has failed."
	notJSON      = "The tool's result is not JSON" // and why
	// maxToolError bounds an error's text: models and visitors read it again and again.
	maxToolError = 8 << 10
)

// sentence is an error whose text is written for the model.
type sentence string

func (s sentence) Error() string { return string(s) }

// errNotJSON is what the model is told of a result that has no JSON form.
var errNotJSON = sentence(notJSON + ".")

// errInterrupted is what the model is told of a call that was ended from outside.
var errInterrupted = sentence("The call was interrupted; its outcome is unknown.")

// toolHost is where tools' functions run.
type toolHost struct {
	log        *slog.Logger
	background func(func()) // starts a goroutine
}

func (rt *Runtime) toolHost(log *slog.Logger) toolHost { return toolHost{log, rt.background} }

// crash is an error of the author's code that nobody but operators may read.
type crash struct{ error }

// execute runs a tool's function until it returns, its time is over or ctx ends. An
// error's text is for the model and for visitors. Nothing of the call is shown after
// that: a function that ignores its context is left behind.
func (h toolHost) execute(ctx context.Context, tool Tool, call *ToolCall, input json.RawMessage) (json.RawMessage, error) {
	defer call.end()
	if err := tool.takes(input); err != nil {
		return nil, err
	}
	running := context.WithValue(ctx, toolCallKey{}, call)
	late := Errorf("The tool took longer than %s.", tool.timeout)
	if tool.timeout > 0 {
		timed, cancel := context.WithTimeoutCause(running, tool.timeout, late)
		defer cancel()
		running = timed
	}
	got := make(chan json.RawMessage, 1)
	err := cutOff(running, h.background, func() (err error) {
		if p := guard(func() {
			var output json.RawMessage
			output, err = tool.run(running, call, input)
			got <- output
		}); p != nil {
			return crash{p}
		}
		return err
	})
	var crashed crash
	switch {
	case err == nil:
		return toolOutput(<-got)
	case errors.As(err, &crashed), errors.Is(err, errGoexit):
		h.log.Error("panic in author's code", "tool", tool.Name, "call", call.ID, "error", err)
		return nil, sentence(toolPanicked)
	case ctx.Err() != nil:
		return nil, errInterrupted
	case errors.Is(context.Cause(running), late):
		return nil, late
	}
	h.log.Info("a tool failed", "tool", tool.Name, "call", call.ID, "error", err)
	return nil, sentence(toolErrorText(err))
}

// toolOutput is what a function has returned, if clients and the model can read it.
func toolOutput(output json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(output) {
		return nil, errNotJSON
	}
	return bytes.ToValidUTF8(output, []byte("\uFFFD")), nil
}

// toolErrorText is the error's own text; of a model's failure, only what is fit for a
// visitor.
func toolErrorText(err error) string {
	text := err.Error()
	var failed *model.Error
	var v *visible
	if errors.As(err, &failed) && !errors.As(err, &v) {
		text = failed.Public
	}
	if text = valid(text); text == "" {
		return toolPanicked
	}
	return shorten(text, maxToolError)
}

// takes says what is wrong with an input; nil: nothing.
func (t Tool) takes(input json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(input, &object); err != nil || object == nil {
		return sentence(fmt.Sprintf("The input is not a JSON object: %.200q.", input))
	}
	if t.check == nil {
		return nil
	}
	var wrong error
	if p := guard(func() { wrong = t.check(input) }); p != nil {
		return sentence(toolPanicked)
	}
	return wrong
}

// needsApproval asks whether a person has to approve of a call.
func (h toolHost) needsApproval(t Tool, input json.RawMessage) (needs bool, err error) {
	if t.approval == nil {
		return false, nil
	}
	if p := guard(func() { needs = t.approval(input) }); p != nil {
		h.log.Error("panic in author's code", "tool", t.Name, "error", p)
		return false, sentence(toolPanicked)
	}
	return needs, nil
}

// noTool is what a model is told that has invented a tool.
func noTool(name string) error {
	return sentence(fmt.Sprintf("There is no tool named %.100q.", name))
}
