package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestTurnOverRealSocket(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("?_pk=a").greeted()
	a.send(`{"type":"cf_agent_stream_resume_request","probeId":"p1"}`)
	require.Equal(t, `{"probeId":"p1","reason":"idle","type":"cf_agent_stream_resume_none"}`, a.read())
	a.send(chat("r1", "hi"))
	sub := (<-n.asked).(feed.Submit)
	require.Equal(t, "r1", sub.Request)
	require.False(t, sub.Regenerate)
	require.Nil(t, sub.Body)
	require.Nil(t, sub.ClientTools)
	n.put(roomOne, feed.Accepted{Request: "r1"}, feed.Opened{Request: "r1"}, delta(0, "Hel"), delta(1, "lo"),
		feed.Closed{Request: "r1"}, feed.Transcript{Messages: []byte(`[1]`), Request: "r1"},
		feed.Ended{Request: "r1", Outcome: feed.Completed, MessageIDs: []string{"u1"}})
	require.Equal(t, `{"body":"{\"type\":\"text-delta\",\"id\":\"t\",\"delta\":\"Hel\"}","done":false,"id":"r1","seq":0,"type":"cf_agent_use_chat_response"}`, a.read())
	a.read()
	require.Equal(t, `{"body":"","done":true,"id":"r1","messageIds":["u1"],"type":"cf_agent_use_chat_response"}`, a.read())
}

func TestCommandsReachTheHost(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("").greeted()

	a.send(`{"type":"cf_agent_use_chat_request","id":"r1","init":{"method":"POST","body":"{\"messages\":[],\"trigger\":\"regenerate-message\",\"clientTools\":[{\"name\":\"t\"}],\"tz\":\"CET\",\"n\":1}"}}`)
	sub := (<-n.asked).(feed.Submit)
	require.True(t, sub.Regenerate)
	require.Empty(t, sub.Messages)
	require.JSONEq(t, `[{"name":"t"}]`, string(sub.ClientTools))
	require.JSONEq(t, `{"tz":"CET","n":1}`, string(sub.Body))

	a.send(`{"type":"cf_agent_chat_request_cancel","id":"r1"}`)
	require.Equal(t, cancelled("r1"), <-n.asked)

	a.send(`{"type":"cf_agent_chat_clear"}`)
	first := (<-n.asked).(cleared)
	a.send(`{"type":"cf_agent_chat_clear"}`)
	second := (<-n.asked).(cleared)
	require.Equal(t, first.by, second.by)
	require.NotEqual(t, first.key, second.key, "two clears are two")

	a.send(`{"type":"cf_agent_chat_messages","messages":[{"id":"u1","role":"user","parts":[]}]}`)
	set := (<-n.asked).(messages)
	require.Equal(t, first.by, set.by)
	require.JSONEq(t, `{"id":"u1","role":"user","parts":[]}`, string(set.list[0].AppendJSON(nil)))

	// By names this socket, so it is excluded.
	n.put(roomOne, feed.Cleared{By: first.by}, feed.Recovery{On: true})
	require.Contains(t, a.read(), "cf_agent_chat_recovering")
}

// What an older client sends is brought up to date.
func TestOldFormsOfMessagesAreRead(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("").greeted()
	const want = `{"id":"u1","role":"user","parts":[{"type":"text","text":"hi"}]}`
	a.send(`{"type":"cf_agent_chat_messages","messages":[{"id":"u1","role":"user","content":"hi"}]}`)
	require.JSONEq(t, want, string((<-n.asked).(messages).list[0].AppendJSON(nil)))
	a.send(`{"type":"cf_agent_use_chat_request","id":"r1","init":{"method":"POST","body":"{\"messages\":[{\"id\":\"u1\",\"role\":\"user\",\"content\":\"hi\"}]}"}}`)
	require.JSONEq(t, want, string((<-n.asked).(feed.Submit).Messages[0].AppendJSON(nil)))
}

