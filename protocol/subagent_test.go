package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

const rootPath = "/agents/chat-agent/room-1"

// The path behind the root is read from left to right, at any depth.
func TestPathsOfSubAgents(t *testing.T) {
	const root = "ChatAgent/room-1"
	for path, want := range map[string]struct {
		entered []string
		name    string // of the agent that a socket is connected to
	}{
		rootPath + "/sub/helper-agent/h1":                              {[]string{root + "/sub/HelperAgent/h1"}, "h1"},
		rootPath + "/sub/helper-agent/h1/any/tail":                     {[]string{root + "/sub/HelperAgent/h1"}, "h1"},
		rootPath + "/base/sub/helper-agent/h1":                         {[]string{root + "/sub/HelperAgent/h1"}, "h1"},
		rootPath + "/sub/sub/helper-agent/h1":                          {[]string{root + "/sub/HelperAgent/h1"}, "h1"},
		rootPath + "/sub/nope/x/sub/helper-agent/h1":                   {[]string{root + "/sub/HelperAgent/h1"}, "h1"},
		rootPath + "/sub/helper-agent/%ff/sub/helper-agent/h1":         {[]string{root + "/sub/HelperAgent/h1"}, "h1"},
		rootPath + "/sub/helper-agent/agent-tool%3Acall_1":             {[]string{root + "/sub/HelperAgent/agent-tool:call_1"}, "agent-tool:call_1"},
		rootPath + "/sub/helper-agent/a%2Fsub%2Fb%20%C3%A9":            {[]string{root + "/sub/HelperAgent/a%2Fsub%2Fb%20%C3%A9"}, "a/sub/b é"},
		rootPath + "/sub/helper-agent/sub/sub/chat-agent/x":            {[]string{root + "/sub/HelperAgent/sub", root + "/sub/HelperAgent/sub/sub/ChatAgent/x"}, "x"},
		"/agents/chat-agent/sub/sub/helper-agent/h1":                   {[]string{"ChatAgent/sub/sub/HelperAgent/h1"}, "h1"},
		"/agents/chat-agent/sub":                                       {nil, "sub"},
		rootPath + "/sub":                                              {nil, "room-1"},
		rootPath + "/sub/helper-agent":                                 {nil, "room-1"},
		rootPath + "/subway/helper-agent/h1":                           {nil, "room-1"},
		rootPath + "//sub//helper-agent//h1//":                         {[]string{root + "/sub/HelperAgent/h1"}, "h1"},
		rootPath + "/sub/helper-agent/h1/sub/helper-agent/h1/x?token=": {[]string{root + "/sub/HelperAgent/h1", root + "/sub/HelperAgent/h1/sub/HelperAgent/h1"}, "h1"},
	} {
		n := newNode(t, protocol.Config{})
		n.entered = nil
		_, frame, err := n.dialPath(path).Read(t.Context())
		require.NoError(t, err, path)
		require.Contains(t, string(frame), `"name":"`+want.name+`"`, path)
		require.Equal(t, want.entered, n.entered, path)
	}
}

func (n *node) dialPath(path string) *client {
	n.t.Helper()
	conn, _, err := websocket.Dial(n.t.Context(), "ws"+strings.TrimPrefix(n.srv.URL, "http")+path, nil)
	require.NoError(n.t, err)
	n.t.Cleanup(func() { conn.CloseNow() })
	return &client{conn, n.t}
}

// A socket to a sub-agent is one of the sub-agent alone: nothing reaches it from
// the parent, nor the parent from it. (chat.md 11, 14)
func TestASubAgentHasItsOwnRoom(t *testing.T) {
	n := newNode(t, protocol.Config{})
	child := roomOne.Child("HelperAgent", "h 1")
	parentTab := n.dial("").greeted()
	childTab := n.dialPath(rootPath + "/sub/helper-agent/h%201")
	require.Equal(t, `{"agent":"helper-agent","name":"h 1","type":"cf_agent_identity"}`, childTab.read())
	childTab.read()
	n.put(roomOne, feed.Recovery{On: true, Request: "of-the-parent"})
	n.put(child, feed.Recovery{On: true, Request: "of-the-child"})
	require.Contains(t, parentTab.read(), "of-the-parent")
	require.Contains(t, childTab.read(), "of-the-child")
}

