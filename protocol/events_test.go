package protocol_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// events is a response that streams.
type events struct {
	*http.Response
	t     testing.TB
	lines *bufio.Scanner
	leave context.CancelFunc // breaks the connection
}

// send sends a request and returns when its response has begun.
func (n *node) send(method, path, body string, header ...string) *events {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	n.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, n.srv.URL+path, strings.NewReader(body))
	require.NoError(n.t, err)
	for _, h := range header {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Add(k, v)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(n.t, err)
	n.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &events{resp, n.t, lines, cancel}
}

// line is the next line that is not empty; "" at the end.
func (e *events) line() string {
	for e.lines.Scan() {
		if e.lines.Text() != "" {
			return e.lines.Text()
		}
	}
	return ""
}

// next is the data of the next event.
func (e *events) next() string {
	e.t.Helper()
	data, ok := strings.CutPrefix(e.line(), "data: ")
	require.True(e.t, ok, "%v", e.lines.Err())
	return data
}

// rest is what follows, to a clean end.
func (e *events) rest() (all []string) {
	e.t.Helper()
	for e.lines.Scan() {
		if data, ok := strings.CutPrefix(e.lines.Text(), "data: "); ok {
			all = append(all, data)
		}
	}
	require.NoError(e.t, e.lines.Err())
	return all
}

// broken reads until the connection breaks.
func (e *events) broken() {
	e.t.Helper()
	for e.lines.Scan() {
		require.NotContains(e.t, e.lines.Text(), "[DONE]")
	}
	require.ErrorIs(e.t, e.lines.Err(), io.ErrUnexpectedEOF)
}

// text is the body of a refusal.
func (e *events) text() string {
	e.t.Helper()
	b, err := io.ReadAll(e.Body)
	require.NoError(e.t, err)
	return string(b)
}