// What cannot be a frame of this protocol gets no reply, and does no harm.
func TestMalformedFramesAreIgnored(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("").greeted()
	for _, frame := range []string{
		"not json", "{}", "[]", "null", "123", `"x"`, `{"type":5}`, `{"type":"unknown_type","x":1}`,
		`{"type":"cf_agent_use_chat_request","id":"m1","init":{"method":"GET"}}`,
		`{"type":"cf_agent_use_chat_request","id":"m2","init":{"method":"POST"}}`,
		`{"type":"cf_agent_use_chat_request","id":"m2","init":{"method":"POST","body":""}}`,
		`{"type":"cf_agent_use_chat_request","id":"m3","init":{"method":"POST","body":"{bad"}}`,
		`{"type":"cf_agent_use_chat_request","id":"m4"}`,
		`{"type":"cf_agent_use_chat_request","id":"m5","init":{"method":"POST","body":"{}"}}`,
		`{"type":"cf_agent_use_chat_request","init":{"method":"POST","body":"{\"messages\":[]}"}}`,
		`{"type":"cf_agent_use_chat_request","id":7,"init":{"method":"POST","body":"{\"messages\":[]}"}}`,
		`{"type":"cf_agent_tool_result"}`,
		`{"type":"cf_agent_chat_request_cancel"}`,
		`{"type":"cf_agent_chat_messages"}`,
		`{"type":"cf_agent_chat_messages","messages":[5]}`,
	} {
		a.send(frame)
	}
	require.NoError(t, a.Write(t.Context(), websocket.MessageBinary, []byte{1, 2, 3}))
	a.send(`{"type":"cf_agent_stream_resume_ack"}`)
	require.Equal(t, `{"body":"","done":true,"replay":true,"type":"cf_agent_use_chat_response"}`, a.read())
	require.Empty(t, n.asked)
}

func TestWrongRequestIsAnsweredWithAnError(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("").greeted()
	long := strings.Repeat("x", 300)
	for body, want := range map[string]string{
		`{"messages":5}`:   "invalid UI message: messages must be an array, got 5",
		`{"messages":[5]}`: "invalid UI message: messages[0] must be an object, got 5",
		`{"messages":[{"id":"a","role":"user","parts":{}}]}`:                                       "invalid UI message: messages[0].parts must be an array, got {}",
		`{"messages":[{"role":"user","parts":[]}]}`:                                                "invalid UI message: messages[0].id is missing",
		`{"messages":[{"id":"` + long + `","role":"user","parts":[]}]}`:                            `invalid UI message: messages[0].id must be at most 256 bytes long, got "` + long[:76] + "…",
		`{"messages":[{"id":"a","role":"root","parts":[]}]}`:                                       `invalid UI message: messages[0].role must be "user", "assistant" or "system", got "root"`,
		`{"messages":[{"id":"a","role":"user"}]}`:                                                  "invalid UI message: messages[0].parts is missing",
		`{"messages":[{"id":"a","role":"user","parts":[]},{"id":"b","role":"user","parts":[{}]}]}`: "invalid UI message: messages[1].parts[0].type is missing",
		`{"messages":[],"trigger":"nope"}`:                                                         `trigger is "nope", must be submit-message or regenerate-message`,
		`{"messages":[],"clientTools":{}}`:                                                         "clientTools is {}, must be a list",
	} {
		quoted, _ := json.Marshal(body)
		a.send(fmt.Sprintf(`{"type":"cf_agent_use_chat_request","id":"r1","init":{"method":"POST","body":%s}}`, quoted))
		wantText, _ := json.Marshal(want)
		require.Equal(t, fmt.Sprintf(`{"body":%s,"done":true,"error":true,"id":"r1","type":"cf_agent_use_chat_response"}`, wantText), a.read())
	}
	require.Empty(t, n.asked, "nothing reaches the agent")
}

