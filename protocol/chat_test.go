package protocol_test

import (
	"bufio"
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

const agentPath = "/agents/chat-agent/room-1"

const hello = `{"id":"chat-1","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"hi"}]}],"trigger":"submit-message"}`

// ask posts a message; the stream is open and the turn accepted.
func (n *node) ask(query string) (*events, string) {
	n.t.Helper()
	e := n.send("POST", agentPath+"/chat"+query, hello)
	require.Equal(n.t, 200, e.StatusCode)
	id := (<-n.asked).(feed.Submit).Request
	n.put(roomOne, feed.Accepted{Request: id})
	return e, id
}

func chunk(body string) feed.Chunk { return feed.Chunk{Body: []byte(body)} }

func TestAMessageOverHTTPIsAnsweredByItsStream(t *testing.T) {
	n := newNode(t, protocol.Config{})
	tab := n.dial("").greeted()
	e := n.send("POST", agentPath+"/chat", `{"id":"any","messages":[{"id":"u1","role":"user","parts":[]}],"trigger":"regenerate-message",`+
		`"messageId":"a1","clientTools":[{"name":"x"}],"mood":"good"}`)
	require.Equal(t, 200, e.StatusCode)
	require.Equal(t, "text/event-stream", e.Header.Get("Content-Type"))
	require.Equal(t, "v1", e.Header.Get("x-vercel-ai-ui-message-stream"))
	require.Equal(t, "no-cache", e.Header.Get("Cache-Control"))
	require.Equal(t, "no", e.Header.Get("X-Accel-Buffering"))
	s := (<-n.asked).(feed.Submit)
	require.Equal(t, s.Request, e.Header.Get("Holdfast-Request-Id"))
	require.Equal(t, "u1", s.Messages[0].ID)
	require.True(t, s.Regenerate)
	require.False(t, s.Append)
	require.JSONEq(t, `{"mood":"good"}`, string(s.Body))
	require.JSONEq(t, `[{"name":"x"}]`, string(s.ClientTools))

	n.put(roomOne, feed.Opened{Request: "another"}, chunk(`{"type":"start","messageId":"x"}`), feed.Closed{Request: "another"},
		feed.Transcript{Messages: []byte(`[]`)}, feed.Ended{Request: "another", Outcome: feed.Completed},
		feed.Accepted{Request: s.Request}, feed.Opened{Request: s.Request}, chunk(`{"type":"start","messageId":"a1"}`))
	require.Equal(t, `{"type":"start","messageId":"a1"}`, e.next(), "each is sent when it is there")
	n.put(roomOne, chunk("{\"type\":\"data-x\",\n\r\"data\":\"ä \\n \\\"\"}"), feed.Closed{Request: s.Request},
		feed.Transcript{Messages: []byte(`[]`), Request: s.Request}, feed.Ended{Request: s.Request, Outcome: feed.Completed})
	require.Equal(t, []string{`{"type":"data-x","data":"ä \n \""}`, "[DONE]"}, e.rest())
	for !strings.Contains(tab.read(), s.Request) { // the sockets see the same turn
	}
}

func TestEndsOfATurn(t *testing.T) {
	n := newNode(t, protocol.Config{})
	for name, c := range map[string]struct {
		end  feed.Ended
		want []string
	}{
		"error":         {feed.Ended{Outcome: feed.Errored, Text: "out of \"luck\""}, []string{`{"type":"error","errorText":"out of \"luck\""}`, "[DONE]"}},
		"in-band error": {feed.Ended{Outcome: feed.Errored, Text: "boom", InBand: true}, []string{`{"type":"error","errorText":"boom"}`, "[DONE]"}},
		"stopped":       {feed.Ended{Outcome: feed.Aborted}, []string{`{"type":"abort"}`, "[DONE]"}},
		"no answer":     {feed.Ended{Outcome: feed.Completed, Text: "No response."}, []string{"[DONE]"}},
		"skipped": {feed.Ended{Outcome: feed.Skipped, Private: true},
			[]string{`{"type":"error","errorText":"The message was not taken: another one is being answered."}`, "[DONE]"}},
		"skipped in words": {feed.Ended{Outcome: feed.Skipped, Private: true, Text: "busy"}, []string{`{"type":"error","errorText":"busy"}`, "[DONE]"}},
	} {
		t.Run(name, func(t *testing.T) {
			e, id := n.ask("")
			c.end.Request = id
			n.put(roomOne, c.end)
			require.Equal(t, c.want, e.rest())
		})
	}
}

// An answer that is cut off goes on in the same response.
func TestAStreamGoesOnThroughARecovery(t *testing.T) {
	n := newNode(t, protocol.Config{})
	e, id := n.ask("")
	n.put(roomOne, feed.Opened{Request: id}, chunk(`{"type":"start"}`), feed.Closed{Request: id},
		feed.Ended{Request: id, Outcome: feed.Recovering}, feed.Accepted{Request: "r2"}, feed.Recovery{On: true, Request: "r2"},
		feed.Opened{Request: "r2", Continuation: true}, chunk(`{"type":"start-step"}`), feed.Closed{Request: "r2"},
		feed.Ended{Request: "r2", Outcome: feed.Completed, Continuation: true})
	require.Equal(t, []string{`{"type":"start"}`, `{"type":"start-step"}`, "[DONE]"}, e.rest())
}

// C04, C23: a page that comes back finds the answer whether it streams already or
// not, and every tab gets all of it.
func TestResume(t *testing.T) {
	n := newNode(t, protocol.Config{})
	resume := func(id string) *events { return n.send("GET", agentPath+"/chat/"+id+"/stream", "") }
	idle := resume("any")
	require.Equal(t, 204, idle.StatusCode)
	require.Empty(t, idle.text())

	first, id := n.ask("")
	waiting := resume("any")
	require.Equal(t, 200, waiting.StatusCode)
	require.Equal(t, id, waiting.Header.Get("Holdfast-Request-Id"))
	n.put(roomOne, feed.Opened{Request: id}, chunk(`{"type":"start"}`), chunk(`{"type":"start-step"}`))
	require.Equal(t, `{"type":"start"}`, waiting.next())
	first.leave() // C10: the turn goes on
	late := resume("another%2Fid")
	n.put(roomOne, chunk(`{"type":"finish"}`), feed.Closed{Request: id})
	closing := resume("any")
	n.put(roomOne, feed.Ended{Request: id, Outcome: feed.Completed})
	want := []string{`{"type":"start"}`, `{"type":"start-step"}`, `{"type":"finish"}`, "[DONE]"}
	require.Equal(t, want[1:], waiting.rest())
	require.Equal(t, want, late.rest())
	require.Equal(t, want, closing.rest())
	require.Equal(t, 204, resume("any").StatusCode)
	require.Empty(t, n.asked, "nobody has cancelled the turn")
}

// C05, C06: what was said before a failure, and the failure, reach whoever comes next.
func TestResumeAfterAFailureThatNobodySaw(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.put(roomOne, feed.Accepted{Request: "r1"}, feed.Opened{Request: "r1"}, chunk(`{"type":"start"}`), feed.Closed{Request: "r1"},
		feed.Ended{Request: "r1", Outcome: feed.Errored, Text: "boom"})
	want := []string{`{"type":"start"}`, `{"type":"error","errorText":"boom"}`, "[DONE]"}
	require.Equal(t, want, n.send("GET", agentPath+"/chat/x/stream", "").rest())
	_, id := n.ask("")
	n.put(roomOne, feed.Ended{Request: id, Outcome: feed.Completed})
	require.Equal(t, 204, n.send("GET", agentPath+"/chat/x/stream", "").StatusCode)
}

// A page that resumes builds the message from what it is told alone, so it is
// told, too, what a continuation goes on with.
func TestResumeOfAContinuationBeginsWithWhatIsStored(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.messages = `[{"id":"u1","role":"user","parts":[]},{"id":"a1","role":"assistant","parts":[{"type":"text","text":"half","state":"done"}]}]`
	n.put(roomOne, feed.Accepted{Request: "r2"}, feed.Opened{Request: "r2", Continuation: true})
	waiting := n.send("GET", agentPath+"/chat/x/stream", "")
	n.put(roomOne, chunk(`{"type":"start"}`))
	late := n.send("GET", agentPath+"/chat/x/stream", "")
	n.put(roomOne, chunk(`{"type":"text-start","id":"t"}`), feed.Closed{Request: "r2"}, feed.Ended{Request: "r2", Outcome: feed.Completed})
	want := []string{`{"type":"start","messageId":"a1"}`, `{"type":"text-start","id":"0"}`, `{"type":"text-delta","id":"0","delta":"half"}`,
		`{"type":"text-end","id":"0"}`, `{"type":"start"}`, `{"type":"text-start","id":"t"}`, "[DONE]"}
	require.Equal(t, want, waiting.rest())
	require.Equal(t, want, late.rest())
}

func TestResumeOfAnAgentThatCannotBeReached(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.fail = &protocol.Error{Code: protocol.Quarantined, Message: "look at it"}
	e := n.send("GET", agentPath+"/chat/x/stream", "")
	require.Equal(t, 503, e.StatusCode)
	require.Equal(t, "look at it", e.text())
	require.Equal(t, 503, n.send("POST", agentPath+"/chat/stop", "").StatusCode)
}

// C09: the turn can be stopped from anywhere, also after its page was reloaded.
func TestStop(t *testing.T) {
	n := newNode(t, protocol.Config{})
	stop := func(body string) {
		t.Helper()
		require.Equal(t, 204, n.send("POST", agentPath+"/chat/stop", body).StatusCode)
	}
	stop("")
	require.Empty(t, n.asked, "nothing runs")
	_, running := n.ask("")
	_, queued := n.ask("")
	stop("")
	require.Equal(t, cancelled(running), <-n.asked, "those that wait go on")
	stop(`{}`)
	require.Equal(t, cancelled(running), <-n.asked)
	stop(`{"requestId":"` + queued + `"}`)
	require.Equal(t, cancelled(queued), <-n.asked)
}

func TestALostConnectionStopsTheTurnIfThatIsAskedFor(t *testing.T) {
	n := newNode(t, protocol.Config{})
	e, id := n.ask("?stop=disconnect")
	n.put(roomOne, feed.Opened{Request: id}, chunk(`{"type":"start"}`))
	e.next()
	e.leave()
	require.Equal(t, cancelled(id), <-n.asked)

	e, id = n.ask("?stop=disconnect")
	n.put(roomOne, feed.Ended{Request: id, Outcome: feed.Recovering}, feed.Accepted{Request: "r2"},
		feed.Opened{Request: "r2", Continuation: true}, chunk(`{"type":"start"}`))
	e.next()
	e.leave()
	require.Equal(t, cancelled("r2"), <-n.asked, "the id that it runs under now")

	e, id = n.ask("?stop=disconnect")
	n.put(roomOne, feed.Ended{Request: id, Outcome: feed.Completed})
	e.rest()
	stopped, _ := n.ask("?stop=disconnect")
	require.NoError(t, n.h.Close(t.Context()))
	stopped.broken()
	require.Empty(t, n.asked, "neither an end nor a stop of the node is a loss")
}

// A stream that does not reach its end breaks, else the client would take half
// an answer for a whole one.
func TestAStreamWithoutAnEndBreaks(t *testing.T) {
	n := newNode(t, protocol.Config{})
	e, id := n.ask("")
	n.put(roomOne, feed.Opened{Request: id}, chunk(`{"type":"start"}`))
	require.Equal(t, `{"type":"start"}`, e.next())
	n.h.Lost(roomOne)
	e.broken()

	e, _ = n.ask("")
	require.NoError(t, n.h.Close(t.Context()))
	e.broken()
	refused := n.send("POST", agentPath+"/chat", hello)
	require.Equal(t, 503, refused.StatusCode)
	require.Equal(t, "node is stopping", refused.text())
}

// A quiet stream is kept alive, and outlives the time that the server gives to
// requests.
func TestAQuietStreamStaysOpen(t *testing.T) {
	n := newNode(t, protocol.Config{PingEvery: 100 * time.Millisecond})
	n.srv.Close()
	n.srv = httptest.NewUnstartedServer(n.h)
	n.srv.Config.ReadTimeout = 20 * time.Millisecond
	n.srv.Start()
	e, id := n.ask("")
	for range 3 {
		require.Equal(t, ": nothing new", e.line())
	}
	resumed := n.send("GET", agentPath+"/chat/x/stream", "")
	require.Equal(t, ": nothing new", resumed.line())
	n.put(roomOne, feed.Ended{Request: id, Outcome: feed.Completed})
	require.Equal(t, []string{"[DONE]"}, e.rest())
	require.Equal(t, []string{"[DONE]"}, resumed.rest())
}

// C19: a client that does not read costs memory up to a bound, and others nothing.
func TestAStreamThatIsNotReadIsCutOff(t *testing.T) {
	n := newNode(t, protocol.Config{LagBytes: 1 << 20})
	slow, id := n.ask("")
	quick := n.send("GET", agentPath+"/chat/x/stream", "")
	n.put(roomOne, feed.Opened{Request: id}, chunk(`{"type":"start"}`))
	require.Equal(t, `{"type":"start"}`, slow.next())
	require.Equal(t, `{"type":"start"}`, quick.next())
	for i := range 200 { // more than the buffers of the connection hold
		n.put(roomOne, delta(i, strings.Repeat("x", 100<<10)))
		require.Contains(t, quick.next(), "xxx")
	}
	slow.broken()
	n.put(roomOne, feed.Ended{Request: id, Outcome: feed.Completed})
	require.Equal(t, []string{"[DONE]"}, quick.rest())
}

// HTTP/2 resets a stream whose deadline passes, even if nothing is to be written.
func TestAQuietStreamStaysOpenOverHTTP2(t *testing.T) {
	n := newNode(t, protocol.Config{WriteTimeout: 30 * time.Millisecond, PingEvery: 150 * time.Millisecond})
	n.srv.Close()
	n.srv = httptest.NewUnstartedServer(n.h)
	n.srv.EnableHTTP2 = true
	n.srv.StartTLS()
	resp, err := n.srv.Client().Post(n.srv.URL+agentPath+"/chat", "application/json", strings.NewReader(hello))
	require.NoError(t, err)
	require.Equal(t, 2, resp.ProtoMajor)
	e := &events{resp, t, bufio.NewScanner(resp.Body), nil}
	id := (<-n.asked).(feed.Submit).Request
	for range 3 {
		require.Equal(t, ": nothing new", e.line())
	}
	n.put(roomOne, feed.Accepted{Request: id}, feed.Ended{Request: id, Outcome: feed.Completed})
	require.Equal(t, []string{"[DONE]"}, e.rest())
}

// Nor is it a loss that the node, which has to stop now, breaks the connection.
func TestAStopOfTheNodeStopsNoTurn(t *testing.T) {
	n := newNode(t, protocol.Config{LagBytes: 1 << 30, WriteTimeout: time.Second})
	_, id := n.ask("?stop=disconnect")
	n.put(roomOne, feed.Opened{Request: id}, delta(0, strings.Repeat("x", 64<<20))) // more than the buffers of the connection hold
	now, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, n.h.Close(now))
	require.NoError(t, n.h.Close(t.Context()), "it has left")
	require.Empty(t, n.asked)
}

