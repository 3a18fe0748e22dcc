package modelsuite

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

func containsAll(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// mustFail reads an answer that must fail, and checks what a visitor sees of it.
func (p Provider) mustFail(t *testing.T, m model.Model) (*model.Error, []model.Part) {
	t.Helper()
	parts, err := Collect(t, t.Context(), m, Ask("hi"))
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T: %v", err, err)
	}
	if e.Public == "" || strings.Contains(e.Public, "secret") || strings.Contains(e.Public, "127.0.0.1") || strings.Contains(e.Public, "own words") {
		t.Errorf("a visitor reads %q", e.Public)
	}
	if strings.Contains(e.Error(), Key) {
		t.Errorf("the key is in the log: %q", e.Error())
	}
	return e, parts
}

func (p Provider) failures(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   model.Cause
		after  time.Duration
	}{
		{"busy", 429, http.Header{"Retry-After": {"7"}}, "", model.Transient, 7 * time.Second},
		{"down", 500, nil, "", model.Transient, 0},
		{"overloaded", 529, nil, "", model.Transient, 0},
		{"a proxy's page", 502, http.Header{"Content-Type": {"text/html"}}, "<html>bad gateway</html>", model.Transient, 0},
		{"no access", 401, nil, "", model.Unauthorised, 0},
		{"bad request", 400, nil, "", model.Refused, 0},
		{"broken JSON in the error", 400, nil, `{"error":`, model.Refused, 0},
		{"too long", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`, model.TooLong, 0},
		{"a web page instead of a stream", 200, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, "<html>welcome</html>", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) { w.Fail(c.status, c.header, c.body) })
			e, parts := p.mustFail(t, m)
			if c.want != "" && (e.Cause != c.want || e.Status != c.status || e.RetryAfter != c.after) {
				t.Errorf("%s, status %d, retry after %v: %v", e.Cause, e.Status, e.RetryAfter, e)
			}
			if len(parts) > 0 {
				t.Errorf("parts %#v", parts)
			}
			if n := len(s.Records()); n != 1 {
				t.Errorf("%d requests: the client tries again by itself", n)
			}
		})
	}
	t.Run("a wrong key", func(t *testing.T) {
		s, _ := p.serve(t, func(*providerwire.Request, *providerwire.Writer) {})
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		_, err := Collect(t, t.Context(), p.New(t, s.URL, "sk-invalid-secret", &http.Client{Transport: transport}), Ask("hi"))
		if model.CauseOf(err) != model.Unauthorised || strings.Contains(err.Error(), "sk-invalid-secret") {
			t.Errorf("%v", err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		s, m := p.serve(t, func(*providerwire.Request, *providerwire.Writer) {})
		s.Close() //nolint:errcheck // closed twice
		if e, _ := p.mustFail(t, m); e.Cause != model.Transient || e.Status != 0 {
			t.Errorf("%v", e)
		}
	})
	t.Run("inside the stream", func(t *testing.T) {
		for kind, want := range map[string]model.Cause{
			"overloaded_error": model.Transient, "server_error": model.Transient, "rate_limit_error": model.Transient,
			"invalid_request_error": model.Refused, "insufficient_quota": model.Unauthorised,
		} {
			_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
				w.Text("half an ")
				w.StreamError(kind, "provider's own words, secret")
			})
			e, parts := p.mustFail(t, m)
			if e.Cause != want || Text(parts) != "half an " {
				t.Errorf("%s: %v after %q", kind, e, Text(parts))
			}
		}
	})
}
