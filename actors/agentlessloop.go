package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Loop is a model with tools but without an agent: no conversation, no journal, no
// name. It is for use inside a tool, which returns as much of its result as its own
// model should know. The zero values of its fields are an Agent's. It may be used by
// many at once.
type Loop struct {
	Name            string      // in progress and logs; may be empty
	Model           model.Model // required
	Instructions    string
	Tools           []Tool
	ToolChoice      string // as in model.Request
	MaxOutputTokens int64
	Temperature     *float64
	// MaxSteps bounds the steps of one Generate. Default 10. One that reaches it ends
	// as it is, with Reason tool-calls.
	MaxSteps int
	// StopWhen ends it after a step that has called tools.
	StopWhen func(steps []StepResult) bool
	// Budget bounds one Generate, as an Agent's does a turn.
	Budget Budget
	// Progress makes the preliminary result of the tool call in which the loop runs,
	// whenever it has come further; nil: LoopsProgress. What it returns as nil is not
	// shown.
	Progress func(p LoopProgress) any
}

// LoopProgress is how far a Loop is.
type LoopProgress struct {
	Name    string   `json:"name,omitempty"`
	Step    int      `json:"step"`              // from 1
	Text    string   `json:"text,omitempty"`    // of the newest answer of the model
	Running []string `json:"running,omitempty"` // the tools whose calls are under way
	Done    bool     `json:"done,omitempty"`
}

// LoopsProgress is the preliminary result of a call with loops inside.
type LoopsProgress struct {
	Loops []LoopProgress `json:"loops"` // in the order in which they have begun
}

// Generate asks the model, runs the tools that it calls, those of one step in parallel,
// and returns when it calls none, or with an error and what there is until then. The
// text of an error is fit for visitors, except for context.Cause(ctx): that is one when
// ctx ends. A passing failure of the model is tried again, three times at most.
//
// Inside a tool's function, ctx must be that of the function: what the loop uses counts
// for the turn's budget, too, which is looked at before each step; its progress is
// shown as the call's preliminary result; and its tools are told the agent, and an
// IdempotencyKey that is the same for the same input in the next attempt at the call.
// Nobody can answer for it: calls of client tools, and those that need approval, fail,
// and its model is told. A crash loses it: see Repeatable.
func (l Loop) Generate(ctx context.Context, prompt string) (Generated, error) {
	if p := l.problem(); p != "" {
		return Generated{}, errors.New("actors: Loop." + p)
	}
	r := newLoopRun(ctx, &l, prompt)
	defer r.done()
	for {
		if err := r.allowed(ctx); err != nil {
			return r.result(), err
		}
		step, calls, err := r.ask(ctx)
		if err != nil {
			return r.result(), err
		}
		step.Calls = r.answer(ctx, calls)
		r.steps = append(r.steps, step)
		switch {
		case ctx.Err() != nil:
			return r.result(), context.Cause(ctx)
		case len(calls) == 0, l.StopWhen != nil && l.StopWhen(r.steps), len(r.steps) >= orDefault(l.MaxSteps, defaultMaxSteps):
			return r.result(), nil
		}
	}
}

func (l *Loop) problem() string {
	switch {
	case l.Model == nil:
		return "Model is not set"
	case problemOf(l.Tools) != "":
		return "Tools " + problemOf(l.Tools)
	case l.MaxSteps < 0:
		return fmt.Sprintf("MaxSteps is negative: %d", l.MaxSteps)
	case l.MaxOutputTokens < 0:
		return fmt.Sprintf("MaxOutputTokens is negative: %d", l.MaxOutputTokens)
	case l.Budget.problem() != "":
		return "Budget " + l.Budget.problem()
	}
	return ""
}

// loopRun is one Generate.
type loopRun struct {
	loop     *Loop
	tools    toolSet
	parent   *ToolCall // nil: outside of a tool
	host     toolHost
	key      string
	began    time.Time
	used     map[string]bool // ids of calls
	messages []model.Message
	steps    []StepResult
	inside   meter
	progress *progress
}

func newLoopRun(ctx context.Context, l *Loop, prompt string) *loopRun {
	r := &loopRun{
		loop: l, parent: ToolCallFrom(ctx), host: toolHost{slog.Default(), func(f func()) { go f() }}, key: newIDs().Request, began: time.Now(),
		used:     make(map[string]bool),
		messages: []model.Message{{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: prompt}}}},
	}
	r.progress = &progress{call: r.parent, make: l.Progress, state: LoopProgress{Name: l.Name}}
	if r.parent != nil {
		r.inside.above = r.parent.meter
		if self := r.parent.Self; self != nil {
			r.host = self.rt.toolHost(self.rt.cfg.Log.With("agent", self.addr.String(), "request", r.parent.RequestID, "loop", l.Name, "in", r.parent.ID))
		}
	}
	r.progress.log = r.host.log
	r.tools.add(r.host.log, l.Tools...)
	r.progress.begin()
	return r
}

