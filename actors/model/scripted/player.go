package scripted

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// errBrokenOff: the caller has left its range loop.
var errBrokenOff = errors.New("scripted: caller broke off")

// A player plays one answer. It belongs to the goroutine that iterates.
type player struct {
	ctx     context.Context
	yield   func(model.Part, error) bool
	blocks  int   // text and reasoning blocks so far: their ids
	calls   int   // tool calls so far
	tokens  int64 // pieces so far
	thought int64 // those of them that were reasoning
}

func (p *player) play(a Answer) error {
	for _, s := range a {
		if f, ok := s.(Finish); ok {
			return p.finish(f)
		}
		if err := p.step(s); err != nil {
			return err
		}
	}
	return p.finish(Finish{})
}

func (p *player) step(s Step) error {
	switch s := s.(type) {
	case Text:
		return p.text(s)
	case Reasoning:
		return p.reasoning(Text(s))
	case Call:
		return p.call(s)
	case Source:
		return p.emit(model.Source(s))
	case File:
		return p.emit(model.File(s))
	case Wait:
		return p.wait(time.Duration(s))
	case Hold:
		return p.hold(s)
	case Fail:
		return s.Err
	case Finish: // play's
	}
	panic(fmt.Sprintf("scripted: a step of type %T", s))
}

func (p *player) text(s Text) error {
	id := p.block(s.ID)
	if err := p.emit(model.TextStart{ID: id}); err != nil {
		return err
	}
	err := p.pieces(s, func(t string) model.Part { return model.TextDelta{ID: id, Text: t} })
	if err != nil || s.Open {
		return err
	}
	return p.emit(model.TextEnd{ID: id, Metadata: s.Metadata})
}

func (p *player) reasoning(s Text) error {
	id := p.block(s.ID)
	if err := p.emit(model.ReasoningStart{ID: id}); err != nil {
		return err
	}
	before := p.tokens
	err := p.pieces(s, func(t string) model.Part { return model.ReasoningDelta{ID: id, Text: t} })
	p.thought += p.tokens - before
	if err != nil || s.Open {
		return err
	}
	return p.emit(model.ReasoningEnd{ID: id, Metadata: s.Metadata})
}

func (p *player) call(s Call) error {
	p.calls++
	if err := p.emit(model.ToolInputStart{CallID: s.ID, Tool: s.Tool}); err != nil {
		return err
	}
	input := Text{Pieces: s.pieces(), Every: s.Every}
	err := p.pieces(input, func(t string) model.Part { return model.ToolInputDelta{CallID: s.ID, Text: t} })
	if err != nil {
		return err
	}
	return p.emit(model.ToolCall{CallID: s.ID, Tool: s.Tool, Input: s.input(), Metadata: s.Metadata})
}

func (p *player) finish(f Finish) error {
	if f.Reason == "" {
		f.Reason = model.Stop
		if p.calls > 0 {
			f.Reason = model.ToolCalls
		}
	}
	if f.Usage == (model.Usage{}) {
		f.Usage = model.Usage{Output: p.tokens, Reasoning: p.thought}
	}
	return p.emit(model.FinishPart{Reason: f.Reason, Usage: f.Usage, Metadata: f.Metadata})
}

func (p *player) pieces(s Text, part func(string) model.Part) error {
	for _, t := range s.Pieces {
		if t == "" {
			continue
		}
		if err := p.wait(s.Every); err != nil {
			return err
		}
		if s.Gate != nil {
			if err := p.hold(s.Gate); err != nil {
				return err
			}
		}
		p.tokens++
		if err := p.emit(part(t)); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) block(id string) string {
	p.blocks++
	if id != "" {
		return id
	}
	return strconv.Itoa(p.blocks)
}

// emit hands a part over, unless ctx is done: a cancelled answer says no more.
func (p *player) emit(part model.Part) error {
	if p.ctx.Err() != nil {
		return p.cancelled()
	}
	if !p.yield(part, nil) {
		return errBrokenOff
	}
	return nil
}

func (p *player) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.ctx.Done():
		return p.cancelled()
	}
}

func (p *player) hold(gate <-chan struct{}) error {
	select {
	case <-gate:
		return nil
	case <-p.ctx.Done():
		return p.cancelled()
	}
}

func (p *player) cancelled() error {
	return fmt.Errorf("scripted: %w", context.Cause(p.ctx))
}
