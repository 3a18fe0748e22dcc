// Package completions speaks OpenAI's Chat Completions, for OpenAI and for the
// many endpoints that have copied it. The stream is read by charm.land/fantasy;
// requests are put together here, since its own conversion keeps only one text of
// a message, knows no file by URL and drops fields that must come back.
package completions

import (
	"context"
	"iter"

	"charm.land/fantasy"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
	"github.com/holdfast-dev/holdfast/actors/model/internal/openaisdk"
)

// Model is one model behind one endpoint.
type Model struct {
	Config   openaisdk.Config
	Language fantasy.LanguageModel
	// Prefills: a trailing assistant message is continued.
	Prefills bool
	// NoDone: the endpoint ends a stream without "data: [DONE]"; a finish
	// reason alone makes the answer complete.
	NoDone bool
}

var _ model.Prefiller = (*Model)(nil)

// Name implements [model.Model].
func (m *Model) Name() string { return m.Config.Provider + "/" + m.Language.Model() }

// Prefill implements [model.Prefiller].
func (m *Model) Prefill() bool { return m.Prefills }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		call, err := fantasyCall(r)
		if err != nil {
			yield(nil, failure.Unusable(m.Config.Provider, err))
			return
		}
		wire := &openaisdk.Call{}
		inner, end := wire.Context(ctx)
		defer end()
		stream, err := m.Language.Stream(inner, call)
		if err != nil {
			yield(nil, m.Config.Failure(ctx, err))
			return
		}
		m.relay(ctx, wire, stream, yield)
	}
}

// relay hands the stream over part by part.
func (m *Model) relay(ctx context.Context, wire *openaisdk.Call, stream fantasy.StreamResponse, yield func(model.Part, error) bool) {
	complete := func() bool { return m.NoDone || wire.Done() }
	var t translation
	for p := range stream {
		if ctx.Err() != nil {
			yield(nil, failure.Broken(ctx, m.Config.Provider, ctx.Err()))
			return
		}
		switch p.Type {
		case fantasy.StreamPartTypeError:
			yield(nil, m.Config.Failure(ctx, p.Error))
			return
		// Both come only after the whole body has been read.
		case fantasy.StreamPartTypeToolCall, fantasy.StreamPartTypeFinish:
			if !complete() || p.FinishReason == fantasy.FinishReasonError {
				yield(nil, failure.Broken(ctx, m.Config.Provider, failure.ErrTruncated))
				return
			}
		}
		for _, part := range t.parts(p) {
			if !yield(part, nil) {
				return
			}
		}
		if p.Type == fantasy.StreamPartTypeFinish {
			return
		}
	}
	yield(nil, failure.Broken(ctx, m.Config.Provider, failure.ErrTruncated))
}
