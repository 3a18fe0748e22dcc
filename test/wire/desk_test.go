package wire

import (
	"context"
	"strings"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/test/client"
)

// echoed is what a StateAgent says of frames that are none of the protocol's.
func echoed(f *client.Frame) bool { return f.Type == "user-onMessage" }

func calls(s *stage) {
	p := s.agent("state-agent", "s25")
	a, b := s.open("A", p), s.open("B", p)
	for _, c := range []struct {
		id, method string
		args       []any
	}{
		{"1", "add", []any{2, 3}}, {"2", "fail", nil}, {"3", "nothing", nil}, {"4", "missing", nil}, {"5", "notCallable", nil},
		{"6", "count", []any{3}}, {"7", "countErr", nil}, {"8", "countThrow", nil}, {"9", "bump", nil}, {"10", "add", []any{1}},
	} {
		a.Send(client.Call(c.id, c.method, c.args...))
		a.Wait("the end of call "+c.id, client.Returned(c.id))
	}
	a.Send(client.Call("11", "slow"))
	a.Send(client.Call("12", "add", 4, 4))
	a.Wait("the end of the slow call", client.Returned("11"))
	a.SendRaw(websocket.MessageText, []byte(`{"type":"rpc","id":"13","method":"add"}`))
	a.SendRaw(websocket.MessageText, []byte(`{"type":"rpc","method":"add","args":[]}`))
	a.WaitN(2, "what is no call", echoed)
	s.settleCalls(a, b)
}

func state(s *stage) {
	p := s.agent("state-agent", "s26")
	a, b := s.open("A", p), s.open("B", p)
	readonly, quiet := s.open("RO", p+"?readonly=1"), s.openDeaf("NP", p+"?noproto=1")
	type counter struct {
		Count int `json:"count"`
	}
	set := func(c *client.Conn, n int) {
		c.Send(client.SetState(counter{n}))
		s.settleCalls(c, a, b, readonly, quiet)
	}
	call := func(c *client.Conn, id string) {
		c.Send(client.Call(id, "bump"))
		c.Wait("the end of call "+id, client.Returned(id))
		s.settleCalls(a, b, readonly, quiet)
	}
	set(a, 5)
	set(a, -1)
	set(readonly, 9)
	call(a, "s1")
	call(readonly, "s2")
	set(quiet, 70)
	a.SendRaw(websocket.MessageText, []byte(`{"type":"cf_agent_state"}`))
	a.Wait("what is no state", echoed)
	s.settleCalls(a, b, readonly, quiet)
	s.drop(a)
	s.settleCalls(s.openAs("A2", "A", p))
}

func malformed(s *stage) {
	p := s.room("s27")
	a := s.open("A", p)
	for _, frame := range []string{
		"not json", "{}", "[]", "null", "123", `{"type":"unknown_type","x":1}`,
		`{"type":"cf_agent_use_chat_request","id":"m1","init":{"method":"GET"}}`,
		`{"type":"cf_agent_use_chat_request","id":"m2","init":{"method":"POST"}}`,
		`{"type":"cf_agent_use_chat_request","id":"m3","init":{"method":"POST","body":"{bad"}}`,
		`{"type":"cf_agent_use_chat_request","id":"m4"}`,
		`{"type":"cf_agent_use_chat_request","id":"m5","init":{"method":"POST","body":"{}"}}`,
		`{"type":"cf_agent_tool_result"}`, `{"type":"cf_agent_tool_approval","toolCallId":"zz","approved":true}`,
		`{"type":"cf_agent_stream_resume_ack"}`, `{"type":"cf_agent_chat_request_cancel"}`,
	} {
		a.SendRaw(websocket.MessageText, []byte(frame))
	}
	a.SendRaw(websocket.MessageBinary, []byte{1, 2, 3})
	s.settle(p, a)
	s.messages(p)

	q := s.agent("state-agent", "s27")
	watcher := s.open("S", q)
	watcher.SendRaw(websocket.MessageText, []byte("hello text"))
	watcher.SendRaw(websocket.MessageBinary, []byte{1, 2})
	watcher.SendRaw(websocket.MessageText, []byte(`{"type":"whatever"}`))
	watcher.WaitN(3, "all that was said", echoed)
	for i, size := range []struct {
		name  string
		bytes int
		fits  bool
	}{{"O0.9", 943718, true}, {"O2", 2 << 20, true}, {"O33", 33 << 20, false}} {
		c := s.open(size.name, q)
		// The large one breaks off: the node does not read on.
		_ = c.TrySend(context.Background(), client.SetState(map[string]any{"count": 1, "pad": strings.Repeat("x", size.bytes)}))
		if size.fits {
			watcher.WaitN(i+2, "the state", client.OfType(client.State))
			s.settleCalls(c)
			s.drop(c)
		} else {
			c.WaitClosed()
		}
	}
	s.settleCalls(watcher)
}

// serverTurn is one that a program begins.
func serverTurn(s *stage) {
	p := s.room("s28")
	a, b := s.open("A", p), s.open("B", p)
	b.Send(client.Call("t1", "triggerServerTurn", "script:text from server"))
	b.Wait("the end of the call", client.Returned("t1"))
	s.settle(p, a, b)
	s.messages(p)
}
