package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestCallsOverHTTP(t *testing.T) {
	n := newNode(t, protocol.Config{})
	e := n.send("GET", agentPath+"/calls", "")
	require.Equal(t, 200, e.StatusCode)
	require.Equal(t, "application/json", e.Header.Get("Content-Type"))
	require.Equal(t, "[]", e.text())
	for body, want := range map[string]feed.Answer{
		`{"output":{"a":1},"clientTools":[]}`: {Output: json.RawMessage(`{"a":1}`), Continue: true, ClientTools: json.RawMessage("[]")},
		`{"autoContinue":false}`:              {Output: json.RawMessage("null")},
		`{"state":"output-error"}`:            {Failed: true, Continue: true},
	} {
		e := n.send("POST", agentPath+"/calls/k%2F1/result", body)
		require.Equal(t, 204, e.StatusCode)
		want.Call = "k/1"
		require.Equal(t, want, <-n.asked)
	}
	for body, want := range map[string]feed.Approval{
		`{"approved":true}`: {Approved: true, Continue: true},
		`{"approved":false,"reason":"no","autoContinue":false}`: {Reason: "no"},
	} {
		e := n.send("POST", agentPath+"/calls/k1/approval", body)
		require.Equal(t, 204, e.StatusCode)
		want.Call = "k1"
		require.Equal(t, want, <-n.asked)
	}
}

func TestCallsOverHTTPThatFail(t *testing.T) {
	n := newNode(t, protocol.Config{})
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/result", ``, 400, "must be a JSON object"},
		{"/result", `{"state":"output-error","errorText":7}`, 400, "errorText is 7, must be a text"},
		{"/result", `{"clientTools":7}`, 400, "clientTools is 7, must be a list"},
		{"/approval", `{}`, 400, "approved is missing, must be true or false"},
		{"/approval", `{"approved":"yes"}`, 400, `approved is "yes", must be true or false`},
	} {
		e := n.send("POST", agentPath+"/calls/k1"+c.path, c.body)
		require.Equal(t, c.status, e.StatusCode, c.path)
		require.Contains(t, e.text(), c.says)
	}
	require.Empty(t, n.asked)
	for code, status := range map[protocol.Code]int{protocol.NotFound: 404, protocol.Conflict: 409} {
		n.refuses(&protocol.Error{Code: code, Message: "why"})
		for path, body := range map[string]string{"result": `{}`, "approval": `{"approved":true}`} {
			e := n.send("POST", agentPath+"/calls/k1/"+path, body)
			<-n.asked
			require.Equal(t, status, e.StatusCode)
			require.Equal(t, "why", e.text())
		}
	}
}

const answered = `{"messages":[{"id":"u1","role":"user","parts":[]},{"id":"a1","role":"assistant","parts":[` +
	`{"type":"tool-x","toolCallId":"k1","state":"output-available","input":{},"output":1},` +
	`{"type":"tool-x","toolCallId":"k2","state":"output-error","input":{},"errorText":"no"},` +
	`{"type":"tool-x","toolCallId":"k3","state":"approval-responded","input":{},"approval":{"id":"p3","approved":true,"reason":"ok"}},` +
	`{"type":"tool-x","toolCallId":"k4","state":"approval-responded","input":{},"approval":{"id":"p4","approved":true}},` +
	`{"type":"tool-x","toolCallId":"k5","state":"output-available","input":{},"output":5}]}`

const waiting = `[{"toolCallId":"k1","state":"input-available"},{"toolCallId":"k2","state":"input-available"},` +
	`{"toolCallId":"k3","state":"approval-requested"},{"toolCallId":"k4","state":"approval-responded"}]`

// answers posts a list that answers calls; what the agent makes of the last of them is
// put before it has taken that.
func (n *node) answers(list string, of int, then func(page string)) (e *events, got []any) {
	n.t.Helper()
	taken := make(chan []any)
	n.onAnswer = make(chan struct{})
	go func() {
		var got []any
		for range of {
			got = append(got, <-n.asked)
			if a, ok := got[0].(feed.Answer); ok && len(got) == of {
				then(a.Page)
			}
			n.onAnswer <- struct{}{}
		}
		taken <- got
	}()
	e = n.send("POST", agentPath+"/chat", list)
	return e, <-taken
}

// useChat has no other way to answer calls than its list; the response goes on with the message.
func TestAListThatAnswersCallsIsAnsweredByTheContinuation(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.calls = waiting
	e, got := n.answers(answered+`],"clientTools":[{"name":"x"}]}`, 3, func(page string) {
		n.put(roomOne, feed.Armed{Request: "c1", Page: page})
	})
	require.Equal(t, 200, e.StatusCode)
	require.Equal(t, "c1", e.Header.Get("Holdfast-Request-Id"))
	first := got[0].(feed.Answer)
	tools := json.RawMessage(`[{"name":"x"}]`)
	require.NotEmpty(t, first.Page)
	require.Equal(t, []any{
		feed.Answer{Call: "k1", Output: json.RawMessage("1"), Continue: true, ClientTools: tools, By: first.By, Page: first.Page},
		feed.Answer{Call: "k2", Failed: true, ErrorText: "no", Continue: true, ClientTools: tools, By: first.By, Page: first.Page},
		feed.Approval{Call: "k3", Approved: true, Reason: "ok", Continue: true, By: first.By, Page: first.Page},
	}, got)
	n.put(roomOne, feed.Accepted{Request: "c1"}, feed.Opened{Request: "c1", Continuation: true, Page: first.Page},
		chunk(`{"type":"start"}`), feed.Closed{Request: "c1"}, feed.Ended{Request: "c1", Outcome: feed.Completed, Continuation: true})
	require.Equal(t, []string{`{"type":"start"}`, "[DONE]"}, e.rest())
	require.Empty(t, n.asked, "no message is submitted")
}

