package actors

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// loopStep is one step of the model loop: what the effect has taken from the state.
type loopStep struct {
	shell   *shell
	e       chat.CallModel
	setup   *loopSetup
	class   *Agent
	self    *Self
	log     *slog.Logger
	out     *Stream
	request string
	key     string

	before  []chat.Entry // the conversation in front of this answer
	own     []chat.Entry // this answer so far; one at most
	chain   int          // steps that the chain has had
	waiting bool         // calls of this answer wait for clients or people
	used    map[string]bool
}

// prepareModel runs one step of the model loop.
func (a *shell) prepareModel(e chat.CallModel) func(context.Context) chat.Command {
	s := &a.core.State
	t := s.Turns.Running()
	entries := a.entries(t)
	l := &loopStep{
		shell: a, e: e, setup: a.loopSetup(t, entries), class: a.class, self: a.inTurn(), log: a.log.With("request", t.Request),
		out: newStream(a, t.ID, t.Attempt, t.Request), request: t.Request, key: fmt.Sprintf("%s/%d/%d", a.addr, e.Turn, e.Step),
		used: make(map[string]bool),
	}
	l.before, l.own = split(s.Writing(t), entries)
	l.chain = l.finished()
	for _, p := range l.parts() {
		if p.IsTool() {
			l.used[p.ToolCallID] = true
		}
	}
	for _, c := range s.Calls { // another answer's may be open under an id that the provider uses again
		l.used[c.ID] = true
	}
	l.waiting = e.Step > 1 || t.Kind == journalv1.TurnKind_TURN_KIND_RECOVERY
	l.waiting = l.waiting && a.waits(l.parts())
	me := a.addr
	return func(ctx context.Context) chat.Command { return l.run(inside(ctx, me)) }
}

// waits reports whether one of the calls of parts is for a client or a person.
func (a *shell) waits(parts []uimessage.Part) bool {
	for _, p := range parts {
		if !p.IsTool() {
			continue
		}
		c := a.core.State.Call(p.ToolCallID)
		if c == nil {
			continue
		}
		client := c.Kind == journalv1.CallKind_CALL_KIND_CLIENT
		switch p.State {
		case uimessage.InputAvailable, uimessage.ApprovalRequested:
			if client || c.ApprovalID != "" {
				return true
			}
		case uimessage.ApprovalResponded:
			if client {
				return true
			}
		}
	}
	return false
}

// parts are those of the answer so far.
func (l *loopStep) parts() []uimessage.Part {
	if len(l.own) == 0 {
		return nil
	}
	m, err := uimessage.ParseMessage(l.own[0].JSON)
	if err != nil {
		return nil
	}
	return m.Parts
}

func (l *loopStep) run(ctx context.Context) chat.Command {
	l.out.ctx = ctx
	cfg, err := l.setup.config(ctx, l.log)
	if err != nil {
		return l.failed(ctx, "", err)
	}
	steps := l.results()
	if l.e.Step > 1 {
		if err := l.afterStep(ctx, steps); err != nil {
			return l.failed(ctx, "", err)
		}
	}
	if end := l.over(ctx, cfg, steps); end != nil {
		return l.stop(ctx, end)
	}
	if err := l.closeStep(); err != nil {
		return l.failed(ctx, "", err)
	}
	mod, req, err := l.ask(ctx, cfg, steps)
	if err != nil {
		return l.failed(ctx, "", err)
	}
	step := &modelStep{loop: l, cfg: cfg}
	err = l.shell.watched(ctx, l.out, func(ctx context.Context) error { return step.run(ctx, mod, req) })
	if err = asFailure(err); err != nil {
		return l.failed(ctx, mod.Name(), err)
	}
	return l.answered(ctx, step, cmp.Or(step.finish.Model, mod.Name()), steps)
}

// results are the steps of this answer so far, with what their calls have led to.
func (l *loopStep) results() []StepResult {
	if len(l.own) == 0 {
		return nil
	}
	steps := stepResults(l.own[0].Steps, l.setup.number, l.parts())
	known := l.setup.steps
	for i := 1; i <= min(len(known), len(steps)); i++ { // these are the newest
		k, s := &known[len(known)-i], &steps[len(steps)-i]
		s.Reason, s.Usage, s.Model = k.Reason, k.Usage, k.Model
	}
	return steps
}

