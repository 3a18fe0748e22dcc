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
	}{
		{500, "", "", nil, model.Transient},
		{529, "overloaded_error", "Overloaded", nil, model.Transient},
		{429, "rate_limit_error", "", nil, model.Transient},
		{429, "insufficient_quota", "You exceeded your current quota", nil, model.Unauthorised},
		{408, "", "", nil, model.Transient},
		{409, "", "", nil, model.Transient},
		{400, "invalid_request_error", "no such field", nil, model.Refused},
		{400, "context_length_exceeded", "", nil, model.TooLong},
		{400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", nil, model.TooLong},
		{400, "", "This model's maximum context length is 8192 tokens", nil, model.TooLong},
		{413, "request_too_large", "", nil, model.TooLong},
		{400, "invalid_request_error", "Your credit balance is too low", nil, model.Unauthorised},
		{401, "", "", nil, model.Unauthorised},
		{402, "", "", nil, model.Unauthorised},
		{403, "permission_error", "", nil, model.Unauthorised},
		{404, "model_not_found", "", nil, model.Refused},
		{422, "", "", nil, model.Refused},
		{400, "", "", http.Header{"X-Should-Retry": {"true"}}, model.Transient},
		{503, "", "", http.Header{"X-Should-Retry": {"false"}}, model.Refused},
		{401, "", "", http.Header{"X-Should-Retry": {"true"}}, model.Unauthorised},
		{200, "overloaded_error", "", nil, model.Transient},
		{200, "invalid_request_error", "", nil, model.Refused},
		{0, "", "something new", nil, model.Transient},
	} {
		got := Of(Answer{Provider: "acme", Status: c.status, Header: c.header, Kind: c.kind, Message: c.message})
		if got.Cause != c.want {
			t.Errorf("%d %q %q %v: %s, want %s", c.status, c.kind, c.message, c.header, got.Cause, c.want)
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