func (r *loopRun) done() { r.progress.change(func(p *LoopProgress) { p.Done, p.Running = true, nil }) }

// result is what there is.
func (r *loopRun) result() Generated {
	g := Generated{Steps: r.steps}
	if n := len(r.steps); n > 0 {
		g.Text, g.Reason = r.steps[n-1].Text, r.steps[n-1].Reason
	}
	return g
}

// allowed returns an error if the model may not be asked again.
func (r *loopRun) allowed(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	b := &r.loop.Budget
	if repeats(r.steps, b.RepeatedCalls) {
		return Errorf("%s", roundInCircles)
	}
	return r.afford(ctx, r.steps)
}

// afford looks at the loop's own budget and at those above it.
func (r *loopRun) afford(ctx context.Context, steps []StepResult) error {
	var self *Self
	request := ""
	if r.parent != nil {
		self, request = r.parent.Self, r.parent.RequestID
	}
	b := &r.loop.Budget
	if err := b.over(ctx, self, b.spent(request, steps, &r.inside, r.began)); err != nil {
		return &visible{worded{publicText(err), err}}
	}
	if r.parent == nil || r.parent.afford == nil {
		return nil
	}
	return r.parent.afford(ctx)
}

// Passing failures of the model.
const (
	loopTries    = 4
	maxLoopDelay = time.Minute
)

// ask has the model say one answer.
func (r *loopRun) ask(ctx context.Context) (StepResult, []model.Content, error) {
	r.progress.change(func(p *LoopProgress) { p.Step, p.Running = len(r.steps)+1, nil })
	l := r.loop
	req := model.Request{
		Instructions: l.Instructions, Messages: r.messages, Tools: r.tools.offered(nil), ToolChoice: l.ToolChoice,
		MaxOutputTokens: l.MaxOutputTokens, Temperature: l.Temperature, Key: fmt.Sprintf("%s/%d", r.key, len(r.steps)+1),
	}
	for try := 1; ; try++ {
		a := loopAnswer{callIDs: newCallIDs(r.used)}
		err := a.read(ctx, l.Model, req)
		if err == nil {
			step, calls := r.take(&a)
			return step, calls, nil
		}
		if ctx.Err() != nil {
			return StepResult{}, nil, context.Cause(ctx)
		}
		r.host.log.Warn("the model of a loop failed", "model", l.Model.Name(), "step", len(r.steps)+1, "try", try, "error", err)
		if model.CauseOf(err) != model.Transient || try == loopTries {
			return StepResult{}, nil, &visible{worded{publicFailure(err), err}}
		}
		if err := pause(ctx, err, try); err != nil {
			return StepResult{}, nil, err
		}
	}
}

// publicFailure is what a visitor may read of a model's failure.
func publicFailure(err error) string {
	var failed *model.Error
	if errors.As(err, &failed) && failed.Public != "" {
		return failed.Public
	}
	return publicText(err)
}

// worded is an error with another text than its cause.
type worded struct {
	text  string
	cause error
}

func (w worded) Error() string { return w.text }
func (w worded) Unwrap() error { return w.cause }

// pause waits as long as the provider wants, or longer from try to try.
func pause(ctx context.Context, err error, try int) error {
	wait := time.Second << (try - 1)
	var failed *model.Error
	if errors.As(err, &failed) && failed.RetryAfter > 0 {
		wait = min(failed.RetryAfter, maxLoopDelay)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take keeps an answer, and returns its calls with their inputs as the model gave them.
func (r *loopRun) take(a *loopAnswer) (StepResult, []model.Content) {
	said := a.said()
	step := stepResult(said, nil)
	step.Reason, step.Usage, step.Model = a.finish.Reason, a.finish.Usage, r.loop.Model.Name()
	step.Calls = nil // see answer
	if r.parent != nil {
		r.parent.meter.add(step.Model, step.Usage)
	}
	r.progress.change(func(p *LoopProgress) { p.Text = step.Text })
	var calls []model.Content
	for i, c := range said {
		if c.Kind == model.ToolCallContent {
			calls = append(calls, c)
			said[i].Input = uimessage.NormalizeInput(c.Input) // providers refuse what is no object
		}
	}
	if len(said) > 0 {
		r.messages = append(r.messages, model.Message{Role: model.Assistant, Content: said})
	}
	return step, calls
}
