package protocol_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// do sends a plain request; header lines are "Key: value".
func (n *node) do(method, path string, header ...string) (*http.Response, string) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, n.srv.URL+path, nil)
	require.NoError(n.t, err)
	for _, h := range header {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(n.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(n.t, err)
	http.DefaultClient.CloseIdleConnections()
	return resp, string(body)
}

func TestGetMessages(t *testing.T) {
	n := newNode(t, protocol.Config{CORS: protocol.AnyOrigin()})
	n.messages = `[{"id":"u1"}]`
	const p = "/agents/chat-agent/room-1"
	for _, path := range []string{p + "/get-messages", p + "/get-messages?_pk=x&token=y", p + "/any/thing/get-messages", "//agents//chat-agent/room-1/get-messages/"} {
		for _, method := range []string{"GET", "POST"} {
			resp, body := n.do(method, path)
			require.Equal(t, 200, resp.StatusCode, path)
			require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
			require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
			require.Equal(t, "86400", resp.Header.Get("Access-Control-Max-Age"))
			require.Equal(t, n.messages, body)
		}
	}
	n.messages = ""
	_, body := n.do("GET", p+"/get-messages")
	require.Equal(t, "[]", body)
}

func TestStatuses(t *testing.T) {
	n := newNode(t, protocol.Config{CORS: protocol.AnyOrigin()})
	const p = "/agents/chat-agent/room-1"
	for _, c := range []struct {
		method, path string
		status       int
		body         string
		cors         bool
	}{
		{"OPTIONS", p + "/get-messages", 200, "", true},
		{"GET", p, 404, "Not implemented", true},
		{"GET", p + "/other", 404, "Not implemented", true},
		{"GET", "/agents/nope-agent/x/get-messages", 400, "Invalid request", false},
		{"GET", "/agents/chat-agent/" + strings.Repeat("x", 513), 400, "Invalid request: the agent's name has more than 512 bytes", false},
		{"GET", "/agents/chat-agent", 404, "404 page not found\n", false},
		{"GET", "/", 404, "404 page not found\n", false},
		{"GET", "/other/chat-agent/room-1", 404, "404 page not found\n", false},
	} {
		resp, body := n.do(c.method, c.path)
		require.Equal(t, c.status, resp.StatusCode, c.path)
		require.Equal(t, c.body, body, c.path)
		require.Equal(t, c.cors, resp.Header.Get("Access-Control-Allow-Origin") != "", c.path)
	}
	n.fail = errors.New("secret")
	resp, body := n.do("GET", p+"/get-messages")
	require.Equal(t, 500, resp.StatusCode)
	require.Equal(t, "internal error", body)
}

func TestNameIsTheRawSegment(t *testing.T) {
	n := newNode(t, protocol.Config{Prefix: "/api/bots/"})
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(n.url(), "/agents/chat-agent/room-1", "/api/bots/chat-agent/a%20b%2Fc/x/y", 1), nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	_, frame, err := conn.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, `{"agent":"chat-agent","name":"a%20b%2Fc","type":"cf_agent_identity"}`, string(frame))
}

func TestPathsOfTheAuthor(t *testing.T) {
	n := newNode(t, protocol.Config{Paths: func(r *http.Request) (feed.Address, string, bool) {
		rest, ok := strings.CutPrefix(r.URL.Path, "/custom")
		return feed.Address{Class: "ChatAgent", Name: "from-session"}, rest, ok
	}})
	n.messages = `[1]`
	_, body := n.do("GET", "/custom/get-messages")
	require.Equal(t, `[1]`, body)
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(n.url(), "/agents/chat-agent/room-1", "/custom/user", 1), nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	_, frame, err := conn.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(frame), `"name":"from-session"`)
}

func TestGates(t *testing.T) {
	gate := func(code protocol.Code) protocol.Gate {
		return func(r *http.Request, a feed.Address) (*http.Request, error) {
			switch r.URL.Query().Get("deny") {
			case "1":
				return nil, &protocol.Error{Code: code, Message: "denied"}
			case "2":
				return nil, errors.New("secret")
			case "3":
				panic("secret")
			}
			return nil, nil
		}
	}
	n := newNode(t, protocol.Config{
		CORS:          protocol.AnyOrigin(),
		BeforeConnect: gate(protocol.Unauthenticated),
		BeforeRequest: gate(protocol.Denied),
	})
	n.dial("?deny=0").greeted()
	for query, want := range map[string]int{"?deny=1": 401, "?deny=2": 500, "?deny=3": 500} {
		_, resp, err := websocket.Dial(t.Context(), n.url()+query, nil)
		require.Error(t, err)
		require.Equal(t, want, resp.StatusCode)
	}
	for query, want := range map[string]int{"?deny=0": 200, "?deny=1": 403, "?deny=2": 500} {
		resp, body := n.do("GET", "/agents/chat-agent/room-1/get-messages"+query)
		require.Equal(t, want, resp.StatusCode)
		require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
		require.NotContains(t, body, "secret")
	}
}

// C42: pages of foreign origins are kept out unless the operator lets them in.
func TestOrigins(t *testing.T) {
	closed := newNode(t, protocol.Config{OriginPatterns: []string{"*.example.com", "https://only.test"}})
	open := newNode(t, protocol.Config{OriginPatterns: []string{"*"}})
	self := "http://" + closed.srv.Listener.Addr().String()
	for _, c := range []struct {
		n      *node
		origin string
		ok     bool
	}{
		{closed, "", true},
		{closed, self, true},
		{closed, "https://a.example.com", true},
		{closed, "HTTPS://A.EXAMPLE.COM", true},
		{closed, "https://only.test", true},
		{closed, "http://only.test", false},
		{closed, "https://evil.example", false},
		{closed, "https://example.com.evil.example", false},
		{closed, "null", false},
		{open, "https://evil.example", true},
		{open, "null", true},
	} {
		conn, resp, err := websocket.Dial(t.Context(), c.n.url(), &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {c.origin}}})
		require.Equal(t, c.ok, err == nil, "%s: %v", c.origin, err)
		if err == nil {
			conn.CloseNow()
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		require.Equal(t, 403, resp.StatusCode)
		require.Equal(t, `origin "`+c.origin+`" may not use this host; to allow it, add it to OriginPatterns`, string(body))
		plain, _ := c.n.do("GET", "/agents/chat-agent/room-1/get-messages", "Origin: "+c.origin)
		require.Equal(t, 403, plain.StatusCode)
	}
}