func stepResults(records []chat.Record, loop uint32, parts []uimessage.Part) []StepResult {
	var steps []StepResult
	for _, r := range records {
		var c []model.Content
		if r.Loop == loop && json.Unmarshal(r.Content, &c) == nil {
			steps = append(steps, stepResult(c, parts))
		}
	}
	return steps
}

func stepResult(said []model.Content, parts []uimessage.Part) StepResult {
	var s StepResult
	for _, c := range said {
		switch c.Kind {
		case model.TextContent:
			s.Text += c.Text
		case model.ReasoningContent:
			s.Reasoning += c.Text
		case model.ToolCallContent:
			p, _ := partOf(parts, c.CallID)
			s.Calls = append(s.Calls, CallResult{ID: c.CallID, Tool: c.Tool, Input: c.Input, State: p.State, Output: p.Output, ErrorText: p.ErrorText})
		case model.FileContent, model.ToolResultContent: // no words of the model's
		}
	}
	return s
}

func (l *loopStep) afterStep(ctx context.Context, steps []StepResult) error {
	if l.class.AfterStep == nil || len(steps) == 0 {
		return nil
	}
	return l.class.AfterStep(ctx, l.self, steps[len(steps)-1])
}

// ending is why the model is not asked again.
type ending struct {
	cause  string
	failed string // text for visitors; "": it is a good end
}

func (l *loopStep) over(ctx context.Context, cfg *loopConfig, steps []StepResult) *ending {
	b := &l.class.Budget
	switch {
	case l.waiting:
		return &ending{cause: "open-calls"}
	case l.e.Step > 1 && cfg.StopWhen != nil && cfg.StopWhen(steps):
		return &ending{cause: "stop-when"}
	case l.chain >= cfg.MaxSteps:
		return &ending{cause: "step-limit"}
	case repeats(steps, b.RepeatedCalls):
		return &ending{cause: "repeated-call", failed: roundInCircles}
	}
	if err := b.over(ctx, l.self, b.spent(l.request, l.setup.steps, &l.setup.inside, l.setup.began)); err != nil {
		l.log.Warn("the budget is used up", "error", err)
		return &ending{cause: "budget", failed: valid(publicText(err))}
	}
	return nil
}

// stop ends the loop before the model is asked.
func (l *loopStep) stop(ctx context.Context, end *ending) chat.Command {
	l.log.Info("the loop ends without asking the model again", "cause", end.cause, "steps", l.chain)
	out := chat.LoopStopped{Turn: l.e.Turn, Step: l.e.Step, Attempt: l.e.Attempt, Failed: end.failed}
	out.Reason = string(model.ToolCalls)
	// If the turn is over meanwhile, the outcome is ignored as well.
	_ = l.closeStep()
	if end.failed == "" {
		l.finish(out.Reason)
	}
	cleaned, err := l.cleaned(ctx)
	if err != nil && out.Failed == "" {
		out.Failed = generalFailure
	}
	out.Cleaned = cleaned
	return out
}

// closeStep tells clients that the step before is over.
func (l *loopStep) closeStep() error {
	if !l.setup.opened {
		return nil
	}
	l.setup.opened = false
	return l.out.Chunk(uimessage.Chunk{Type: "finish-step"})
}

// finish tells clients that the answer is complete. A handler's loop is not all of
// its answer.
func (l *loopStep) finish(reason string) {
	if l.setup.number == 0 {
		_ = l.out.Chunk(uimessage.Chunk{Type: "finish", FinishReason: reason})
	}
}

// cleaned is the whole answer as the author's hook leaves it.
func (l *loopStep) cleaned(ctx context.Context) (*uimessage.Message, error) {
	if l.setup.number > 0 {
		return nil, nil
	}
	return l.out.cleaned(ctx)
}

