package openai

import (
	"context"
	"iter"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
	"github.com/holdfast-dev/holdfast/actors/model/internal/openaisdk"
	"github.com/holdfast-dev/holdfast/actors/model/internal/wire"
)

// responsesModel uses OpenAI's own library: fantasy reads this protocol, too, but
// takes the encrypted reasoning from the wrong event and never sends reasoning
// back, so that each step of a turn would think from scratch.
type responsesModel struct {
	config  Config
	sdk     openaisdk.Config
	service responses.ResponseService
	reasons bool // the model is a reasoning model
}

// Name implements [model.Model].
func (m *responsesModel) Name() string { return "openai/" + m.config.Model }

// Stream implements [model.Model]. It is no [model.Prefiller]: the API takes a
// trailing assistant message for a finished one.
func (m *responsesModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		ids := content.NewCallIDs(metadataKey, r.Messages)
		body, err := m.body(r, ids)
		if err != nil {
			yield(nil, failure.Unusable("openai", err))
			return
		}
		options := []option.RequestOption{option.WithRequestBody("application/json", body)}
		if r.Key != "" {
			options = append(options, option.WithHeader("Idempotency-Key", r.Key))
		}
		inner, end := (&wire.Call{Headers: r.Headers, Mender: openaisdk.Events{}}).Context(ctx)
		defer end()
		stream := m.service.NewStreaming(inner, responses.ResponseNewParams{}, options...)
		t := translation{sdk: m.sdk, ids: ids}
		for stream.Next() {
			parts, err := t.event(stream.Current())
			for _, p := range parts {
				if ctx.Err() != nil {
					break
				}
				if !yield(p, nil) {
					return
				}
			}
			switch {
			case err != nil || ctx.Err() != nil:
				yield(nil, m.sdk.Failure(ctx, err))
				return
			case t.finished:
				return
			}
		}
		err = stream.Err()
		if err == nil {
			err = failure.ErrTruncated
		}
		yield(nil, m.sdk.Failure(ctx, err))
	}
}

// plainModels are those that do not reason, by prefix; newer ones all do.
var plainModels = []string{"gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat", "ft:gpt-3", "ft:gpt-4"}

// reasons tells whether the model takes options of reasoning, and refuses a
// temperature.
func reasons(modelID string) bool {
	for _, p := range plainModels {
		if strings.HasPrefix(modelID, p) {
			return false
		}
	}
	return true
}
