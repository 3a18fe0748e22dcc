// Package completions speaks OpenAI's Chat Completions, for OpenAI and for the
// many endpoints that have copied it. The stream is read by charm.land/fantasy,
// after a mender has made it regular; requests are put together here, since its own
// conversion keeps only one text of a message, knows no file by URL and drops
// fields that must come back.
package completions

import (
	"context"
	"encoding/json"
	"iter"

	"charm.land/fantasy"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
	"github.com/holdfast-dev/holdfast/actors/model/internal/openaisdk"
	"github.com/holdfast-dev/holdfast/actors/model/internal/wire"
)

// Model is one model behind one endpoint.
type Model struct {
	Config   openaisdk.Config
	Language fantasy.LanguageModel
	// Prefills: a trailing assistant message is continued.
	Prefills bool
	// OmitsReasoning: reasoning does not go back to the endpoint.
	OmitsReasoning bool
}

var _ model.Prefiller = (*Model)(nil)

// Name implements [model.Model].
func (m *Model) Name() string { return m.Config.Provider + "/" + m.Language.Model() }

// Prefill implements [model.Prefiller].
func (m *Model) Prefill() bool { return m.Prefills }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		ids := content.NewCallIDs(metadataKey, r.Messages)
		mender := newMender(ids)
		call, fields, err := m.call(r, ids)
		if err != nil {
			yield(nil, failure.Unusable(m.Config.Provider, err))
			return
		}
		out := &wire.Call{Headers: r.Headers, Fields: fields, Mender: mender}
		inner, end := out.Context(ctx)
		defer end()
		stream, err := m.Language.Stream(inner, call)
		if err != nil {
			yield(nil, m.Config.Failure(ctx, err))
			return
		}
		m.relay(ctx, &translation{wire: mender}, stream, yield)
	}
}

// call is the request in the library's terms, and what it has no words for.
func (m *Model) call(r model.Request, ids *content.CallIDs) (call fantasy.Call, more map[string]json.RawMessage, err error) {
	messages, err := m.messages(r, ids)
	if err != nil {
		return call, nil, err
	}
	if more, err = fields(r); err != nil {
		return call, nil, err
	}
	call, err = fantasyCall(messages, r)
	return call, more, err
}

// relay hands the stream over part by part.
func (m *Model) relay(ctx context.Context, t *translation, stream fantasy.StreamResponse, yield func(model.Part, error) bool) {
	for p := range stream {
		switch {
		case ctx.Err() != nil:
			yield(nil, failure.Broken(ctx, m.Config.Provider, ctx.Err()))
			return
		case p.Type == fantasy.StreamPartTypeError:
			yield(nil, m.Config.Failure(ctx, p.Error))
			return
		case p.Type == fantasy.StreamPartTypeFinish && p.FinishReason == fantasy.FinishReasonError:
			yield(nil, failure.Broken(ctx, m.Config.Provider, failure.ErrTruncated))
			return
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