func TestRefusedRequest(t *testing.T) {
	n := newNode(t, protocol.Config{})
	answers := map[string]error{
		"r1": &protocol.Error{Code: protocol.TooLarge, Message: "messages has 70000 entries, the limit is 50000"},
		"r2": fmt.Errorf("wrapped: %w", &protocol.Error{Code: protocol.Unavailable, Message: "busy"}),
		"r3": errors.New("secret path /var/lib"),
	}
	n.submit = func(_ context.Context, s feed.Submit) error { return answers[s.Request] }
	a := n.dial("").greeted()
	a.send(chat("r1", "hi"))
	require.Contains(t, a.read(), `"body":"messages has 70000 entries, the limit is 50000","done":true,"error":true,"id":"r1"`)
	a.send(chat("r2", "hi"))
	require.Contains(t, a.read(), `"body":"busy"`)
	a.send(chat("r3", "hi"))
	require.Contains(t, a.read(), `"body":"internal error"`)
}

// A slow agent does not reorder what one client sends, and does not keep its
// pings from being answered.
func TestFramesOfASocketStayInOrder(t *testing.T) {
	n := newNode(t, protocol.Config{})
	let := make(chan struct{})
	n.submit = func(_ context.Context, s feed.Submit) error {
		<-let
		n.asked <- s.Request
		return nil
	}
	a := n.dial("").greeted()
	a.send(chat("r1", "hi"))
	a.send(`{"type":"cf_agent_chat_request_cancel","id":"r1"}`)
	a.send(chat("r2", "hi"))
	a.send(`{"type":"cf_agent_stream_resume_request"}`)
	read := make(chan string)
	go func() { read <- a.read() }()
	require.NoError(t, a.Ping(t.Context()))
	close(let)
	require.Equal(t, "r1", <-n.asked)
	require.Equal(t, cancelled("r1"), <-n.asked)
	require.Equal(t, "r2", <-n.asked)
	require.Contains(t, <-read, "cf_agent_stream_resume_none")
}

// A message that was sent is sent, even if the page is closed right after it.
func TestRequestBeforeCloseIsSubmitted(t *testing.T) {
	n := newNode(t, protocol.Config{})
	let := make(chan struct{})
	n.submit = func(_ context.Context, s feed.Submit) error {
		<-let
		n.asked <- s.Request
		return nil
	}
	a := n.dial("").greeted()
	for i := range 3 {
		a.send(chat(fmt.Sprint("r", i), "hi"))
	}
	require.NoError(t, a.Close(websocket.StatusNormalClosure, ""))
	close(let)
	for i := range 3 {
		require.Equal(t, fmt.Sprint("r", i), <-n.asked)
	}
}

// C02 at length: a late socket gets a replay of 20,000 chunks and then the live
// ones without a gap. It is not closed for what piles up meanwhile.
func TestLongReplayJoinsLiveStream(t *testing.T) {
	const before, meanwhile, after = 20000, 6000, 500 // meanwhile is over LagFrames
	n := newNode(t, protocol.Config{})
	n.put(roomOne, feed.Accepted{Request: "r1"}, feed.Opened{Request: "r1"})
	text := strings.Repeat("x", 250) // more than the network's buffers hold
	for i := range before {
		n.put(roomOne, delta(i, text))
	}
	a := n.dial("")
	require.Contains(t, a.read(), "cf_agent_stream_resuming")
	a.greeted()
	a.send(`{"type":"cf_agent_stream_resume_ack","id":"r1"}`)
	next := 0
	follow := func(replay bool) {
		frame := a.read()
		require.Equal(t, replay, strings.Contains(frame, `"replay":true`))
		require.Contains(t, frame, fmt.Sprintf(`"seq":%d,`, next))
		next++
	}
	follow(true)
	for i := range meanwhile {
		n.put(roomOne, delta(before+i, text))
	}
	for next < before {
		follow(true)
	}
	require.Contains(t, a.read(), `"replayComplete":true`)
	for next < before+meanwhile {
		follow(false)
	}
	for next < before+meanwhile+after {
		n.put(roomOne, delta(next, text))
		follow(false)
	}
}
