package protocol_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

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

// What an author's gate says is the response.
func TestGatesAnswerInFull(t *testing.T) {
	gate := func(r *http.Request, _ feed.Address) (*http.Request, error) {
		switch r.URL.Query().Get("deny") {
		case "login":
			return nil, &protocol.Error{Code: protocol.Unauthenticated, Message: "log in", Header: http.Header{"www-authenticate": {"Bearer"}}}
		case "pay":
			return nil, &protocol.Error{Code: protocol.Denied, Message: "pay first", Status: http.StatusPaymentRequired}
		case "go":
			return nil, &protocol.Error{Message: "", Code: protocol.Denied, Status: http.StatusFound, Header: http.Header{"Location": {"/login"}}}
		case "mistake":
			return nil, &protocol.Error{Code: protocol.Denied, Message: "no", Status: 200}
		}
		return r, nil
	}
	n := newNode(t, protocol.Config{CORS: protocol.AnyOrigin(), BeforeConnect: gate, BeforeRequest: gate})
	for query, want := range map[string]struct {
		status      int
		body        string
		key, header string
	}{
		"login":   {401, "log in", "WWW-Authenticate", "Bearer"},
		"pay":     {402, "pay first", "", ""},
		"go":      {302, "", "Location", "/login"},
		"mistake": {403, "no", "", ""},
	} {
		plain := n.recorded("GET", "/agents/chat-agent/room-1/get-messages?deny="+query)
		require.Equal(t, want.status, plain.Code, query)
		require.Equal(t, want.body, plain.Body.String())
		require.Equal(t, "*", plain.Header().Get("Access-Control-Allow-Origin"), "a page may read why")
		upgrade := n.recorded("GET", "/agents/chat-agent/room-1?deny="+query, "Upgrade: websocket", "Connection: Upgrade")
		require.Equal(t, want.status, upgrade.Code)
		require.Equal(t, want.body, upgrade.Body.String())
		if want.key != "" {
			require.Equal(t, want.header, plain.Header().Get(want.key))
			require.Equal(t, want.header, upgrade.Header().Get(want.key))
		}
	}
}

// recorded asks without a network.
func (n *node) recorded(method, path string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, nil)
	for _, h := range header {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	n.h.ServeHTTP(w, req)
	return w
}

// A gate may send a request to another agent. Nobody is asked about that one.
func TestGatesRewritePaths(t *testing.T) {
	asked := 0
	gate := func(r *http.Request, a feed.Address) (*http.Request, error) {
		asked++
		if a.Name == "me" {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = strings.Replace(r.URL.Path, "/me", "/"+r.URL.Query().Get("user"), 1), ""
		}
		switch a.Name {
		case "in-place":
			r.URL.Path = "/agents/chat-agent/user-2"
		case "lost":
			r.URL.Path = "/elsewhere"
		case "nobody":
			r.URL.Path = "/agents/nope-agent/x"
		}
		return r, nil
	}
	n := newNode(t, protocol.Config{BeforeConnect: gate, BeforeRequest: gate})
	n.serve = func(w http.ResponseWriter, r *http.Request, a feed.Address, rest string) bool {
		io.WriteString(w, a.Name+" "+rest)
		return true
	}
	for path, want := range map[string]string{
		"/agents/chat-agent/me/files?user=user-1": "user-1 /files",
		"/agents/chat-agent/in-place":             "user-2 /",
		"/agents/chat-agent/other/a%2Fb/c/":       "other /a%2Fb/c",
		"/agents/chat-agent/me/x?user=me":         "me /x",
		"/agents/chat-agent/lost/x":               "404 page not found",
		"/agents/chat-agent/nobody/x":             "Invalid request",
	} {
		asked = 0
		_, body := n.do("GET", path)
		require.Equal(t, want, strings.TrimSpace(body), path)
		require.Equal(t, 1, asked, "once")
	}
	asked = 0
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(n.url(), "room-1", "me?user=user-3", 1), nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	_, frame, err := conn.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(frame), `"name":"user-3"`)
	require.Equal(t, 1, asked)
}

