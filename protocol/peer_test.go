package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// author is what a scripted host has besides the chat.
type author struct {
	state   string // "": none
	connect func(context.Context, feed.Socket, *http.Request) (protocol.Peer, error)
	serve   func(http.ResponseWriter, *http.Request, feed.Address, string) bool
}

func (d *author) view(v feed.View) feed.View {
	if d.state != "" {
		v.State = []byte(d.state)
	}
	return v
}

func (d *author) Connect(ctx context.Context, _ feed.Address, s feed.Socket, r *http.Request) (protocol.Peer, error) {
	if d.connect == nil {
		return newPeer(s), nil
	}
	return d.connect(ctx, s, r)
}

func (d *author) Serve(w http.ResponseWriter, r *http.Request, a feed.Address, rest string) bool {
	return d.serve != nil && d.serve(w, r, a, rest)
}

// peer tells what it hears, and does what a test wants.
type peer struct {
	feed.Socket
	heard chan string

	terms  feed.Terms
	opened func(context.Context)
	state  func(string) error
	ctx    context.Context // of SetState
	call   func(context.Context, string, []json.RawMessage, func(json.RawMessage) error) (json.RawMessage, error)
}

func newPeer(s feed.Socket) *peer { return &peer{Socket: s, heard: make(chan string, 1000)} }

func (p *peer) Terms() feed.Terms { return p.terms }

func (p *peer) Opened(ctx context.Context) {
	if p.opened != nil {
		p.opened(ctx)
	}
	p.heard <- "opened"
}

func (p *peer) Message(_ context.Context, data []byte, binary bool) {
	p.heard <- fmt.Sprintf("message %t %s", binary, data)
}

func (p *peer) Closed(code int, reason string) {
	p.heard <- strings.TrimSpace(fmt.Sprintf("closed %d %s", code, reason))
	close(p.heard) // nothing may come after it
}

func (p *peer) SetState(ctx context.Context, state json.RawMessage) error {
	p.ctx = ctx
	if p.state != nil {
		return p.state(string(state))
	}
	return nil
}

func (p *peer) Call(ctx context.Context, method string, args []json.RawMessage, send func(json.RawMessage) error) (json.RawMessage, error) {
	if p.call != nil {
		return p.call(ctx, method, args, send)
	}
	return nil, nil
}

// meet makes the host's next sockets known to a peer, which is returned once a
// client has dialled.
func (n *node) meet(query string, shape func(*peer)) (*client, *peer) {
	n.t.Helper()
	met := make(chan *peer, 1)
	n.connect = func(_ context.Context, s feed.Socket, _ *http.Request) (protocol.Peer, error) {
		p := newPeer(s)
		if shape != nil {
			shape(p)
		}
		met <- p
		return p, nil
	}
	c := n.dial(query)
	return c, <-met
}

func TestTheAgentMeetsASocketBeforeItIsGreeted(t *testing.T) {
	n := newNode(t, protocol.Config{BeforeConnect: func(r *http.Request, _ feed.Address) (*http.Request, error) {
		return r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, "user-1")), nil
	}})
	n.state = `{"count":0}`
	n.mu.Lock() // View waits
	var request *http.Request
	n.connect = func(_ context.Context, s feed.Socket, r *http.Request) (protocol.Peer, error) {
		request = r
		p := newPeer(s)
		p.opened = func(context.Context) { s.Send([]byte("welcome"), false) }
		require.True(t, s.Send([]byte("early"), false))
		n.mu.Unlock()
		return p, nil
	}
	a := n.dial("?_pk=page&token=t")
	require.Equal(t, `{"agent":"chat-agent","name":"room-1","stateFollows":true,"type":"cf_agent_identity"}`, a.read())
	require.Equal(t, `{"state":{"count":0},"type":"cf_agent_state"}`, a.read())
	require.Contains(t, a.read(), "cf_agent_mcp_servers")
	require.Equal(t, "early", a.read())
	require.Equal(t, "welcome", a.read())
	require.Equal(t, "t", request.URL.Query().Get("token"))
	require.Equal(t, "user-1", request.Context().Value(http.ServerContextKey), "what a gate has found out is known")
	require.NoError(t, request.Context().Err())
}

func TestSocketsHaveNames(t *testing.T) {
	n := newNode(t, protocol.Config{})
	_, first := n.meet("?_pk=page", nil)
	_, second := n.meet("?_pk=page", nil)
	_, third := n.meet("", nil)
	require.Equal(t, "page", first.Key())
	require.Equal(t, "page", second.Key())
	require.NotEqual(t, first.ID(), second.ID())
	require.NotEmpty(t, third.Key())
}

// The room remembers the names of sockets that have gone.
func TestANameThatIsTooLong(t *testing.T) {
	n := newNode(t, protocol.Config{})
	_, resp, err := websocket.Dial(t.Context(), n.url()+"?_pk="+strings.Repeat("x", 257), nil)
	require.Error(t, err)
	require.Equal(t, 400, resp.StatusCode)
	said, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "Invalid request: _pk has 257 bytes, the limit is 256", string(said))
	n.dial("?_pk=" + strings.Repeat("x", 256)).greeted()
}

