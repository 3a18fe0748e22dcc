package plain

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// What a page builds out of the stream is what the node has stored.
func TestAStreamMakesTheStoredMessage(t *testing.T) {
	n := process.Start(t, process.Options{})
	for _, script := range []string{"text", "reasoning", "data", "exotic", "plain"} {
		t.Run(script, func(t *testing.T) {
			a := agent{t, n, "/agents/chat-agent/" + script}
			got := a.ask("u1", "script:"+script).whole()
			list := a.stored()
			require.Len(t, list, 2)
			require.Equal(t, string(list[1].AppendJSON(nil)), string(uimessage.Sanitize(got).AppendJSON(nil)))
		})
	}
}

// C09, C10, C23: the answer outlives its page; each tab that comes gets all of
// it, and any of them can stop it.
func TestAnAnswerIsResumedAndStopped(t *testing.T) {
	n := process.Start(t, process.Options{})
	a := agent{t, n, "/agents/chat-agent/resumed"}
	require.Equal(t, http.StatusNoContent, a.do("GET", "/chat/chat/stream", "").StatusCode)
	a.ask("u1", "script:veryslow").until("chunk2 ")
	one, two := a.resume(), a.resume()
	two.until("chunk1 ")
	require.Equal(t, http.StatusNoContent, a.do("POST", "/chat/stop", "").StatusCode)
	message := one.whole()
	require.Equal(t, "abort", one.last.Type)
	require.Equal(t, message, two.whole())
	require.Equal(t, http.StatusNoContent, a.do("GET", "/chat/chat/stream", "").StatusCode)
	require.Len(t, a.stored(), 2)
}

// A socket and a response show the same turn.
func TestSocketsSeeWhatIsAskedOverHTTP(t *testing.T) {
	n := process.Start(t, process.Options{})
	a := agent{t, n, "/agents/chat-agent/both"}
	tab := client.Open(t, n.Addr, "tab", a.path).Greeted()
	resp := a.do("POST", "/chat", `{"messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"script:text"}]}]}`)
	a.stream(resp).whole()
	tab.Wait("the end of the turn", client.Done(resp.Header.Get("Holdfast-Request-Id")))
}

// After kill -9 the answer goes on, and who resumes gets all of it.
func TestAnAnswerIsResumedAfterAKill(t *testing.T) {
	n := process.Start(t, process.Options{})
	a := agent{t, n, "/agents/recover-agent/killed"}
	a.ask("u1", "script:slow").until("chunk6 ")
	n.Kill()
	n.Up()
	got := a.resume().whole()
	list := a.stored()
	require.Len(t, list, 2)
	require.Equal(t, string(list[1].AppendJSON(nil)), string(uimessage.Sanitize(got).AppendJSON(nil)))
}
