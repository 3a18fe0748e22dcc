package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestAnswersOfAPage(t *testing.T) {
	n := newNode(t, protocol.Config{})
	c, _ := n.meet("?_pk=tab-1", func(p *peer) { p.terms.Who = "ann" })
	c.greeted()
	for frame, want := range map[string]feed.Answer{
		`{"toolCallId":"k1","toolName":"x","output":{"a":[1]},"autoContinue":true,"clientTools":[{"name":"x"}]}`: {
			Output: json.RawMessage(`{"a":[1]}`), Continue: true, ClientTools: json.RawMessage(`[{"name":"x"}]`)},
		`{"toolCallId":"k1","output":null,"clientTools":null,"autoContinue":"yes"}`: {Output: json.RawMessage("null")},
		`{"toolCallId":"k1"}`: {Output: json.RawMessage("null")},
		`{"toolCallId":"k1","state":"output-denied","output":1,"errorText":"x"}`:                      {Output: json.RawMessage("1")},
		`{"toolCallId":"k1","state":"output-error","output":1,"errorText":"no","autoContinue":false}`: {Failed: true, ErrorText: "no"},
		`{"toolCallId":"k1","state":"output-error"}`:                                                  {Failed: true},
	} {
		c.send(`{"type":"cf_agent_tool_result",` + frame[1:])
		got := (<-n.asked).(feed.Answer)
		require.NotEmpty(t, got.By)
		want.Call, want.Page, want.Who, want.By = "k1", "tab-1", "ann", got.By
		require.Equal(t, want, got, frame)
	}
	for frame, want := range map[string]feed.Approval{
		`{"toolCallId":"k1","approved":true,"autoContinue":true}`:  {Approved: true, Continue: true},
		`{"toolCallId":"k1","approved":false,"reason":"too much"}`: {Reason: "too much"},
	} {
		c.send(`{"type":"cf_agent_tool_approval",` + frame[1:])
		got := (<-n.asked).(feed.Approval)
		want.Call, want.Page, want.Who, want.By = "k1", "tab-1", "ann", got.By
		require.Equal(t, want, got, frame)
	}
}

// None of them reaches the agent, none is answered, and the socket goes on.
func TestAnswersThatAreNone(t *testing.T) {
	n := newNode(t, protocol.Config{})
	c := n.dial("").greeted()
	for _, frame := range []string{
		`{"type":"cf_agent_tool_result"}`,
		`{"type":"cf_agent_tool_result","toolCallId":""}`,
		`{"type":"cf_agent_tool_result","toolCallId":7}`,
		`{"type":"cf_agent_tool_result","toolCallId":"` + strings.Repeat("x", 1025) + `"}`,
		`{"type":"cf_agent_tool_result","toolCallId":"k1","clientTools":{}}`,
		`{"type":"cf_agent_tool_result","toolCallId":"k1","state":"output-error","errorText":7}`,
		`{"type":"cf_agent_tool_result","toolCallId":"k1","state":"output-error","errorText":"` + strings.Repeat("x", 64<<10+1) + `"}`,
		`{"type":"cf_agent_tool_approval","toolCallId":"k1"}`,
		`{"type":"cf_agent_tool_approval","toolCallId":"k1","approved":1}`,
		`{"type":"cf_agent_tool_approval","toolCallId":"k1","approved":true,"reason":{}}`,
	} {
		c.send(frame)
	}
	c.send(`{"type":"cf_agent_stream_resume_request","probeId":"p"}`)
	require.Equal(t, `{"probeId":"p","reason":"idle","type":"cf_agent_stream_resume_none"}`, c.read())
	require.Empty(t, n.asked)
}

// What the agent refuses is not told either.
func TestAnswersThatTheAgentRefuses(t *testing.T) {
	n := newNode(t, protocol.Config{})
	c := n.dial("").greeted()
	for _, code := range []protocol.Code{protocol.NotFound, protocol.Conflict, "secret"} {
		n.refuses(&protocol.Error{Code: code, Message: "no"})
		c.send(`{"type":"cf_agent_tool_result","toolCallId":"k1"}`)
		<-n.asked
		c.send(`{"type":"cf_agent_tool_approval","toolCallId":"k1","approved":true}`)
		<-n.asked
	}
	c.send(`{"type":"cf_agent_stream_resume_request","probeId":"p"}`)
	require.Contains(t, c.read(), `"idle"`)
}

// Read-only concerns the state: the conversation is open to such a socket, and so are
// its calls.
func TestAReadonlySocketAnswersCalls(t *testing.T) {
	n := newNode(t, protocol.Config{})
	c, _ := n.meet("", func(p *peer) { p.terms.Readonly = true })
	c.greeted()
	c.send(`{"type":"cf_agent_tool_result","toolCallId":"k1"}`)
	require.NotNil(t, <-n.asked)
	c.send(`{"type":"cf_agent_tool_approval","toolCallId":"k1","approved":true}`)
	require.NotNil(t, <-n.asked)
}