// Author's code that takes its time holds up nothing of the protocol.
func TestHooksOfASocketRunInOrder(t *testing.T) {
	n := newNode(t, protocol.Config{})
	let := make(chan struct{})
	a, p := n.meet("", func(p *peer) { p.opened = func(context.Context) { <-let } })
	a.greeted()
	for i := range 10 {
		a.send(fmt.Sprint("m", i))
	}
	require.NoError(t, a.Write(t.Context(), websocket.MessageBinary, []byte("bytes")))
	a.send(chat("r1", "hi"))
	require.Equal(t, "r1", (<-n.asked).(feed.Submit).Request)
	a.send(`{"type":"cf_agent_stream_resume_request"}`)
	require.Contains(t, a.read(), "resume_none")
	require.Empty(t, p.heard)
	require.NoError(t, a.Close(4001, "bye"))
	close(let)
	require.Equal(t, "opened", <-p.heard)
	for i := range 10 {
		require.Equal(t, fmt.Sprint("message false m", i), <-p.heard)
	}
	require.Equal(t, "message true bytes", <-p.heard)
	require.Equal(t, "closed 4001 bye", <-p.heard)
}

func TestClosedTellsHowASocketEnded(t *testing.T) {
	n := newNode(t, protocol.Config{MaxFrameBytes: 1000})
	for want, end := range map[string]func(*client, *peer){
		"closed 1000":                            func(c *client, _ *peer) { c.Close(websocket.StatusNormalClosure, "") },
		"closed 1005":                            func(c *client, _ *peer) { c.Close(websocket.StatusNoStatusRcvd, "") },
		"closed 4321 done":                       func(c *client, _ *peer) { c.Close(4321, "done") },
		"closed 1006":                            func(c *client, _ *peer) { c.CloseNow() },
		"closed 4002 out":                        func(c *client, p *peer) { p.Close(4002, "out"); _ = c.closed() },
		"closed 1001 gone":                       func(c *client, _ *peer) { n.put(roomOne, feed.Closing{Code: 1001, Reason: "gone"}); _ = c.closed() },
		"closed 1012 agent restarted, reconnect": func(c *client, _ *peer) { n.lose(roomOne); _ = c.closed() },
		"closed 1009 frame is over the limit of 1000 bytes": func(c *client, _ *peer) { c.send(strings.Repeat("x", 1001)); _ = c.closed() },
	} {
		c, p := n.meet("", nil)
		c.greeted()
		end(c, p)
		require.Equal(t, "opened", <-p.heard)
		require.Equal(t, want, <-p.heard)
	}
}

// The socket breaks while OnConnect still runs, and before it has begun.
func TestClosedComesLastAndOnce(t *testing.T) {
	n := newNode(t, protocol.Config{})
	let := make(chan struct{})
	a, p := n.meet("", func(p *peer) { p.opened = func(context.Context) { <-let } })
	a.greeted().CloseNow()
	close(let)
	require.Equal(t, "opened", <-p.heard)
	require.Equal(t, "closed 1006", <-p.heard)

	n.mu.Lock() // View waits
	b, p := n.meet("", nil)
	b.send("hello")
	require.NoError(t, b.Ping(b.CloseRead(t.Context())), "it has been read")
	b.CloseNow()
	n.mu.Unlock()
	require.Equal(t, "opened", <-p.heard)
	require.Equal(t, "message false hello", <-p.heard)
	require.Equal(t, "closed 1006", <-p.heard)
	require.False(t, p.Send([]byte("x"), false))
}

func TestAnAgentRefusesASocket(t *testing.T) {
	n := newNode(t, protocol.Config{})
	for _, c := range []struct {
		err    error
		code   websocket.StatusCode
		reason string
	}{
		{&protocol.Error{Code: protocol.Denied, Message: "not your room"}, 4403, "not your room"},
		{&protocol.Error{Code: protocol.Unauthenticated, Message: "who are you?"}, 4401, "who are you?"},
		{&protocol.Error{Code: protocol.Invalid, Message: "bad"}, websocket.StatusPolicyViolation, "bad"},
		{&protocol.Error{Code: protocol.Unavailable, Message: "later"}, websocket.StatusTryAgainLater, "later"},
		{errors.New("secret"), websocket.StatusInternalError, "internal error"},
	} {
		let := make(chan struct{})
		n.connect = func(context.Context, feed.Socket, *http.Request) (protocol.Peer, error) { <-let; return nil, c.err }
		a := n.dial("")
		a.send(chat("r1", "hi"))
		a.send(`{"type":"rpc","id":"1","method":"m","args":[]}`)
		a.send(`{"type":"cf_agent_state","state":1}`)
		a.send("hello")
		end := make(chan websocket.CloseError)
		go func() { end <- a.closed() }()
		require.NoError(t, a.Ping(t.Context()), "all has been read")
		close(let)
		ce := <-end
		require.Equal(t, c.code, ce.Code)
		require.Equal(t, c.reason, ce.Reason)
	}
	require.Empty(t, n.asked, "what it has sent is not done")
}

