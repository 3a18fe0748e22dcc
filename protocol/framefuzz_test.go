package protocol

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// FuzzFrames hands a session whatever a client may send, and checks that nothing
// panics or hangs, that it is answered at most once, with a frame that is not much
// larger, and that it reaches either the agent or the author, once at most, the
// author as it came.
func FuzzFrames(f *testing.F) {
	for _, frame := range []string{
		``, ` `, `null`, `{}`, `[]`, `"x"`, `{"type":null}`, `{"type":"x"}`, `{"Type":"rpc"}`, "\xff", strings.Repeat("[", 100), strings.Repeat(`{"a":`, 100),
		`{"type":"cf_agent_state"}`, `{"type":"cf_agent_state","state":{"a":[1,null]}}`, `{"type":"cf_agent_state","state":"refuse"}`,
		`{"type":"rpc","id":"1","method":"m","args":[1,"2",{"a":[]}]}`, `{"type":"rpc","id":"1","method":"stream","args":[]}`, `{"type":"rpc","id":1,"method":"m","args":[]}`,
		`{"type":"rpc","id":"` + strings.Repeat("\\u0001", 300) + `","method":"m","args":[]}`, `{"type":"rpc","id":"1","method":"m","args":[` + strings.Repeat("0,", 100) + `0]}`,
		`{"type":"cf_agent_use_chat_request","id":"r1","init":{"method":"POST","body":"{\"messages\":[{\"id\":\"u1\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"hi\"}]}],\"trigger\":\"submit-message\",\"clientTools\":[],\"x\":1}"}}`,
		`{"type":"cf_agent_use_chat_request","id":"r1","init":{"method":"POST","body":"{\"messages\":[{\"id\":7}]}"}}`,
		`{"type":"cf_agent_use_chat_request","id":"r1","init":{"method":"GET"}}`, `{"type":"cf_agent_use_chat_request","id":"r1","init":{"method":"POST","body":7}}`,
		`{"type":"cf_agent_chat_request_cancel","id":"r1"}`, `{"type":"cf_agent_chat_clear"}`, `{"type":"cf_agent_chat_messages","messages":[{"id":"u1","role":"user","parts":[]}]}`,
		`{"type":"cf_agent_stream_resume_request","probeId":"p\u0000"}`, `{"type":"cf_agent_stream_resume_ack","id":"r1"}`, `{"type":"cf_agent_tool_result"}`,
		`{"type":"cf_agent_tool_result","toolCallId":"k1","toolName":"","output":{"a":[1]},"autoContinue":true,"clientTools":[{"name":"x"}]}`,
		`{"type":"cf_agent_tool_result","toolCallId":"k1","state":"output-error","errorText":"no"}`, `{"type":"cf_agent_tool_result","toolCallId":"k\ud800","clientTools":null}`,
		`{"type":"cf_agent_tool_approval","toolCallId":"k1","approved":true,"autoContinue":true,"reason":"ok"}`, `{"type":"cf_agent_tool_approval","toolCallId":"k1","approved":1}`,
		`{"type":"cf_agent_tool_approval","toolCallId":"` + strings.Repeat("k", 2000) + `","approved":false}`,
	} {
		f.Add([]byte(frame), false, false)
		f.Add([]byte(frame), false, true)
		f.Add([]byte(frame), true, false)
	}
	f.Fuzz(func(t *testing.T, frame []byte, binary, plain bool) {
		host := &countingHost{plain: plain}
		h, err := New(Config{Host: host, MaxFrameBytes: 1 << 20})
		require.NoError(t, err)
		host.h = h
		a := feed.Address{Class: "C", Name: "n"}
		s := newSession(h, a, "pk")
		require.True(t, h.admit(&s.guest, a, 2))
		s.connect(httptest.NewRequest(http.MethodGet, "/agents/c/n", nil))
		for greeting := true; greeting; {
			batch, _ := s.room.take(s.seat, nil)
			greeting = len(batch) > 0
		}
		sent := string(frame)
		if do := s.decode(frame, binary); do != nil {
			do()
		}
		s.noteEnd(context.Canceled)
		s.hangUp()
		h.exit() // there is neither a reader nor a writer
		h.exit()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, h.Close(ctx), "what was asked for ends")
		checkReplies(t, s, host, len(frame))
		require.LessOrEqual(t, host.asked+len(host.messages), 1)
		require.Equal(t, 1, host.closed)
		for _, m := range host.messages {
			require.Equal(t, sent, m)
		}
		if binary {
			require.Len(t, host.messages, 1)
		}
	})
}

func checkReplies(t *testing.T, s *session, host *countingHost, size int) {
	replies := 0
	for {
		batch, _ := s.room.take(s.seat, nil)
		if len(batch) == 0 {
			break
		}
		for _, o := range batch {
			replies++
			require.True(t, json.Valid(o.frame), "%s", o.frame)
			require.LessOrEqual(t, len(o.frame), 12*size+256) // a quoted control character in a quoted text
		}
	}
	require.LessOrEqual(t, replies, 1+host.streamed)
}

// countingHost runs one agent, which takes everything but a few states.
type countingHost struct {
	Host
	h     *Handler
	plain bool

	asked    int // commands, states and calls; one at a time, by the frame
	streamed int
	messages []string
	closed   int
}

func (c *countingHost) Chats(string) bool { return !c.plain }

func (c *countingHost) Connect(context.Context, feed.Address, feed.Socket, *http.Request) (Peer, error) {
	return countingPeer{c}, nil
}

func (c *countingHost) View(_ context.Context, a feed.Address, ask uint64) error {
	c.h.Room(a).Put(feed.View{Ask: ask})
	return nil
}

func (c *countingHost) command() error { c.asked++; return nil }

func (c *countingHost) Submit(context.Context, feed.Address, feed.Submit) error { return c.command() }

func (c *countingHost) Cancel(context.Context, feed.Address, string) error { return c.command() }

func (c *countingHost) Clear(context.Context, feed.Address, string, string) error { return c.command() }

func (c *countingHost) SetMessages(context.Context, feed.Address, string, []uimessage.Message) error {
	return c.command()
}

func (c *countingHost) Answer(_ context.Context, _ feed.Address, a feed.Answer) error {
	if a.Call == "" || a.Failed == (a.Output != nil) || a.Output != nil && !json.Valid(a.Output) {
		panic("half an answer")
	}
	return c.command()
}

func (c *countingHost) Approve(context.Context, feed.Address, feed.Approval) error {
	return c.command()
}

// countingPeer is its only socket.
type countingPeer struct{ *countingHost }

func (c countingPeer) Terms() feed.Terms      { return feed.Terms{} }
func (c countingPeer) Opened(context.Context) {}
func (c countingPeer) Closed(int, string)     { c.closed++ }

func (c countingPeer) Message(_ context.Context, data []byte, _ bool) {
	c.messages = append(c.messages, string(data))
}

func (c countingPeer) SetState(_ context.Context, state json.RawMessage) error {
	c.asked++
	if string(state) == `"refuse"` {
		return invalid("refused")
	}
	return nil
}

func (c countingPeer) Call(_ context.Context, method string, args []json.RawMessage, send func(json.RawMessage) error) (json.RawMessage, error) {
	c.asked++
	if method == "stream" {
		c.streamed++
		return nil, send(json.RawMessage("1"))
	}
	if len(args) > 0 {
		return args[0], nil
	}
	return nil, invalid("Method " + method + " does not exist")
}
