package failure

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
)

func TestACauseFollowsFromWhatTheProviderSays(t *testing.T) {
	for _, c := range []struct {
		status        int
		kind, message string
		header        http.Header
		want          model.Cause
		class         model.Class
	}{
		{500, "", "", nil, model.Transient, model.Overload},
		{529, "overloaded_error", "Overloaded", nil, model.Transient, model.Overload},
		{429, "rate_limit_error", "", nil, model.Transient, model.RateLimit},
		{429, "insufficient_quota", "You exceeded your current quota", nil, model.Unauthorised, model.Auth},
		{408, "", "", nil, model.Transient, model.Overload},
		{409, "", "", nil, model.Transient, model.Overload},
		{400, "invalid_request_error", "no such field", nil, model.Refused, model.BadRequest},
		{400, "context_length_exceeded", "", nil, model.TooLong, model.ContextOverflow},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", nil, model.TooLong, model.ContextOverflow},
		{400, "", "This model's maximum context length is 8192 tokens", nil, model.TooLong, model.ContextOverflow},
		{413, "request_too_large", "", nil, model.TooLong, model.ContextOverflow},
		{400, "invalid_request_error", "Your credit balance is too low", nil, model.Unauthorised, model.Auth},
		{401, "", "", nil, model.Unauthorised, model.Auth},
		{402, "", "", nil, model.Unauthorised, model.Auth},
		{403, "permission_error", "", nil, model.Unauthorised, model.Auth},
		{404, "model_not_found", "", nil, model.Refused, model.BadRequest},
		{422, "", "", nil, model.Refused, model.BadRequest},
		{400, "", "", http.Header{"X-Should-Retry": {"true"}}, model.Transient, model.BadRequest},
		{503, "", "", http.Header{"X-Should-Retry": {"false"}}, model.Refused, model.Overload},
		{401, "", "", http.Header{"X-Should-Retry": {"true"}}, model.Unauthorised, model.Auth},
		{200, "overloaded_error", "", nil, model.Transient, model.Overload},
		{200, "invalid_request_error", "", nil, model.Refused, model.BadRequest},
		{0, "", "something new", nil, model.Transient, model.Overload},
		{400, "content_filter", "The response was filtered due to the prompt triggering a content management policy", nil, model.Refused, model.Filtered},
		{429, "RESOURCE_EXHAUSTED", "quota of requests per minute", nil, model.Transient, model.RateLimit},
		{400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", nil, model.Unauthorised, model.Auth},
		{400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8).", nil, model.TooLong, model.ContextOverflow},
	} {
		got := Of(Answer{Provider: "acme", Status: c.status, Header: c.header, Kind: c.kind, Message: c.message})
		if got.Cause != c.want || got.Class != c.class {
			t.Errorf("%d %q %q %v: %s, %s, want %s, %s", c.status, c.kind, c.message, c.header, got.Cause, got.Class, c.want, c.class)
		}
		if got.Class.Hint() == "" {
			t.Errorf("%d %q: an operator is told nothing", c.status, c.kind)
		}
		if got.Public == "" || strings.Contains(got.Public, c.message) && c.message != "" {
			t.Errorf("%d %q: a visitor reads %q", c.status, c.kind, got.Public)
		}
	}
}

func TestRetryAfterIsReadInEachForm(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"Retry-After: 7":                             7 * time.Second,
		"Retry-After: 0.5":                           500 * time.Millisecond,
		"Retry-After-Ms: 1500":                       1500 * time.Millisecond,
		"Retry-After: Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
		"Retry-After: Fri, 02 Jan 2026 03:00:00 GMT": 0,
		"Retry-After: -3":                            0,
		"Retry-After: NaN":                           0,
		"Retry-After: 1e300":                         24 * time.Hour,
		"Retry-After: soon":                          0,
		"X: y":                                       0,
	} {
		name, value, _ := strings.Cut(header, ": ")
		if got := retryAfter(http.Header{name: {value}}, now); got != want {
			t.Errorf("%s: %v, want %v", header, got, want)
		}
	}
}

func TestTheKeyStaysOutOfTheLogs(t *testing.T) {
	err := Of(Answer{Provider: "acme", Status: 401, Message: "Incorrect API key: sk-123", Secret: "sk-123"})
	if s := err.Error(); strings.Contains(s, "sk-123") || !strings.Contains(s, "HTTP 401") {
		t.Errorf("logged as %q", s)
	}
}

func TestTheEndOfTheContextIsNoFailureOfTheModel(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	err := Broken(ctx, "acme", errors.New("read: connection closed"))
	var e *model.Error
	if !errors.Is(err, stop) || errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}
