package bad

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// ignored are frames that get no answer and change nothing: nobody can tell what
// they were meant to be, or to whom an answer would be of use.
var ignored = []string{
	``, ` `, `not json`, `{`, `{}`, `[]`, `null`, `123`, `"text"`, `true`, "\x00", "{\"type\":\"\x01\"}",
	`{"type":null}`, `{"type":7}`, `{"type":["cf_agent_chat_clear"]}`, `{"type":""}`, `{"type":"unknown_type","x":1}`,
	`{"type":"CF_AGENT_CHAT_CLEAR"}`, `{"type":"cf_agent_chat_clear"`, `{"type":"cf_agent_identity","name":"x"}`,
	strings.Repeat("[", 20000), `{"type":` + strings.Repeat(`{"a":`, 20000),
	`{"type":"cf_agent_use_chat_request"}`,
	`{"type":"cf_agent_use_chat_request","id":"m0","init":"POST"}`,
	`{"type":"cf_agent_use_chat_request","id":"m1","init":{"method":"GET"}}`,
	`{"type":"cf_agent_use_chat_request","id":"m2","init":{"method":"POST"}}`,
	`{"type":"cf_agent_use_chat_request","id":"m2","init":{"method":"POST","body":""}}`,
	`{"type":"cf_agent_use_chat_request","id":"m3","init":{"method":"POST","body":"{bad"}}`,
	`{"type":"cf_agent_use_chat_request","id":"m4","init":{"method":"POST","body":{"messages":[]}}}`,
	`{"type":"cf_agent_use_chat_request","id":"m5","init":{"method":"POST","body":"{}"}}`,
	`{"type":"cf_agent_use_chat_request","id":"m6","init":{"method":"POST","body":"[]"}}`,
	`{"type":"cf_agent_use_chat_request","id":"m7","init":{"method":"POST","body":"null"}}`,
	`{"type":"cf_agent_use_chat_request","id":"m8","init":{"method":"DELETE","body":"{\"messages\":[]}"}}`,
	`{"type":"cf_agent_use_chat_request","id":"","init":{"method":"POST","body":"{\"messages\":[]}"}}`,
	`{"type":"cf_agent_use_chat_request","id":9,"init":{"method":"POST","body":"{\"messages\":[]}"}}`,
	`{"type":"cf_agent_chat_request_cancel"}`, `{"type":"cf_agent_chat_request_cancel","id":5}`, `{"type":"cf_agent_chat_request_cancel","id":"never-was"}`,
	`{"type":"cf_agent_chat_messages"}`, `{"type":"cf_agent_chat_messages","messages":{}}`, `{"type":"cf_agent_chat_messages","messages":[1]}`,
	`{"type":"cf_agent_chat_messages","messages":[{"id":"x","role":"tyrant","parts":[]}]}`,
	`{"type":"cf_agent_tool_result"}`, `{"type":"cf_agent_tool_approval","toolCallId":"zz","approved":true}`,
}

func TestFramesThatMeanNothingAreIgnored(t *testing.T) {
	const path = "/agents/chat-agent/ignored"
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	c.Send(client.Chat("first", []any{client.User("u1", "script:text")}, nil))
	c.Wait("an answer", client.Done("first"))
	before := stored(t, n, path)
	for i, frame := range ignored {
		seen := len(c.Frames())
		c.SendRaw(websocket.MessageText, []byte(frame))
		c.SendRaw(websocket.MessageBinary, []byte(frame))
		barrier := fmt.Sprintf("after-%d", i)
		c.Send(client.Ack(barrier))
		c.Wait("the socket to go on after "+short(frame), client.Done(barrier))
		require.Len(t, c.Frames(), seen+1, "%s was answered", short(frame))
	}
	require.Equal(t, before, stored(t, n, path), "nothing of it was stored")
	c.Send(client.Chat("last", []any{client.User("u2", "script:text")}, nil))
	c.Wait("an answer on the same socket", client.Done("last"))
}

// A text frame that is no UTF-8 breaks the WebSocket protocol itself.
func TestTextThatIsNoUTF8HurtsItsSenderAlone(t *testing.T) {
	const path = "/agents/chat-agent/utf8"
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	c.SendRaw(websocket.MessageText, []byte("{\"type\":\"cf_agent_use_chat_request\",\"id\":\"\xff\xfe\",\"init\":{\"method\":\"POST\",\"body\":\"{\\\"messages\\\":[]}\"}}"))
	answers(t, n, path)
	for _, m := range stored(t, n, path) {
		require.NotContains(t, m.ID, "\xff")
	}
}

func TestAnAckWithoutAnIDIsAnswered(t *testing.T) {
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", "/agents/chat-agent/ack").Greeted()
	c.SendRaw(websocket.MessageText, []byte(`{"type":"cf_agent_stream_resume_ack"}`))
	f := c.Wait("the answer", client.OfType(client.Response))
	require.JSONEq(t, `{"type":"cf_agent_use_chat_response","body":"","done":true,"replay":true}`, string(f.Raw))
}

func TestLargeRequestsWork(t *testing.T) {
	n := process.Start(t, process.Options{})
	for _, size := range []int{40 << 10, 300 << 10, 5 << 20} {
		t.Run(fmt.Sprintf("%d KiB", size>>10), func(t *testing.T) {
			path := fmt.Sprintf("/agents/chat-agent/large-%d", size)
			c, other := client.Open(t, n.Addr, "a", path).Greeted(), client.Open(t, n.Addr, "b", path).Greeted()
			text := strings.Repeat("0123456789abcdef", size/16)
			c.Send(client.Chat("r", []any{client.User("u", "script:text "+text)}, nil))
			for _, c := range []*client.Conn{c, other} {
				end := c.Wait("an answer", client.Done("r"))
				require.False(t, end.Error, end.Body)
			}
			require.Len(t, stored(t, n, path), 2)
			res := raw(t, n.Addr, http.MethodGet, path+"/messages/u")
			var whole client.Message
			require.NoError(t, json.Unmarshal([]byte(res.body), &whole))
			require.True(t, "script:text "+text == whole.Parts[0].Text, "the text is another")
		})
	}
}

func TestAFrameOverTheLimitClosesItsSocketAlone(t *testing.T) {
	const path = "/agents/chat-agent/over"
	n := process.Start(t, process.Options{})
	c, other := client.Open(t, n.Addr, "a", path).Greeted(), client.Open(t, n.Addr, "b", path).Greeted()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	// It may break off in the middle: the node does not read on.
	_ = c.TrySend(ctx, client.Chat("r", []any{client.User("u", strings.Repeat("x", 17<<20))}, nil))
	code, reason := c.WaitClosed()
	require.Equal(t, websocket.StatusMessageTooBig, code)
	require.Contains(t, reason, "16 MiB")
	n.WaitLog("too large", "limit=16777216", "setting=MaxFrameBytes")
	require.Empty(t, stored(t, n, path), "nothing of it was stored")
	answers(t, n, path)
	require.Nil(t, other.Closed(), "the other socket stays")
}

func short(s string) string {
	if len(s) > 120 {
		s = s[:120] + "…"
	}
	return fmt.Sprintf("%q", s)
}
