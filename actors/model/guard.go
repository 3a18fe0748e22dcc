package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// A Guardrail checks what a model is asked and what it says. Its functions may be
// called by many turns at once.
type Guardrail struct {
	// Input returns an error for a request that must not reach the model. nil: all may.
	Input func(ctx context.Context, r Request) error
	// Output gets the text of a block (prose or reasoning) that nobody has seen yet, and
	// returns what shall be seen instead, or an error that ends the answer. What it
	// has returned it gets again, with more behind it, so it must leave that alone. The
	// input of tools is not its business: tools check their own. Reasoning that it has
	// changed loses its signature, which would no longer fit. nil: all is seen.
	Output func(ctx context.Context, text string) (string, error)
	// Window is how much text is held back, in bytes, so that nothing that Output
	// looks for is seen in part: at least its longest finding. 0: whole blocks are
	// held back. What is held back when the answer fails is not seen.
	Window int
}

// Middleware returns the guardrail as a middleware. An error of its functions that
// is no *Error ends the turn as one of class Filtered, with the error's text in
// the log only.
func (g Guardrail) Middleware() Middleware {
	return Around(func(ctx context.Context, r Request, next Model) iter.Seq2[Part, error] {
		return func(yield func(Part, error) bool) {
			if g.Input != nil {
				if err := g.Input(ctx, r); err != nil {
					yield(nil, withheld(err, "The request was not accepted."))
					return
				}
			}
			if g.Output == nil {
				next.Stream(ctx, r)(yield)
				return
			}
			w := watcher{Guardrail: g, ctx: ctx, held: map[string]*strings.Builder{}, other: map[string]bool{}, yield: yield}
			for p, err := range next.Stream(ctx, r) {
				if err != nil {
					yield(nil, err)
					return
				}
				if err := w.part(p); err != nil {
					if !errors.Is(err, errBrokenOff) {
						yield(nil, withheld(err, "The answer was withheld."))
					}
					return
				}
			}
		}
	})
}

// errBrokenOff: the caller has left its range loop.
var errBrokenOff = errors.New("model: caller broke off")

func withheld(err error, public string) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{Cause: Refused, Class: Filtered, Public: public, Err: fmt.Errorf("guardrail: %w", err)}
}

// A watcher guards one answer.
type watcher struct {
	Guardrail
	ctx   context.Context             //nolint:containedctx // of the one answer
	held  map[string]*strings.Builder // text of open blocks that nobody has seen
	other map[string]bool             // blocks that Output has changed
	yield func(Part, error) bool
}

func (w *watcher) part(p Part) error {
	switch d := p.(type) {
	case TextDelta:
		return w.delta(d.ID, d.Text, func(s string) Part { return TextDelta{ID: d.ID, Text: s} })
	case ReasoningDelta:
		return w.delta(d.ID, d.Text, func(s string) Part { return ReasoningDelta{ID: d.ID, Text: s, Metadata: d.Metadata} })
	case TextEnd:
		if err := w.release(d.ID, 0, func(s string) Part { return TextDelta{ID: d.ID, Text: s} }); err != nil {
			return err
		}
		delete(w.held, d.ID)
	case ReasoningEnd:
		if err := w.release(d.ID, 0, func(s string) Part { return ReasoningDelta{ID: d.ID, Text: s} }); err != nil {
			return err
		}
		delete(w.held, d.ID)
		if w.other[d.ID] {
			d.Metadata = nil
		}
		p = d
	case TextStart, ReasoningStart, ToolInputStart, ToolInputDelta, ToolCall, Source, File, FinishPart:
	}
	return w.emit(p)
}

func (w *watcher) delta(id, text string, part func(string) Part) error {
	if w.held[id] == nil {
		w.held[id] = &strings.Builder{}
	}
	w.held[id].WriteString(text)
	if w.Window <= 0 {
		return nil
	}
	return w.release(id, w.Window, part)
}

// release lets be seen what is held of a block, but the last keep bytes.
func (w *watcher) release(id string, keep int, part func(string) Part) error {
	b := w.held[id]
	if b == nil {
		return nil
	}
	text, err := w.Output(w.ctx, b.String())
	if err != nil {
		return err
	}
	w.other[id] = w.other[id] || text != b.String()
	cut := max(len(text)-keep, 0)
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	b.Reset()
	b.WriteString(text[cut:])
	if cut == 0 {
		return nil
	}
	return w.emit(part(text[:cut]))
}

func (w *watcher) emit(p Part) error {
	if !w.yield(p, nil) {
		return errBrokenOff
	}
	return nil
}
