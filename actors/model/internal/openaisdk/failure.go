package openaisdk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
)

// Failure says what an error of the library means. ctx is the caller's.
func (c Config) Failure(ctx context.Context, err error) error {
	var ours *model.Error
	var api *openai.Error
	var inStream *ssestream.StreamError
	switch {
	case ctx.Err() != nil:
		return failure.Broken(ctx, c.Provider, err)
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &api):
		answer := failure.Answer{
			Provider: c.Provider, Status: api.StatusCode, Secret: c.APIKey,
			Kind: cmp.Or(api.Code, api.Type), Message: cmp.Or(api.Message, api.RawJSON()),
		}
		if api.Response != nil {
			answer.Header = api.Response.Header
		}
		return failure.Of(answer)
	case errors.As(err, &inStream):
		return failure.Of(c.inStream(inStream.Event.Data))
	}
	return failure.Broken(ctx, c.Provider, err)
}

// inStream reads the error object of an event.
func (c Config) inStream(data []byte) failure.Answer {
	var e struct {
		Error struct {
			Message, Type string
			Code          any // a string, or an HTTP status
		}
	}
	answer := failure.Answer{Provider: c.Provider, Secret: c.APIKey, Message: string(data)}
	if json.Unmarshal(data, &e) != nil {
		return answer
	}
	switch code := e.Error.Code.(type) {
	case string:
		answer.Kind = code
	case float64:
		if code >= 400 && code < 600 { // other numbers are somebody's own
			answer.Status = int(code)
		}
	}
	answer.Kind = cmp.Or(answer.Kind, e.Error.Type)
	answer.Message = cmp.Or(e.Error.Message, answer.Message)
	return answer
}
