package protocol_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

var roomOne = feed.Address{Class: "ChatAgent", Name: "room-1"}

// scriptedHost stands for the agents: it puts the feed items that a test tells
// it to, and hands what clients ask for to the test.
type scriptedHost struct {
	h     *protocol.Handler
	asked chan any // feed.Submit, or what the other commands were given

	mu       sync.Mutex // one item at a time
	loaded   map[feed.Address]bool
	messages string
	fail     error // of View
	refusal  error // of answers
	calls    string
	onAnswer chan struct{} // if set, answers are decided when it says so
	viewed   func()        // behind the next View; mu is held
	submit   func(context.Context, feed.Submit) error
	await    func(context.Context, string) (protocol.Outcome, error)
	stored   map[string]string // messages by id
	plain    bool              // the agents do not chat

	author
	enter   func(r *http.Request, parent, child feed.Address) error
	entered []string // paths of the sub-agents that gates were asked about
}

type (
	cancelled string
	cleared   struct{ by, key string }
	messages  struct {
		by   string
		list []uimessage.Message
	}
)

func (s *scriptedHost) Class(segment string) (string, bool) {
	class, ok := map[string]string{"chat-agent": "ChatAgent", "helper-agent": "HelperAgent"}[segment]
	return class, ok
}

func (s *scriptedHost) put(a feed.Address, items ...feed.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(a, items...)
}

func (s *scriptedHost) putLocked(a feed.Address, items ...feed.Item) {
	sink := s.h.Room(a)
	if !s.loaded[a] {
		s.loaded[a] = true
		sink.Put(feed.Loaded{})
	}
	for _, it := range items {
		sink.Put(it)
	}
}

func (s *scriptedHost) View(_ context.Context, a feed.Address, ask uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.putLocked(a, s.author.view(feed.View{Ask: ask, Messages: []byte(s.messages)}))
	if s.viewed != nil {
		s.viewed()
	}
	return nil
}

func (s *scriptedHost) Transcript(context.Context, feed.Address) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []byte(s.messages), s.fail
}

func (s *scriptedHost) Submit(ctx context.Context, _ feed.Address, sub feed.Submit) error {
	if s.submit != nil {
		return s.submit(ctx, sub)
	}
	s.asked <- sub
	return nil
}

func (s *scriptedHost) Cancel(_ context.Context, _ feed.Address, request string) error {
	s.asked <- cancelled(request)
	return nil
}

func (s *scriptedHost) Clear(_ context.Context, _ feed.Address, by, key string) error {
	s.asked <- cleared{by, key}
	return nil
}

func (s *scriptedHost) SetMessages(_ context.Context, _ feed.Address, by string, list []uimessage.Message) error {
	s.asked <- messages{by, list}
	return nil
}

func (s *scriptedHost) Answer(_ context.Context, _ feed.Address, answer feed.Answer) error {
	s.asked <- answer
	return s.decided()
}

func (s *scriptedHost) Approve(_ context.Context, _ feed.Address, approval feed.Approval) error {
	s.asked <- approval
	return s.decided()
}

func (s *scriptedHost) decided() error {
	if s.onAnswer != nil {
		<-s.onAnswer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal
}

// refuses makes err the answer to all answers from here on.
func (s *scriptedHost) refuses(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = err
}

func (s *scriptedHost) Calls(context.Context, feed.Address) ([]byte, error) {
	return []byte(cmp.Or(s.calls, "[]")), s.fail
}

func (s *scriptedHost) Chats(string) bool { return !s.plain }

func (s *scriptedHost) Enter(_ context.Context, r *http.Request, parent, child feed.Address) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entered = append(s.entered, child.Path())
	if s.enter == nil {
		return nil
	}
	return s.enter(r, parent, child)
}

func (s *scriptedHost) Message(_ context.Context, _ feed.Address, id string) ([]byte, error) {
	if m, ok := s.stored[id]; ok {
		return []byte(m), nil
	}
	return nil, &protocol.Error{Code: protocol.NotFound, Message: "Not Found"}
}

func (s *scriptedHost) Await(ctx context.Context, _ feed.Address, request string) (protocol.Outcome, error) {
	if s.await != nil {
		return s.await(ctx, request)
	}
	return protocol.Outcome{}, &protocol.Error{Code: protocol.NotFound, Message: "Not Found"}
}

// node is a handler behind a real server.
type node struct {
	*scriptedHost
	t   testing.TB
	srv *httptest.Server
}

func newNode(t testing.TB, cfg protocol.Config) *node {
	host := &scriptedHost{asked: make(chan any, 16), loaded: map[feed.Address]bool{}, messages: "[]"}
	if cfg.Host == nil {
		cfg.Host = host
	}
	h, err := protocol.New(cfg)
	require.NoError(t, err)
	host.h = h
	n := &node{host, t, httptest.NewServer(h)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, h.Close(ctx))
		n.srv.Close()
	})
	return n
}

// client is a real socket.
type client struct {
	*websocket.Conn
	t testing.TB
}

func (n *node) dial(query string) *client {
	n.t.Helper()
	// A small receive buffer, so that a client that does not read is soon felt.
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return conn, err
	}}
	conn, _, err := websocket.Dial(n.t.Context(), n.url()+query, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	require.NoError(n.t, err)
	conn.SetReadLimit(-1)
	n.t.Cleanup(func() { conn.CloseNow() })
	return &client{conn, n.t}
}

func (n *node) url() string {
	return "ws" + strings.TrimPrefix(n.srv.URL, "http") + "/agents/chat-agent/room-1"
}

func (c *client) send(frame string) {
	c.t.Helper()
	require.NoError(c.t, c.Write(c.t.Context(), websocket.MessageText, []byte(frame)))
}

func (c *client) read() string {
	c.t.Helper()
	_, frame, err := c.Read(c.t.Context())
	require.NoError(c.t, err)
	return string(frame)
}

// closed reads until the socket is closed, and returns how.
func (c *client) closed() websocket.CloseError {
	c.t.Helper()
	for {
		if _, _, err := c.Read(c.t.Context()); err != nil {
			var ce websocket.CloseError
			require.ErrorAs(c.t, err, &ce)
			return ce
		}
	}
}

// greeted reads the connect sequence of an idle agent without messages.
func (c *client) greeted() *client {
	c.t.Helper()
	require.Contains(c.t, c.read(), "cf_agent_identity")
	require.Contains(c.t, c.read(), "cf_agent_mcp_servers")
	return c
}

func chat(id, text string) string {
	body, _ := json.Marshal(map[string]any{
		"messages": []any{map[string]any{"id": "u1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": text}}}},
		"trigger":  "submit-message",
	})
	frame, _ := json.Marshal(map[string]any{
		"id": id, "type": "cf_agent_use_chat_request",
		"init": map[string]any{"method": "POST", "body": string(body)},
	})
	return string(frame)
}

func delta(seq int, text string) feed.Chunk {
	return feed.Chunk{Seq: uint64(seq), Body: fmt.Appendf(nil, `{"type":"text-delta","id":"t","delta":%q}`, text)}
}
