package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestWhatIsNotAcceptedGetsAStatus(t *testing.T) {
	n := newNode(t, protocol.Config{MaxFrameBytes: 1 << 20, CORS: protocol.AnyOrigin()})
	var refusal error
	n.submit = func(context.Context, feed.Submit) error { return refusal }
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/chat", ``, 400, "request body is missing, must be a JSON object"},
		{"POST", "/chat", `[1]`, 400, "request body is [1], must be a JSON object"},
		{"POST", "/chat", `null`, 400, "request body is null, must be a JSON object"},
		{"POST", "/chat", `{"id":"x"}`, 400, "messages"},
		{"POST", "/chat", `{"messages":[{"id":"u1","role":"tyrant"}]}`, 400, "messages[0].role"},
		{"POST", "/chat", `{"messages":[],"trigger":"shoot"}`, 400, "trigger is \"shoot\""},
		{"POST", "/chat?stop=never", hello, 400, `stop is "never", must be disconnect or missing`},
		{"POST", "/chat", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "request body is over the limit of 1 MiB (MaxFrameBytes)"},
		{"POST", "/chat/stop", `{"requestId":7}`, 400, "requestId is 7"},
		{"POST", "/chat/stop", `{"requestId":""}`, 400, "requestId is \"\""},
		{"GET", "/chat", ``, 405, "use POST"},
		{"OPTIONS", "/chat", ``, 200, ""},
		{"DELETE", "/chat/stop", ``, 405, "use POST"},
		{"POST", "/chat/x/stream", ``, 405, "use GET"},
		{"GET", "/turns", ``, 405, "use POST"},
		{"PUT", "/messages/m1", ``, 405, "use GET"},
		{"POST", "/calls", ``, 405, "use GET"},
		{"GET", "/calls/k1/result", ``, 405, "use POST"},
		{"GET", "/calls/k1/approval", ``, 405, "use POST"},
		{"POST", "/chat/other", hello, 404, "Not implemented"},
		{"GET", "/chat//stream", ``, 404, "Not implemented"},
		{"GET", "/messages/m1/x", ``, 404, "Not implemented"},
		{"GET", "/messages/none", ``, 404, "Not Found"},
	} {
		e := n.send(c.method, agentPath+c.path, c.body)
		require.Equal(t, c.status, e.StatusCode, "%s %s", c.method, c.path)
		require.Contains(t, e.text(), c.says)
		require.Equal(t, "*", e.Header.Get("Access-Control-Allow-Origin"))
		if c.status == http.StatusMethodNotAllowed {
			require.Equal(t, c.says, "use "+e.Header.Get("Allow"))
		}
	}
	for status, err := range map[int]error{
		400: &protocol.Error{Code: protocol.Invalid, Message: "why"}, 409: &protocol.Error{Code: protocol.Conflict, Message: "why"},
		503: &protocol.Error{Code: protocol.Unavailable, Message: "why"}, 500: errors.New("secret"),
	} {
		refusal = err
		e := n.send("POST", agentPath+"/chat", hello)
		require.Equal(t, status, e.StatusCode)
		require.Contains(t, []string{"why", "internal error"}, e.text())
	}
	require.Empty(t, n.asked, "nothing was asked of the agent")
	n.plain = true
	for _, path := range []string{"/chat", "/chat/stop", "/turns"} {
		require.Equal(t, 404, n.send("POST", agentPath+path, hello).StatusCode, "an agent that does not chat")
	}
}

// C42: that a foreign page may read responses does not let it speak to the agents.
func TestForeignPagesStartNothing(t *testing.T) {
	n := newNode(t, protocol.Config{CORS: protocol.AnyOrigin(), OriginPatterns: []string{"app.example"},
		BeforeRequest: func(r *http.Request, _ feed.Address) (*http.Request, error) {
			if r.Header.Get("X-User") == "nobody" {
				return nil, &protocol.Error{Code: protocol.Unauthenticated, Message: "who?"}
			}
			return nil, nil
		}})
	n.submit = func(context.Context, feed.Submit) error {
		return &protocol.Error{Code: protocol.Conflict, Message: "reached"}
	}
	for _, path := range []string{"/chat", "/turns", "/chat/stop"} {
		require.Equal(t, 403, n.send("POST", agentPath+path, `{"text":"x"}`, "Origin: https://evil.example").StatusCode)
		require.Equal(t, 401, n.send("POST", agentPath+path, `{"text":"x"}`, "X-User: nobody").StatusCode)
	}
	require.Equal(t, 401, n.send("GET", agentPath+"/chat/x/stream", "", "X-User: nobody").StatusCode)
	require.Equal(t, 409, n.send("POST", agentPath+"/chat", hello, "Origin: https://app.example").StatusCode)
	require.Equal(t, 200, n.send("OPTIONS", agentPath+"/chat", "", "Origin: https://app.example").StatusCode)
	require.Empty(t, n.asked)
}

// hidden is a writer of somebody's middleware that lets nothing through.
type hidden struct{ w http.ResponseWriter }

func (h hidden) Header() http.Header         { return h.w.Header() }
func (h hidden) Write(p []byte) (int, error) { return h.w.Write(p) }
func (h hidden) WriteHeader(code int)        { h.w.WriteHeader(code) }

func TestAWriterThatCannotFlushIsNoticed(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.h.ServeHTTP(hidden{w}, r) })
	req, err := http.NewRequestWithContext(t.Context(), "POST", n.srv.URL+agentPath+"/chat", strings.NewReader(hello))
	require.NoError(t, err)
	_, err = http.DefaultClient.Do(req)
	require.ErrorIs(t, err, io.EOF, "a broken connection, not a wait for ever")
}

func TestStoredMessages(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.stored = map[string]string{"m/1 ä": `{"id":"m/1 ä"}`}
	e := n.send("GET", agentPath+"/messages/m%2F1%20%C3%A4", "")
	require.Equal(t, 200, e.StatusCode)
	require.Equal(t, "application/json", e.Header.Get("Content-Type"))
	require.Equal(t, fmt.Sprint(len(n.stored["m/1 ä"])), e.Header.Get("Content-Length"))
	require.Equal(t, n.stored["m/1 ä"], e.text())
}
