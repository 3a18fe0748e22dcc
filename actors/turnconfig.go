package actors

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
)

// TurnContext is a turn as BeforeTurn gets it, before its first model call.
type TurnContext struct {
	RequestID    string
	Continuation bool            // the turn goes on with the newest answer
	Body         json.RawMessage // the request's custom fields, one JSON object; nil: none
	Messages     []model.Message // what the model would be shown
	Tools        []Tool          // what it would be offered
	Self         *Self
}

// TurnConfig is what BeforeTurn changes for one turn. A zero field leaves what the
// agent says.
type TurnConfig struct {
	Model        model.Model
	Instructions string
	// Messages replace all that was said before this turn's own answer.
	Messages        []model.Message
	Tools           []Tool   // added; one of the same name is replaced
	ActiveTools     []string // only these are offered; nil: all
	ToolChoice      string   // as in model.Request
	MaxSteps        int
	StopWhen        func(steps []StepResult) bool
	MaxOutputTokens int64
	Temperature     *float64
}

// StepContext is a step as PrepareStep gets it, before its model call.
type StepContext struct {
	RequestID string
	Step      int // of this turn, from 1
	Messages  []model.Message
	Steps     []StepResult // of the answer so far
	Self      *Self
}

// StepConfig is what PrepareStep changes for one step. A zero field leaves what the
// turn says.
type StepConfig struct {
	Model        model.Model
	Instructions string
	Messages     []model.Message // all that the model is shown
	ActiveTools  []string
	ToolChoice   string
}

// StepResult is a finished step.
type StepResult struct {
	Text, Reasoning string
	Calls           []CallResult // in the order in which the model has made them
	// Reason, Usage and Model are not known of steps that another process has run.
	Reason model.FinishReason
	Usage  model.Usage
	Model  string
}

// CallResult is a call with its outcome.
type CallResult struct {
	ID, Tool  string
	Input     json.RawMessage
	State     string          // of its part: see package uimessage
	Output    json.RawMessage // if it has one
	ErrorText string          // if it has failed
}

// ChunkInfo is one part of a model's answer, as OnChunk gets it.
type ChunkInfo struct {
	RequestID string
	Step      int
	Part      model.Part
	Raw       []json.RawMessage // the provider's events since the part before; nil if the model shows none
	Self      *Self
}

// ModelError is a failure of a model, as OnModelError gets it.
type ModelError struct {
	RequestID string
	Step      int
	Err       error
	Cause     model.Cause
	Self      *Self
}

// BadInput is the input of a call that its tool does not take, as RepairToolInput
// gets it.
type BadInput struct {
	Tool  Tool
	Input json.RawMessage // as the model gave it: it need not be JSON
	Err   error           // what is wrong with it
	Self  *Self
}

// loopConfig is what the steps of a loop have in common.
type loopConfig struct {
	TurnConfig
	tools toolSet
}

// loopSetup holds a loop's configuration, which is made once in each process that is
// at the loop, and what the steps tell one another.
type loopSetup struct {
	turn    uint64
	attempt uint32
	number  uint32 // of a handler's loop; 0: the turn's own
	class   *Agent
	context TurnContext
	first   TurnConfig // before BeforeTurn
	sources []Tool     // in order; later ones replace
	began   time.Time

	mu   sync.Mutex
	made *loopConfig // nil: not yet

	inside meter // of loops inside the turn's tools

	// Only one effect CallModel runs at a time: these are its own.
	opened bool // a start-step has no finish-step yet
	steps  []StepResult
}

// setup returns the configuration of the running turn's loop. entries are its prompt.
func (a *shell) loopSetup(t *chat.Turn, entries []chat.Entry) *loopSetup {
	if l := a.loop; l != nil && l.turn == t.ID && l.attempt == t.Attempt {
		return l
	}
	a.loop = a.newSetup(t, TurnConfig{
		Model: a.class.Model, Instructions: a.class.Instructions, MaxSteps: a.class.MaxSteps, StopWhen: a.class.StopWhen,
		MaxOutputTokens: a.class.MaxOutputTokens, Temperature: a.class.Temperature,
	})
	before, _ := split(a.core.State.Writing(t), entries)
	a.loop.context.Messages = prompt(before)
	return a.loop
}

func (a *shell) newSetup(t *chat.Turn, first TurnConfig) *loopSetup {
	return &loopSetup{
		turn: t.ID, attempt: t.Attempt, class: a.class, first: first, began: time.Now(), sources: a.toolSources(t),
		context: TurnContext{RequestID: t.Request, Continuation: t.Continuation(), Body: t.Body, Self: a.inTurn()},
	}
}

// inTurn is the agent as code that runs in one of its turns gets it.
func (a *shell) inTurn() *Self { return &Self{&Ref{rt: a.rt, addr: a.addr, inTurn: true}} }

// config asks BeforeTurn at the first call that does not fail.
func (l *loopSetup) config(ctx context.Context, log *slog.Logger) (*loopConfig, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != nil {
		return l.made, nil
	}
	c := &loopConfig{TurnConfig: l.first}
	c.tools.add(log, l.sources...)
	if l.class.BeforeTurn != nil && l.number == 0 {
		turn := l.context
		turn.Tools = c.tools.all()
		own, err := l.class.BeforeTurn(ctx, &turn)
		if err != nil {
			return nil, err
		}
		c.change(own)
	}
	for _, t := range c.Tools {
		if p := t.problem(); p != "" {
			return nil, Errorf("tool %q: %s", t.Name, p)
		}
	}
	c.tools.add(log, c.Tools...)
	c.MaxSteps = orDefault(c.MaxSteps, defaultMaxSteps)
	l.made = c
	return c, nil
}

const defaultMaxSteps = 10

// change takes over what own says.
func (c *loopConfig) change(own TurnConfig) {
	put(&c.Instructions, own.Instructions)
	put(&c.ToolChoice, own.ToolChoice)
	put(&c.MaxSteps, own.MaxSteps)
	put(&c.MaxOutputTokens, own.MaxOutputTokens)
	put(&c.Temperature, own.Temperature)
	put(&c.Model, own.Model)
	if own.StopWhen != nil {
		c.StopWhen = own.StopWhen
	}
	if own.ActiveTools != nil {
		c.ActiveTools = own.ActiveTools
	}
	if own.Messages != nil {
		c.Messages = own.Messages
	}
	c.Tools = append(c.Tools, own.Tools...)
}

// put sets to, unless from says nothing.
func put[T comparable](to *T, from T) {
	var none T
	if from != none {
		*to = from
	}
}
