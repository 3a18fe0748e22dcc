package actors

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Generation is a model loop that a handler runs: see Turn.Generate.
type Generation struct {
	Model        model.Model // required
	Instructions string
	// Messages are what the model is shown; nil: the conversation. What this answer
	// has said already follows them.
	Messages        []model.Message
	Tools           []Tool // beside the agent's and the client's
	ActiveTools     []string
	ToolChoice      string
	MaxSteps        int // default 10
	StopWhen        func(steps []StepResult) bool
	MaxOutputTokens int64
	Temperature     *float64
}

// Generated is what a loop has said.
type Generated struct {
	Text   string // of its last step
	Reason model.FinishReason
	Steps  []StepResult
}

// loopEnd tells a handler of its loop's end.
type loopEnd struct {
	result Generated
	err    error
}

// errOneLoop refuses a second loop beside the first.
var errOneLoop = errors.New("actors: Generate runs already in this turn")

// Generate runs the model loop inside a handler: its answer goes to the turn's
// stream and its steps into the journal. A handler that is run again after a crash
// gets what its n-th Generate had said without asking the model again, if that was
// complete; else the loop goes on behind its finished steps.
//
// The error of a model that has failed for good is fit for visitors: a handler may
// return it. One loop runs at a time.
func (t *Turn) Generate(ctx context.Context, g Generation) (Generated, error) {
	if g.Model == nil {
		return Generated{}, errors.New("actors: Generation.Model is not set")
	}
	if p := problemOf(g.Tools); p != "" {
		return Generated{}, errors.New("actors: Generation.Tools " + p)
	}
	if !t.looping.CompareAndSwap(false, true) {
		return Generated{}, errOneLoop
	}
	defer t.looping.Store(false)
	t.Stream.patient() // the loop has a watch of its own
	defer t.Stream.alive()
	t.loops++
	number := t.loops
	end := make(chan loopEnd, 1)
	t.Stream.shell.tell(forget(func(a *shell) { a.startLoop(t, number, g, end) }))
	select {
	case e := <-end:
		if e.err == nil {
			t.Stream.generated(string(e.result.Reason))
		}
		return e.result, e.err
	case <-ctx.Done():
		return Generated{}, context.Cause(ctx)
	case <-t.Stream.ctx.Done():
		return Generated{}, context.Cause(t.Stream.ctx)
	}
}

// startLoop begins a handler's loop, or answers with what it has said before.
func (a *shell) startLoop(t *Turn, number uint32, g Generation, end chan<- loopEnd) {
	running := a.core.State.Turns.Running()
	if running == nil || running.ID != t.Stream.turn || running.Attempt != t.Stream.attempt {
		end <- loopEnd{err: ErrTurnOver}
		return
	}
	if result, last := a.generated(running, number); last {
		end <- loopEnd{result: result}
		return
	}
	setup := a.newSetup(running, TurnConfig(g))
	setup.number = number
	a.loop, a.looped = setup, end
	if err := a.decide(chat.StartLoop{Turn: running.ID, Attempt: running.Attempt, Loop: number}, "", a.core.Step); err != nil {
		a.looped = nil
		end <- loopEnd{err: ErrTurnOver}
	}
}

// loopEnded wakes the handler when the end of its loop is durable.
func (a *shell) loopEnded(e *journalv1.LoopEnded) {
	end, t := a.looped, a.core.State.Turns.Running()
	if end == nil || t == nil {
		return
	}
	a.looped = nil
	out := loopEnd{}
	out.result, _ = a.generated(t, e.GetLoop())
	out.result.Reason = model.FinishReason(e.GetReason())
	if text := e.GetErrorText(); text != "" {
		out.err = Errorf("%s", text)
	}
	a.out.put(output{need: a.version(), send: func(err error) {
		if err != nil {
			out = loopEnd{err: ErrTurnOver}
		}
		end <- out
	}})
}

// generated is what a handler's loop has said, and whether it was complete.
func (a *shell) generated(t *chat.Turn, number uint32) (g Generated, last bool) {
	_, own := split(a.core.State.Writing(t), a.entries(t))
	if len(own) == 0 {
		return g, false
	}
	m, err := uimessage.ParseMessage(own[0].JSON)
	if err != nil {
		return g, false
	}
	records := t.Own(own[0].Steps)
	for _, r := range records {
		last = last || r.Loop == number && r.Last
	}
	g.Steps = stepResults(records, number, m.Parts)
	if n := len(g.Steps); n > 0 {
		g.Text = g.Steps[n-1].Text
		g.Reason = model.Stop
		for _, c := range g.Steps[n-1].Calls {
			if c.State != "" {
				g.Reason = model.ToolCalls
			}
		}
	}
	return g, last
}

// generated notes that a loop has written the answer, or a part of it: its end is told
// when the handler returns.
func (s *Stream) generated(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looped = reason
	if s.live == nil {
		_ = s.open() // the loop has written to it
	}
}