// One that goes on with a message of the user's is that message.
func TestAListThatAnswersCallsAndGoesOn(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.calls = waiting
	e, got := n.answers(answered+`,{"id":"u2","role":"user","parts":[]}]}`, 3, func(string) {})
	require.Equal(t, 200, e.StatusCode)
	require.Equal(t, feed.Answer{Call: "k1", Output: json.RawMessage("1"), By: got[0].(feed.Answer).By}, got[0])
	require.Equal(t, "u2", (<-n.asked).(feed.Submit).Messages[2].ID)
}

// What nobody waits for is no answer, and one that came too late is none.
func TestAListThatAnswersNothing(t *testing.T) {
	n := newNode(t, protocol.Config{})
	e := n.send("POST", agentPath+"/chat", answered+`]}`)
	require.Equal(t, 200, e.StatusCode)
	require.IsType(t, feed.Submit{}, <-n.asked)

	n.calls = waiting
	n.refuses(&protocol.Error{Code: protocol.Conflict})
	e, _ = n.answers(answered+`]}`, 3, func(string) {})
	require.Equal(t, 200, e.StatusCode)
	require.IsType(t, feed.Submit{}, <-n.asked)
}

// A call that was approved and is the page's to run comes back to it.
func TestAnApprovedCallComesBack(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.calls = `[{"toolCallId":"k1","state":"input-available"}]`
	e, _ := n.answers(answered+`]}`, 1, func(page string) {
		n.put(roomOne, feed.Runnable{Call: "k9", Page: page,
			Message: []byte(`{"id":"a1","role":"assistant","parts":[{"type":"text","text":"x"},{"type":"tool-x","toolCallId":"k9","state":"input-available","input":{"a":1}}]}`)})
	})
	require.Equal(t, 200, e.StatusCode)
	require.Equal(t, []string{`{"type":"start","messageId":"a1"}`,
		`{"type":"tool-input-available","toolCallId":"k9","toolName":"x","input":{"a":1}}`, `{"type":"finish"}`, "[DONE]"}, e.rest())
}

// While another turn runs nobody knows yet whether a continuation comes.
func TestAnAnswerDuringATurnWaitsForTheContinuation(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.calls = `[{"toolCallId":"k1","state":"input-available"}]`
	n.put(roomOne, feed.Accepted{Request: "r1"})
	e, _ := n.answers(answered+`]}`, 1, func(page string) {
		n.viewed = func() {
			n.viewed = nil
			n.putLocked(roomOne, feed.Ended{Request: "r1", Outcome: feed.Completed}, feed.Armed{Request: "c1", Page: page})
		}
	})
	require.Equal(t, "c1", e.Header.Get("Holdfast-Request-Id"))
	n.put(roomOne, feed.Disarmed{Request: "c1"})
	require.Equal(t, []string{"[DONE]"}, e.rest())
}

// An incarnation that is lost takes the turn with it whose end was waited for.
func TestAnAnswerDuringATurnThatIsLostEnds(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.calls = `[{"toolCallId":"k1","state":"input-available"}]`
	n.put(roomOne, feed.Accepted{Request: "r1"})
	e, _ := n.answers(answered+`]}`, 1, func(string) {
		n.viewed = func() {
			n.viewed = nil
			n.loseLocked(roomOne)
		}
	})
	require.Equal(t, 200, e.StatusCode)
	require.Equal(t, []string{"[DONE]"}, e.rest())
}

// A page that was closed is not waited for, one that has lost its connection is.
func TestACallGoesOnFromAPageThatWasClosed(t *testing.T) {
	n := newNode(t, protocol.Config{})
	idle := func(c *client) {
		c.send(`{"type":"cf_agent_stream_resume_request","probeId":"p"}`)
		require.Contains(t, c.read(), `"idle"`)
	}
	b := n.dial("?_pk=b").greeted()
	for i, leave := range []func(*client){
		func(c *client) { require.NoError(t, c.Close(websocket.StatusGoingAway, "")) },
		func(c *client) { require.NoError(t, c.CloseNow()) },
	} {
		a, peer := n.meet("?_pk=a", nil)
		a.greeted()
		n.put(roomOne, feed.Runnable{Call: "k1", Page: "a", Message: []byte(`"run"`)})
		idle(a)
		require.Contains(t, a.read(), `"run"`)
		leave(a)
		for !strings.HasPrefix(<-peer.heard, "closed") {
		}
		idle(b)
		if i == 0 {
			require.Contains(t, b.read(), `"run"`)
			n.put(roomOne, feed.Settled{Call: "k1"})
		}
	}
	idle(b)
}
