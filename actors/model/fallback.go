package model

import (
	"context"
	"errors"
	"iter"
	"slices"
)

// A Fallback asks one model after the other until one begins to answer. After the
// first part it stays with it: what has been seen can't be taken back. Set its
// fields before first use.
type Fallback struct {
	// Models are asked in order; at least one.
	Models []Model
	// On are the classes of failures after which the next one is asked. nil means
	// RateLimit, Overload, Network and Auth: those of the provider, not of the request.
	On []Class
}

var _ Prefiller = (*Fallback)(nil)

// Name implements [Model]: it is the first model's. The FinishPart says which one
// has answered.
func (f *Fallback) Name() string {
	if len(f.Models) == 0 {
		return "fallback"
	}
	return f.Models[0].Name()
}

// Prefill implements [Prefiller]: only if all models do, since any may be asked.
func (f *Fallback) Prefill() bool {
	return len(f.Models) > 0 && !slices.ContainsFunc(f.Models, func(m Model) bool { return !Prefills(m) })
}

// Stream implements [Model]. If all models fail, the error is the last one's, with
// those of the others joined for logs.
func (f *Fallback) Stream(ctx context.Context, r Request) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		on := f.On
		if on == nil {
			on = append([]Class{Auth}, passing...)
		}
		var errs []error
		for i, m := range f.Models {
			failed, over := untilFirst(named(m, i, m.Stream(ctx, r)), yield)
			if over {
				return
			}
			errs = append(errs, failed)
			if ctx.Err() != nil || !slices.Contains(on, ClassOf(failed)) {
				break
			}
		}
		if len(errs) == 0 {
			errs = []error{&Error{Cause: Refused, Class: BadRequest, Public: "The model did not accept the request.", Err: errors.New("a Fallback has no Models")}}
		}
		yield(nil, ended(ctx, joinedErrors(errs)))
	}
}

// named says in the FinishPart that the model has answered, if it is not the first.
func named(m Model, at int, answer iter.Seq2[Part, error]) iter.Seq2[Part, error] {
	if at == 0 {
		return answer
	}
	return func(yield func(Part, error) bool) {
		for p, err := range answer {
			if f, ok := p.(FinishPart); ok && err == nil && f.Model == "" {
				f.Model = m.Name()
				p = f
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// joinedErrors is the last error, with those before it for logs.
func joinedErrors(errs []error) error {
	var e *Error
	last := errs[len(errs)-1]
	if len(errs) == 1 || !errors.As(last, &e) {
		return last
	}
	out := *e
	out.Err = errors.Join(errs...)
	return &out
}