// ask makes the request of the step.
func (l *loopStep) ask(ctx context.Context, cfg *loopConfig, steps []StepResult) (model.Model, model.Request, error) {
	before := cfg.Messages
	if before == nil {
		before = prompt(l.before)
	}
	messages := append(before[:len(before):len(before)], prompt(l.own)...)
	own := StepConfig{Model: cfg.Model, Instructions: cfg.Instructions, ActiveTools: cfg.ActiveTools, ToolChoice: cfg.ToolChoice}
	if l.class.PruneMessages != nil {
		messages = l.class.PruneMessages(messages)
	}
	if l.class.PrepareStep != nil {
		c, err := l.class.PrepareStep(ctx, &StepContext{
			RequestID: l.request, Step: int(l.e.Step), Messages: messages, Steps: steps, Self: l.self,
		})
		if err != nil {
			return nil, model.Request{}, err
		}
		put(&own.Model, c.Model)
		put(&own.Instructions, c.Instructions)
		put(&own.ToolChoice, c.ToolChoice)
		if c.ActiveTools != nil {
			own.ActiveTools = c.ActiveTools
		}
		if c.Messages != nil {
			messages = c.Messages
		}
	}
	if own.Model == nil {
		return nil, model.Request{}, errors.New("actors: the loop has no model")
	}
	return own.Model, model.Request{
		Instructions: own.Instructions, Messages: goOn(messages, own.Model), Tools: cfg.tools.offered(own.ActiveTools), ToolChoice: own.ToolChoice,
		MaxOutputTokens: cfg.MaxOutputTokens, Temperature: cfg.Temperature, Key: l.key,
	}, nil
}

// answered hands in the step. If nothing is left for the server to run it closes the
// answer for clients first.
func (l *loopStep) answered(ctx context.Context, m *modelStep, name string, steps []StepResult) chat.Command {
	content, err := encode(m.said())
	if err != nil {
		return l.failed(ctx, name, err)
	}
	u := m.finish.Usage
	out := chat.StepAnswered{
		Turn: l.e.Turn, Step: l.e.Step, Attempt: l.e.Attempt, Content: content, Reason: valid(string(m.finish.Reason)), Model: valid(name),
		Last:  m.runnable == 0 && (m.waiting > 0 || m.calls == 0),
		Usage: &journalv1.Usage{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite},
	}
	result := stepResult(m.content, nil)
	result.Reason, result.Usage, result.Model = m.finish.Reason, u, name
	l.setup.steps = append(l.setup.steps, result)
	if !out.Last {
		return out
	}
	if err := l.afterStep(ctx, append(steps, result)); err != nil {
		return l.failed(ctx, "", err)
	}
	// If the turn is over meanwhile, the outcome is ignored as well.
	_ = l.closeStep()
	l.finish(string(m.finish.Reason))
	if out.Cleaned, err = l.cleaned(ctx); err != nil {
		failed := l.erred(err)
		failed.Cleaned = out.Cleaned
		return failed
	}
	return out
}

// failed makes an outcome of an error; name is the model's, if it is its.
func (l *loopStep) failed(ctx context.Context, name string, err error) chat.Command {
	failed := l.erred(err)
	if ctx.Err() == nil && !errors.Is(err, ErrTurnOver) {
		l.log.Warn("a step failed", "model", name, "step", l.e.Step, "attempt", l.e.Attempt, "error", err)
		if hook := l.class.OnModelError; hook != nil && name != "" {
			text := hook(ctx, ModelError{RequestID: l.request, Step: int(l.e.Step), Err: err, Cause: model.CauseOf(err), Self: l.self})
			put(&failed.Public, valid(text))
		}
	}
	if !failed.Transient && !failed.Compacts {
		failed.Cleaned, _ = l.cleaned(ctx) // it has failed already
	}
	return failed
}

func (l *loopStep) erred(err error) chat.StepErred {
	cause := model.CauseOf(err)
	out := chat.StepErred{
		Turn: l.e.Turn, Step: l.e.Step, Attempt: l.e.Attempt, Cause: string(cause), Public: generalFailure,
		Text: valid(err.Error()), Transient: cause == model.Transient, Compacts: cause == model.TooLong && l.class.compacts(), Now: nowMS(), Ids: newIDs(),
	}
	var v *visible
	if errors.As(err, &v) {
		out.Public = valid(v.Error())
	}
	var me *model.Error
	if errors.As(err, &me) {
		out.RetryAfter = me.RetryAfter.Milliseconds()
		if me.Public != "" {
			out.Public = valid(me.Public)
		}
	}
	return out
}

// encode is json.Marshal without the escapes of HTML, which would make six bytes of one.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// finished counts the steps that the answer has had in this loop.
func (l *loopStep) finished() int {
	n := 0
	for _, e := range l.own {
		for _, r := range e.Steps {
			if r.Loop == l.setup.number {
				n++
			}
		}
	}
	return n
}