// An agent that cannot be woken: the socket is closed, and the peer released.
func TestClosedWithoutOpened(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.fail = &protocol.Error{Code: protocol.Unavailable, Message: "store is down"}
	a, p := n.meet("", nil)
	a.send("hello")
	a.send(`{"type":"rpc","id":"1","method":"m","args":[]}`)
	require.Equal(t, websocket.StatusTryAgainLater, a.closed().Code)
	require.Equal(t, "closed 1013 store is down", <-p.heard)
}

var notOfTheProtocol = []string{
	"not json", "", "{}", "[]", "null", "123", `"x"`, `{"type":5}`, `{"Type":"cf_agent_chat_clear"}`, `{"type":"unknown_type","x":1}`,
	`{"type":"cf_agent_state"}`, `{"type":"cf_agent_state","State":1}`,
	`{"type":"rpc","id":"1","method":"add"}`, `{"type":"rpc","id":"1","args":[]}`, `{"type":"rpc","method":"add","args":[]}`,
	`{"type":"rpc","id":1,"method":"add","args":[]}`, `{"type":"rpc","id":"1","method":1,"args":[]}`, `{"type":"rpc","id":"1","method":"add","args":{}}`,
	`{"type":"cf_agent_use_chat_request","id":"m1","init":{"method":"GET"}}`,
	`{"type":"cf_agent_use_chat_request","id":"m2"}`,
	`{"type":"cf_agent_use_chat_request","id":"m2","init":"POST"}`,
	// What a node sends.
	`{"type":"cf_agent_identity","name":"x"}`, `{"type":"cf_agent_mcp_servers"}`, `{"type":"cf_agent_use_chat_response","id":"x","body":"","done":true}`,
	`{"type":"cf_agent_stream_resuming","id":"x"}`, `{"type":"cf_agent_stream_pending"}`, `{"type":"cf_agent_stream_resume_none"}`,
	`{"type":"cf_agent_state_error","error":"x"}`, `{"type":"cf_agent_chat_recovering"}`, `{"type":"cf_agent_message_updated"}`, `{"type":"agent-tool-event"}`,
}

var ofTheChat = []string{
	chat("r1", "hi"), `{"type":"cf_agent_chat_clear"}`, `{"type":"cf_agent_chat_request_cancel","id":"r1"}`, `{"type":"cf_agent_chat_messages","messages":[]}`,
	`{"type":"cf_agent_stream_resume_request"}`, `{"type":"cf_agent_stream_resume_ack","id":"x"}`, `{"type":"cf_agent_tool_result"}`, `{"type":"cf_agent_tool_approval"}`,
}

// Checklist A 1-4: what is none of the protocol's is the author's, as it came.
func TestFramesOfTheAuthor(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a, p := n.meet("", nil)
	a.greeted()
	require.Equal(t, "opened", <-p.heard)
	for _, frame := range notOfTheProtocol {
		a.send(frame)
		require.Equal(t, "message false "+frame, <-p.heard)
	}
	frame := chat("r1", "hi")
	require.NoError(t, a.Write(t.Context(), websocket.MessageBinary, []byte(frame)))
	require.Equal(t, "message true "+frame, <-p.heard, "also if its bytes are a frame")
	require.Empty(t, n.asked)
}

func TestFramesOfTheChatAreNotTheAuthors(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a, p := n.meet("", nil)
	a.greeted()
	for _, frame := range append(ofTheChat, `{"type":"cf_agent_use_chat_request","id":"m5","init":{"method":"POST","body":"{bad"}}`) {
		a.send(frame)
	}
	a.send("last")
	require.Equal(t, "opened", <-p.heard)
	require.Equal(t, "message false last", <-p.heard)
}

// An agent that does not chat has none of its frames.
func TestPlainAgent(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.plain, n.messages = true, ""
	a, p := n.meet("", nil)
	a.greeted()
	require.Equal(t, "opened", <-p.heard)
	for _, frame := range ofTheChat {
		a.send(frame)
		require.Equal(t, "message false "+frame, <-p.heard)
	}
	require.Empty(t, n.asked)
	resp, body := n.do("GET", "/agents/chat-agent/room-1/get-messages")
	require.Equal(t, 404, resp.StatusCode)
	require.Equal(t, "Not implemented", body)
}

// A hook that hangs costs a bounded number of frames, and then its client waits.
func TestFramesOfTheAuthorAreHeldBack(t *testing.T) {
	n := newNode(t, protocol.Config{MaxFrameBytes: 4 << 10})
	let := make(chan struct{})
	a, p := n.meet("", func(p *peer) { p.opened = func(context.Context) { <-let } })
	a.greeted()
	const frames = 900 // fewer than the peer's channel holds, more than may wait
	go func() {
		for i := range frames {
			if i == frames/2 {
				close(let)
			}
			a.send(fmt.Sprintf("%d %s", i, strings.Repeat("x", 1<<10)))
		}
	}()
	require.Equal(t, "opened", <-p.heard)
	for i := range frames {
		require.Contains(t, <-p.heard, fmt.Sprintf("message false %d x", i))
	}
}
