package actors

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// Budget bounds what answers cost. It is checked before each call of a model; a
// turn over it ends with an error that says so. What is said until then is kept.
type Budget struct {
	// Turn bounds one turn. (MaxSteps is what bounds its steps.)
	Turn Limits
	// Price is what the tokens of a step cost, in a unit of the author's; needed by
	// Limits.Money.
	Price func(modelName string, u model.Usage) float64
	// Allow is asked before each call of a model, with what the turn has used: for
	// budgets of agents, users and customers, whose ledger is the author's. An error
	// ends the turn, with its text if made by Errorf.
	Allow func(ctx context.Context, self *Self, used Spending) error
	// RepeatedCalls ends a turn whose model has made the same call, with the same
	// input, in so many steps in a row. 0: never.
	RepeatedCalls int
}

// Limits are bounds; 0: none.
type Limits struct {
	Tokens int64 // input and output
	Money  float64
	Time   time.Duration // since this process has begun with the turn
}

// Spending is what a turn has used in this process, loops inside its tools included,
// except in Steps.
type Spending struct {
	RequestID string
	Steps     int
	Usage     model.Usage
	Money     float64
	Time      time.Duration
}

// problem says what is wrong with b; "": nothing.
func (b *Budget) problem() string {
	switch {
	case b.Turn.Tokens < 0 || b.Turn.Money < 0 || b.Turn.Time < 0:
		return fmt.Sprintf("has a negative limit: %+v", b.Turn)
	case b.RepeatedCalls < 0:
		return fmt.Sprintf("has negative RepeatedCalls: %d", b.RepeatedCalls)
	case b.RepeatedCalls == 1:
		return "has RepeatedCalls 1: no call is a repetition by itself"
	case b.Turn.Money > 0 && b.Price == nil:
		return "has Turn.Money, which needs Price"
	}
	return ""
}

// spent adds up steps, and those of the loops inside their tools.
func (b *Budget) spent(request string, steps []StepResult, inside *meter, began time.Time) Spending {
	s := Spending{RequestID: request, Steps: len(steps), Time: time.Since(began)}
	for _, step := range slices.Concat(steps, inside.read()) {
		s.Usage.Input += step.Usage.Input
		s.Usage.Output += step.Usage.Output
		s.Usage.Reasoning += step.Usage.Reasoning
		s.Usage.CacheRead += step.Usage.CacheRead
		s.Usage.CacheWrite += step.Usage.CacheWrite
		if b.Price != nil {
			s.Money += b.Price(step.Model, step.Usage)
		}
	}
	return s
}

// over says why s ends the turn; nil: it does not.
func (b *Budget) over(ctx context.Context, self *Self, s Spending) error {
	l := b.Turn
	switch {
	case l.Tokens > 0 && s.Usage.Input+s.Usage.Output >= l.Tokens:
		return Errorf("The answer has used up its budget of %d tokens.", l.Tokens)
	case l.Money > 0 && s.Money >= l.Money:
		return Errorf("The answer has used up its budget of %g.", l.Money)
	case l.Time > 0 && s.Time >= l.Time:
		return Errorf("The answer has used up its time of %s.", l.Time)
	case b.Allow != nil:
		return b.Allow(ctx, self, s)
	}
	return nil
}

// roundInCircles ends a loop that repeats its calls.
const roundInCircles = "The assistant went round in circles and was stopped."

// repeats reports whether each of the last n steps has made the same calls.
func repeats(steps []StepResult, n int) bool {
	if n == 0 || len(steps) < n {
		return false
	}
	steps = steps[len(steps)-n:]
	for _, s := range steps {
		if len(s.Calls) == 0 || len(s.Calls) != len(steps[0].Calls) {
			return false
		}
		for i, c := range s.Calls {
			if first := steps[0].Calls[i]; c.Tool != first.Tool || !bytes.Equal(c.Input, first.Input) {
				return false
			}
		}
	}
	return true
}

// meter counts the steps of loops that run inside tools.
type meter struct {
	above *meter // counts them, too; nil: nobody does

	mu    sync.Mutex
	steps []StepResult // name and usage of their models alone
}

func (m *meter) add(name string, u model.Usage) {
	for ; m != nil; m = m.above {
		m.mu.Lock()
		m.steps = append(m.steps, StepResult{Model: name, Usage: u})
		m.mu.Unlock()
	}
}

func (m *meter) read() []StepResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.steps)
}