func TestAGateRefuses(t *testing.T) {
	n := newNode(t, protocol.Config{CORS: protocol.AnyOrigin()})
	n.enter = func(r *http.Request, parent, child feed.Address) error {
		switch child.Name {
		case "forbidden":
			return &protocol.Error{Code: protocol.Denied, Message: "no"}
		case "payment":
			return &protocol.Error{Code: protocol.Denied, Status: http.StatusPaymentRequired, Message: "pay first"}
		case "boom":
			return &protocol.Error{Code: protocol.Internal, Message: "oops"}
		case "later":
			return &protocol.Error{Code: protocol.Unavailable, Message: "not yet"}
		case "secret":
			return errors.New("secret")
		case "panic":
			panic("secret")
		}
		return nil
	}
	for path, want := range map[string]struct {
		status int
		body   string
		close  websocket.StatusCode
	}{
		"/sub/helper-agent/forbidden":                         {403, "no", 4403},
		"/sub/helper-agent/payment":                           {402, "pay first", 4402},
		"/sub/helper-agent/boom":                              {500, "oops", 1011},
		"/sub/helper-agent/later":                             {503, "not yet", 1011},
		"/sub/helper-agent/secret":                            {500, "internal error", 1011},
		"/sub/helper-agent/panic":                             {500, "internal error", 1011},
		"/sub/helper-agent/ok/sub/helper-agent/forbidden":     {403, "no", 4403},
		"/sub/nope-agent/x":                                   {404, "Not Found", 4404},
		"/sub/helper-agent/ok/sub/nope-agent/x":               {404, "Not Found", 4404},
		"/sub/helper-agent/%ff":                               {404, "Not Found", 4404},
		"/sub/helper-agent/a%00b":                             {400, "Bad Request", 4400},
		"/sub/helper-agent/" + strings.Repeat("%41", 513):     {400, "Invalid request: the sub-agent's name has more than 512 bytes", 4400},
		"/sub/helper-agent/" + strings.Repeat("x", 512) + "/": {200, "[]", 0},
		strings.Repeat("/sub/helper-agent/x", 32):             {200, "[]", 0},
		strings.Repeat("/sub/helper-agent/x", 33):             {400, "Invalid request: the path leads down more than 32 sub-agents", 4400},
	} {
		resp, body := n.do("GET", rootPath+path+"/get-messages")
		require.Equal(t, want.status, resp.StatusCode, path)
		require.Equal(t, want.body, body, path)
		require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"), path)
		if want.close == 0 {
			continue
		}
		ce := n.dialPath(rootPath + path).closed()
		require.Equal(t, want.close, ce.Code, path)
		require.Equal(t, fmt.Sprintf("Sub-agent connection rejected (%d)", want.status), ce.Reason, path)
	}
}

// The first gate that refuses is the last that is asked; the gates of the root come
// before all. (C43)
func TestGatesAreAskedFromTheRootDown(t *testing.T) {
	var asked []feed.Address
	n := newNode(t, protocol.Config{BeforeRequest: func(r *http.Request, a feed.Address) (*http.Request, error) {
		asked = append(asked, a)
		if r.URL.Query().Has("deny") {
			return nil, &protocol.Error{Code: protocol.Denied, Message: "denied"}
		}
		return r, nil
	}})
	const path = rootPath + "/sub/helper-agent/a/sub/helper-agent/b/get-messages"
	n.do("GET", path+"?deny")
	require.Equal(t, []feed.Address{roomOne}, asked)
	require.Empty(t, n.entered)
	n.enter = func(*http.Request, feed.Address, feed.Address) error {
		return &protocol.Error{Code: protocol.Denied, Message: "no"}
	}
	n.do("GET", path)
	require.Equal(t, []string{"ChatAgent/room-1/sub/HelperAgent/a"}, n.entered)
}

// Paths of the author's own lead to sub-agents, too.
func TestSubAgentsBelowPathsOfTheAuthor(t *testing.T) {
	n := newNode(t, protocol.Config{Paths: func(r *http.Request) (feed.Address, string, bool) {
		rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/custom")
		return roomOne, rest, ok
	}})
	n.do("GET", "/custom/sub/helper-agent/h1/get-messages")
	require.Equal(t, []string{"ChatAgent/room-1/sub/HelperAgent/h1"}, n.entered)
}

// A deleted agent's sockets are told all that is due to them and closed with a code
// after which clients come back; what they have sent is not for a successor.
func TestClosingEndsAllSockets(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a, b := n.dial("").greeted(), n.dial("").greeted()
	held, entered := make(chan struct{}), make(chan string, 2)
	n.submit = func(_ context.Context, s feed.Submit) error {
		entered <- s.Request
		<-held
		return nil
	}
	a.send(chat("r1", "to the old one"))
	<-entered
	a.send(chat("r2", "late"))
	frames, closes := make(chan string, 1), make(chan websocket.CloseError, 1)
	go func() {
		frames <- a.read()
		closes <- a.closed()
	}()
	require.NoError(t, a.Ping(t.Context()), "the frame before it was read")
	n.put(roomOne, feed.Recovery{On: true, Request: "last words"}, feed.Closing{Code: 1001, Reason: "Agent deleted"})
	close(held)
	require.Contains(t, <-frames, "last words")
	require.Contains(t, b.read(), "last words")
	for _, ce := range []websocket.CloseError{<-closes, b.closed()} {
		require.Equal(t, websocket.StatusGoingAway, ce.Code)
		require.Equal(t, "Agent deleted", ce.Reason)
	}
	require.NoError(t, n.h.Close(t.Context()), "what was read has been worked on")
	require.Empty(t, entered)
}
