package bad

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// A request that is one, but wrong, is answered with an error that names the
// field, the value and the limit.
func TestAWrongRequestIsRefusedInWordsAndNothingIsStored(t *testing.T) {
	const path = "/agents/chat-agent/wrong"
	n := process.Start(t, process.Options{})
	c, other := client.Open(t, n.Addr, "a", path).Greeted(), client.Open(t, n.Addr, "b", path).Greeted()
	good := `{"id":"u","role":"user","parts":[{"type":"text","text":"hi"}]}`
	long := strings.Repeat("i", 257)
	cases := []struct {
		name, body string
		says       []string
	}{
		{"messages is no list", `{"messages":7}`, []string{"messages"}},
		{"messages is an object", `{"messages":{}}`, []string{"messages"}},
		{"a message is no object", `{"messages":[` + good + `,3]}`, []string{"messages[1]"}},
		{"no id", `{"messages":[{"role":"user","parts":[]}]}`, []string{"messages[0].id", "missing"}},
		{"an empty id", `{"messages":[{"id":"","role":"user","parts":[]}]}`, []string{"messages[0].id", `""`}},
		{"an id that is a number", `{"messages":[{"id":5,"role":"user","parts":[]}]}`, []string{"messages[0].id", "5"}},
		{"a long id", `{"messages":[{"id":"` + long + `","role":"user","parts":[]}]}`, []string{"messages[0].id", "iii…", "256"}},
		{"an unknown role", `{"messages":[{"id":"x","role":"tyrant","parts":[]}]}`, []string{"messages[0].role", "tyrant", "assistant"}},
		{"no parts", `{"messages":[{"id":"x","role":"user"}]}`, []string{"messages[0].parts"}},
		{"parts is a text", `{"messages":[{"id":"x","role":"user","parts":"hi"}]}`, []string{"messages[0].parts"}},
		{"a part without a type", `{"messages":[{"id":"x","role":"user","parts":[{"words":"hi"}]}]}`, []string{"messages[0].parts[0].type"}},
		{"a part that is null", `{"messages":[{"id":"x","role":"user","parts":[null]}]}`, []string{"messages[0].parts[0]"}},
		{"a text part without a text", `{"messages":[{"id":"x","role":"user","parts":[{"type":"text"}]}]}`, []string{"messages[0]", "parts[0].text"}},
		{"a text that is a number", `{"messages":[{"id":"x","role":"user","parts":[{"type":"text","text":1}]}]}`, []string{"messages[0]", "text"}},
		{"an unknown trigger", `{"messages":[` + good + `],"trigger":"shoot"}`, []string{"trigger", "shoot", "submit-message"}},
		{"clientTools is an object", `{"messages":[` + good + `],"clientTools":{}}`, []string{"clientTools", "{}"}},
	}
	for i, c2 := range cases {
		t.Run(c2.name, func(t *testing.T) {
			id := fmt.Sprintf("w%d", i)
			c.Send(client.ChatBody(id, c2.body))
			f := c.Wait("a refusal", client.Done(id))
			require.True(t, f.Error, "%s", f.Raw)
			for _, words := range c2.says {
				require.Contains(t, f.Body, words)
			}
			require.NotContains(t, f.Body, "internal")
			require.NotContains(t, f.Body, ".go:")
		})
	}
	t.Run("a long request id", func(t *testing.T) {
		c.Send(client.ChatBody(long, `{"messages":[`+good+`]}`))
		f := c.Wait("a refusal", client.Done(long))
		require.Contains(t, f.Body, "257")
		require.Contains(t, f.Body, "256")
	})
	require.Empty(t, stored(t, n, path))
	for _, f := range other.Frames() {
		require.NotEqual(t, client.Response, f.Type, "a refusal is for the requester alone: %s", f.Raw)
	}
	answers(t, n, path)
}

// The browser's list of messages is a wish: answers that the node has given are
// not rewritten by it (cases C29, C41, C66).
func TestASubmitDoesNotRewriteWhatTheNodeHasSaid(t *testing.T) {
	const path = "/agents/chat-agent/rewrite"
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	c.Send(client.Chat("r1", []any{client.User("u1", "script:text")}, nil))
	c.Wait("an answer", client.Done("r1"))
	before := stored(t, n, path)
	forged := before[1]
	forged.Parts = []client.Part{{Type: "text", Text: "forged"}}
	c.Send(client.Chat("r2", []any{before[0], forged, client.User("u2", "script:text")}, nil))
	c.Wait("an answer", client.Done("r2"))
	after := stored(t, n, path)
	require.Equal(t, before, after[:2])
	require.Len(t, after, 4)

	t.Run("nor does a tab with an older list", func(t *testing.T) {
		c.Send(client.Chat("r3", []any{before[0], client.User("u3", "script:text")}, nil))
		c.Wait("an answer", client.Done("r3"))
		list := stored(t, n, path)
		require.Equal(t, after, list[:4])
		require.Len(t, list, 6)
	})
}

// A request that is sent again, as after a lost connection, is one request.
func TestTheSameRequestTwiceIsAnsweredOnce(t *testing.T) {
	const path = "/agents/chat-agent/twice"
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	for range 3 {
		c.Send(client.Chat("r", []any{client.User("u", "script:text")}, nil))
	}
	c.Wait("an answer", client.Done("r"))
	c.Send(client.Chat("next", []any{client.User("u2", "script:text")}, nil))
	c.Wait("the next answer", client.Done("next"))
	require.Len(t, stored(t, n, path), 4)
	ends := 0
	for _, f := range c.Frames() {
		if f.ID == "r" && f.Terminal() {
			ends++
		}
	}
	require.Equal(t, 1, ends)
}

func TestTooManyRequestsAreRefusedInWords(t *testing.T) {
	const path, limit = "/agents/chat-agent/many", 64
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	for i := range limit + 3 {
		c.Send(client.Chat(fmt.Sprintf("r%d", i), []any{client.User(fmt.Sprintf("u%d", i), "script:veryslow")}, nil))
	}
	for i := limit; i < limit+3; i++ {
		f := c.Wait("a refusal", client.Done(fmt.Sprintf("r%d", i)))
		require.True(t, f.Error)
		require.Contains(t, f.Body, fmt.Sprint(limit))
	}
	require.Len(t, stored(t, n, path), limit)
	c.Send(client.ClearAll())
	for i := range limit {
		f := c.Wait(fmt.Sprintf("the end of r%d, which was accepted,", i), client.Done(fmt.Sprintf("r%d", i)))
		require.Contains(t, []string{"aborted", "skipped"}, f.Outcome)
	}
	answers(t, n, path)
}

func TestSetMessagesThatAreWrongChangeNothing(t *testing.T) {
	const path = "/agents/chat-agent/set"
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	c.Send(map[string]any{"type": client.Messages, "messages": []any{client.User("u1", "kept")}})
	c.Send(client.Probe("stored"))
	c.Wait("the first to be stored", client.AnswerTo("stored"))
	c.Send(map[string]any{"type": client.Messages, "messages": []any{client.User("u2", "not kept"), json.RawMessage(`{"id":"u3","role":"user","parts":[{}]}`)}})
	n.WaitLog("set messages refused", "messages[1].parts[0].type")
	list := stored(t, n, path)
	require.Len(t, list, 1)
	require.Equal(t, "u1", list[0].ID)
}
