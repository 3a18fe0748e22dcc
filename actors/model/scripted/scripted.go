package scripted

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// Model plays answers. Set its fields before first use.
type Model struct {
	// Label is the model's name. "" means "scripted".
	Label string
	// Answer is asked once for each request. It may be called by many turns at
	// once, and must not block: use Hold and Wait for that.
	Answer func(model.Request) Answer
	// RefusesPrefill makes the model one that cannot go on from a partial
	// assistant message. What Answer does with such a message is its own affair.
	RefusesPrefill bool
	// Remark is what people should know of this model; see model.Noter.
	Remark string
}

var _ model.Prefiller = (*Model)(nil)

// Note returns the Remark.
func (m *Model) Note() string { return m.Remark }

// New returns a model that plays what answer returns for each request.
func New(answer func(model.Request) Answer) *Model { return &Model{Answer: answer} }

// Sequence returns a model that plays the answers one after the other, one a
// request, whoever asks. A request after the last one fails as refused.
func Sequence(answers ...Answer) *Model {
	var next atomic.Int64
	return New(func(model.Request) Answer {
		n := next.Add(1) - 1
		if n >= int64(len(answers)) {
			return Answer{Fail{&model.Error{
				Cause:  model.Refused,
				Public: "The script has no more answers.",
				Err:    errors.New("scripted: no answer left in the sequence"),
			}}}
		}
		return answers[n]
	})
}

// Name implements [model.Model].
func (m *Model) Name() string {
	if m.Label == "" {
		return "scripted"
	}
	return m.Label
}

// Prefill implements [model.Prefiller].
func (m *Model) Prefill() bool { return !m.RefusesPrefill }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		p := player{ctx: ctx, yield: yield}
		err := p.play(m.Answer(r))
		if err != nil && !errors.Is(err, errBrokenOff) {
			yield(nil, err)
		}
	}
}