// A client of the sockets may have chosen an id that no header can have.
func TestAnIDThatIsNoHeader(t *testing.T) {
	n := newNode(t, protocol.Config{})
	id := "r\x001\n"
	n.put(roomOne, feed.Accepted{Request: id})
	e := n.send("GET", agentPath+"/chat/x/stream", "")
	require.Equal(t, 200, e.StatusCode)
	require.Empty(t, e.Header.Values("Holdfast-Request-Id"))
	n.put(roomOne, feed.Ended{Request: id, Outcome: feed.Completed})
	require.Equal(t, []string{"[DONE]"}, e.rest())
}

// silent agents never get to a question.
type silent struct {
	protocol.Host
	asked chan struct{}
}

func (s silent) Chats(string) bool           { return true }
func (s silent) Class(string) (string, bool) { return "ChatAgent", true }

func (s silent) View(context.Context, feed.Address, uint64) error {
	s.asked <- struct{}{}
	return nil
}

// Close does not wait for an agent that has not told yet what there is to resume.
func TestCloseEndsAQuestion(t *testing.T) {
	asked := make(chan struct{})
	n := newNode(t, protocol.Config{Host: silent{asked: asked}, ConnectTimeout: time.Hour})
	answers := make(chan *events)
	go func() { answers <- n.send("GET", agentPath+"/chat/x/stream", "") }()
	<-asked
	require.NoError(t, n.h.Close(t.Context()))
	e := <-answers
	require.Equal(t, 503, e.StatusCode)
	require.Equal(t, "node is stopping", e.text())
}
