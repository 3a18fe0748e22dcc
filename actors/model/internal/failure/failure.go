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
	Kind     string        // the provider's type or code of error: "overloaded_error", "context_length_exceeded"
	Message  string        // the provider's words, for logs
	Secret   string        // the API key: taken out of Message
	After    time.Duration // when to try again, where a header does not say it
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
var kinds = map[string]model.Class{
	"context_length_exceeded":      model.ContextOverflow,
	"request_too_large":            model.ContextOverflow,
	"string_above_max_length":      model.ContextOverflow,
	"insufficient_quota":           model.Auth,
	"billing_error":                model.Auth,
	"billing_hard_limit_reached":   model.Auth,
	"invalid_api_key":              model.Auth,
	"authentication_error":         model.Auth,
	"permission_error":             model.Auth,
	"PERMISSION_DENIED":            model.Auth,
	"UNAUTHENTICATED":              model.Auth,
	"invalid_request_error":        model.BadRequest,
	"not_found_error":              model.BadRequest,
	"model_not_found":              model.BadRequest,
	"INVALID_ARGUMENT":             model.BadRequest,
	"FAILED_PRECONDITION":          model.BadRequest,
	"NOT_FOUND":                    model.BadRequest,
	"invalid_prompt":               model.Filtered,
	"content_filter":               model.Filtered,
	"content_policy_violation":     model.Filtered,
	"ResponsibleAIPolicyViolation": model.Filtered,
	"rate_limit_error":             model.RateLimit,
	"rate_limit_exceeded":          model.RateLimit,
	"RESOURCE_EXHAUSTED":           model.RateLimit,
	"overloaded_error":             model.Overload,
	"server_error":                 model.Overload,
	"internal_error":               model.Overload,
	"internal_server_error":        model.Overload,
	"api_error":                    model.Overload,
	"timeout_error":                model.Overload,
	"vector_store_timeout":         model.Overload,
	"insufficient_system_resource": model.Overload,
	"INTERNAL":                     model.Overload,
	"UNAVAILABLE":                  model.Overload,
	"DEADLINE_EXCEEDED":            model.Overload,
}

// phrases tell what some providers say in words only, under a general kind.
var phrases = []struct {
	text  string
	class model.Class
}{
	{"maximum context length", model.ContextOverflow},
	{"prompt is too long", model.ContextOverflow},
	{"exceed context limit", model.ContextOverflow},
	{"context window", model.ContextOverflow},
	{"exceeds the available context size", model.ContextOverflow},
	{"range of input length should be", model.ContextOverflow},
	{"input token count", model.ContextOverflow}, // … exceeds the maximum number of tokens allowed
	{"credit balance is too low", model.Auth},
	{"api key not valid", model.Auth},
	{"content management policy", model.Filtered},
	{"content filtering policy", model.Filtered},
}

// causes are what a class means for the turn.
var causes = map[model.Class]model.Cause{
	model.RateLimit: model.Transient, model.Overload: model.Transient, model.Network: model.Transient,
	model.ContextOverflow: model.TooLong, model.Auth: model.Unauthorised,
	model.Filtered: model.Refused, model.BadRequest: model.Refused,
}

// Of returns the model's error for a provider's refusal. A Status of 200 or 0
// means that it came inside a stream.
func Of(a Answer) *model.Error {
	class := a.class()
	cause := a.cause(class)
	e := &model.Error{
		Cause:      cause,
		Class:      class,
		Public:     public[cause],
		RetryAfter: max(retryAfter(a.Header, time.Now()), clamp(a.After.Seconds())),
		Err:        errors.New(a.words()),
	}
	if a.Status >= 300 {
		e.Status = a.Status
	}
	return e
}

// general are classes of kinds that say less than a status does.
var general = map[model.Class]bool{model.UnknownClass: true, model.BadRequest: true, model.Overload: true, model.RateLimit: true}

func (a Answer) class() model.Class {
	lower := strings.ToLower(a.Message)
	if a.Status < 500 {
		for _, p := range phrases {
			if strings.Contains(lower, p.text) {
				return p.class
			}
		}
	}
	class := kinds[a.Kind]
	if general[class] {
		class = byStatus(a.Status, class)
	}
	return class
}

// byStatus gives the class by HTTP status; inside a stream it is the one that
// the kind gave, or Overload: what broke off once may well work next time.
func byStatus(status int, kind model.Class) model.Class {
	switch {
	case status < 300 && kind != model.UnknownClass:
		return kind
	case status < 300:
		return model.Overload
	case status == 401, status == 402, status == 403:
		return model.Auth
	case status == 413:
		return model.ContextOverflow
	case status == 429:
		return model.RateLimit
	case status == 408, status == 409, status == 425, status >= 500:
		return model.Overload
	}
	return model.BadRequest
}

// cause is what the class means for the turn. Both big providers say with a header
// whether trying again makes sense.
func (a Answer) cause(class model.Class) model.Cause {
	cause := causes[class]
	switch should := a.Header.Get("X-Should-Retry"); {
	case should == "true" && class == model.BadRequest:
		return model.Transient
	case should == "false" && cause == model.Transient:
		return model.Refused
	}
	return cause
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
	return &model.Error{Cause: model.Transient, Class: model.Network, Public: public[model.Transient], Err: fmt.Errorf("%s: %w", provider, err)}
}

// ErrTruncated is what Broken wraps when a stream ended without the provider's
// terminal marker.
var ErrTruncated = errors.New("the stream ended before the answer was complete")

// Unusable returns the error for a request that cannot be put into the
// provider's words.
func Unusable(provider string, err error) *model.Error {
	return &model.Error{Cause: model.Refused, Class: model.BadRequest, Public: public[model.Refused], Err: fmt.Errorf("%s: %w", provider, err)}
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