// Checklist 11, 12: get-messages is not the author's, other paths are, and what
// the author does not know is not there.
func TestPathsOfTheAgentsAuthor(t *testing.T) {
	n := newNode(t, protocol.Config{CORS: protocol.AnyOrigin()})
	n.messages = `[1]`
	n.serve = func(w http.ResponseWriter, r *http.Request, a feed.Address, rest string) bool {
		if rest != "/files" {
			return false
		}
		require.Equal(t, roomOne, a)
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, r.Method)
		return true
	}
	resp, body := n.do("PUT", "/agents/chat-agent/room-1/files")
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	require.Equal(t, "PUT", body)
	require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
	_, body = n.do("GET", "/agents/chat-agent/room-1/get-messages")
	require.Equal(t, `[1]`, body)
	resp, body = n.do("GET", "/agents/chat-agent/room-1/other")
	require.Equal(t, 404, resp.StatusCode)
	require.Equal(t, "Not implemented", body)
	resp, body = n.do("HEAD", "/agents/chat-agent/room-1/get-messages")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, int64(3), resp.ContentLength)
	require.Empty(t, body)
	resp, _ = n.do("OPTIONS", "/agents/chat-agent/room-1/files")
	require.Equal(t, 200, resp.StatusCode, "the author is not asked")
}

// C42: a page whose host's name was made to mean this machine names the node's
// port; what a proxy passes on does not.
func TestHostsOnLoopback(t *testing.T) {
	n := newNode(t, protocol.Config{OriginPatterns: []string{"dev.test:*"}})
	cors := newNode(t, protocol.Config{CORS: map[string]string{"Access-Control-Allow-Origin": "https://a.test"}})
	addr := n.srv.Listener.Addr().(*net.TCPAddr)
	for host, ok := range map[string]bool{
		addr.String():                 true,
		"localhost:PORT":              true,
		"LOCALHOST.:PORT":             true,
		"app.localhost:PORT":          true,
		"[::1]:PORT":                  true,
		"192.168.1.7:PORT":            true,
		"dev.test:PORT":               true,
		"app.example.com":             true, // of a proxy
		"app.example.com:8443":        true,
		"evil.example:PORT":           false,
		"localhost.evil.example:PORT": false,
		"127.0.0.1.evil.example:PORT": false,
	} {
		for _, n := range []*node{n, cors} {
			if n == cors && strings.HasPrefix(host, "dev.test") {
				continue
			}
			port := strconv.Itoa(n.srv.Listener.Addr().(*net.TCPAddr).Port)
			host := strings.ReplaceAll(strings.ReplaceAll(host, "PORT", port), strconv.Itoa(addr.Port), port)
			req, err := http.NewRequestWithContext(t.Context(), "GET", n.srv.URL+"/agents/chat-agent/room-1/get-messages", nil)
			require.NoError(t, err)
			req.Host = host
			resp, err := n.srv.Client().Do(req)
			require.NoError(t, err)
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			require.Equal(t, ok, resp.StatusCode == 200, "%s: %s", host, body)
			conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(n.srv.URL, "http")+"/agents/chat-agent/room-1", &websocket.DialOptions{Host: host, HTTPHeader: http.Header{"Origin": {"http://" + host}}})
			require.Equal(t, ok, err == nil, "%s: %v", host, err)
			if err == nil {
				conn.CloseNow()
				continue
			}
			require.Equal(t, 403, resp.StatusCode)
			require.Equal(t, `host "`+host+`" may not be used for this machine; to allow it, add it to OriginPatterns`, string(body))
		}
	}
}

// C42: a wildcard is told at start.
func TestLettingEveryPageInIsTold(t *testing.T) {
	var open, closed logText
	newNode(t, protocol.Config{OriginPatterns: []string{"*"}, Log: open.logger()})
	newNode(t, protocol.Config{OriginPatterns: []string{"*.example.com"}, Log: closed.logger()})
	require.Contains(t, open.String(), "setting=OriginPatterns")
	require.Empty(t, closed.String())
}

// A transcript that is not taken is given up after a while.
func TestAResponseThatIsNotReadIsCutOff(t *testing.T) {
	n := newNode(t, protocol.Config{WriteTimeout: 100 * time.Millisecond})
	n.messages = "[" + strings.Repeat(" ", 64<<20) + "]"
	n.srv.Close()
	n.srv = httptest.NewUnstartedServer(n.h)
	cut := make(chan struct{}, 1)
	n.srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			cut <- struct{}{}
		}
	}
	n.srv.Start()
	e := n.send("GET", agentPath+"/get-messages", "")
	require.Equal(t, 200, e.StatusCode)
	<-cut
	_, err := io.Copy(io.Discard, e.Body)
	require.Error(t, err)
}
