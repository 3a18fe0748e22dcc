// Package failure turns what goes wrong with a provider into model.Error: which
// cause it is, when to try again, and what a visitor may read.
package failure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// maxMessage is how much of a provider's own words goes to the logs, in bytes.
const maxMessage = 1000

// An Answer is a provider's refusal in its own terms.
type Answer struct {
	Provider string // for logs
	Status   int
	Header   http.Header
	Kind     string // the provider's type or code of error: "overloaded_error", "context_length_exceeded"
	Message  string // the provider's words, for logs
	Secret   string // the API key: taken out of Message
}

// public is what a visitor reads.
var public = map[model.Cause]string{
	model.Transient:    "The model is not available right now.",
	model.Refused:      "The model did not accept the request.",
	model.Unauthorised: "The model is not available: its access needs the operator's attention.",
	model.TooLong:      "The conversation has become too long for the model.",
}

// kinds are the names that decide more than the status does. Providers send
// them with an HTTP error and inside a stream that began with 200.
var kinds = map[string]model.Cause{
	"context_length_exceeded":      model.TooLong,
	"request_too_large":            model.TooLong,
	"string_above_max_length":      model.TooLong,
	"insufficient_quota":           model.Unauthorised,
	"billing_error":                model.Unauthorised,
	"billing_hard_limit_reached":   model.Unauthorised,
	"invalid_api_key":              model.Unauthorised,
	"authentication_error":         model.Unauthorised,
	"permission_error":             model.Unauthorised,
	"invalid_request_error":        model.Refused,
	"invalid_prompt":               model.Refused,
	"not_found_error":              model.Refused,
	"model_not_found":              model.Refused,
	"overloaded_error":             model.Transient,
	"rate_limit_error":             model.Transient,
	"rate_limit_exceeded":          model.Transient,
	"server_error":                 model.Transient,
	"internal_error":               model.Transient,
	"internal_server_error":        model.Transient,
	"api_error":                    model.Transient,
	"timeout_error":                model.Transient,
	"vector_store_timeout":         model.Transient,
	"insufficient_system_resource": model.Transient,
}

// phrases tell what some providers say in words only, under a general kind.
var phrases = []struct {
	text  string
	cause model.Cause
}{
	{"maximum context length", model.TooLong},
	{"prompt is too long", model.TooLong},
	{"exceed context limit", model.TooLong},
	{"context window", model.TooLong},
	{"exceeds the available context size", model.TooLong},
	{"range of input length should be", model.TooLong},
	{"credit balance is too low", model.Unauthorised},
}

// Of returns the model's error for a provider's refusal. A Status of 200 or 0
// means that it came inside a stream.
func Of(a Answer) *model.Error {
	cause := a.cause()
	e := &model.Error{
		Cause:      cause,
		Public:     public[cause],
		RetryAfter: retryAfter(a.Header, time.Now()),
		Err:        errors.New(a.words()),
	}
	if a.Status >= 300 {
		e.Status = a.Status
	}
	return e
}

func (a Answer) cause() model.Cause {
	lower := strings.ToLower(a.Message)
	if a.Status < 500 {
		for _, p := range phrases {
			if strings.Contains(lower, p.text) {
				return p.cause
			}
		}
	}
	cause, known := kinds[a.Kind]
	if !known || cause == model.Refused || cause == model.Transient {
		cause = byStatus(a.Status, cause)
	}
	// Both big providers say with this header whether trying again makes sense.
	switch should := a.Header.Get("X-Should-Retry"); {
	case should == "true" && cause == model.Refused:
		return model.Transient
	case should == "false" && cause == model.Transient:
		return model.Refused
	}
	return cause
}

// byStatus gives the cause by HTTP status; inside a stream it is the one that
// the kind gave, or Transient: what broke off once may well work next time.
func byStatus(status int, kind model.Cause) model.Cause {
	switch {
	case status < 300 && kind != "":
		return kind
	case status < 300:
		return model.Transient
	case status == 401, status == 402, status == 403:
		return model.Unauthorised
	case status == 413:
		return model.TooLong
	case status == 408, status == 409, status == 425, status == 429, status >= 500:
		return model.Transient
	}
	return model.Refused
}

func (a Answer) words() string {
	msg := a.Message
	if a.Secret != "" {
		msg = strings.ReplaceAll(msg, a.Secret, "[key]")
	}
	if len(msg) > maxMessage {
		msg = strings.ToValidUTF8(msg[:maxMessage], "") + "…"
	}
	if a.Kind != "" {
		return fmt.Sprintf("%s: %s: %s", a.Provider, a.Kind, msg)
	}
	return fmt.Sprintf("%s: %s", a.Provider, msg)
}

// Broken returns the error for a connection that could not be made, broke, or
// delivered what is no answer. If ctx is done it is the end of ctx instead.
func Broken(ctx context.Context, provider string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", provider, context.Cause(ctx))
	}
	return &model.Error{Cause: model.Transient, Public: public[model.Transient], Err: fmt.Errorf("%s: %w", provider, err)}
}

// ErrTruncated is what Broken wraps when a stream ended without the provider's
// terminal marker.
var ErrTruncated = errors.New("the stream ended before the answer was complete")

// Unusable returns the error for a request that cannot be put into the
// provider's words.
func Unusable(provider string, err error) *model.Error {
	return &model.Error{Cause: model.Refused, Public: public[model.Refused], Err: fmt.Errorf("%s: %w", provider, err)}
}

// maxRetryAfter bounds what a header can ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads Retry-After (seconds or a date) and its form in milliseconds.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return clamp(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return clamp(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return clamp(at.Sub(now).Seconds())
	}
	return 0
}

func clamp(seconds float64) time.Duration {
	if !(seconds > 0) { // also NaN
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
