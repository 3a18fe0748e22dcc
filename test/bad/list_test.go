package bad

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// asks sends a request and waits for its end.
func asks(t *testing.T, c *client.Conn, request string, messages []any, extra map[string]any) {
	t.Helper()
	c.Send(client.Chat(request, messages, extra))
	end := c.Wait("the end of "+request, client.Done(request))
	require.False(t, end.Error, end.Body)
}

// recited is the conversation that the one who answers was given.
func recited(t *testing.T, message json.RawMessage) []json.RawMessage {
	t.Helper()
	var m client.Message
	require.NoError(t, json.Unmarshal(message, &m))
	var list []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(m.Parts[len(m.Parts)-1].Text), &list))
	return list
}

// C66 (a): a tab that has missed answers and questions of others loses none of them.
func TestAStaleTabLosesNothing(t *testing.T) {
	n := process.Start(t, process.Options{})
	for way, ask := range ways {
		t.Run(way, func(t *testing.T) {
			path := "/agents/chat-agent/stale-" + strings.ReplaceAll(way, " ", "-")
			c := client.Open(t, n.Addr, "a", path).Greeted()
			first := client.User("u1", "script:text")
			asks(t, c, "r1", []any{first}, nil)
			asks(t, c, "r2", []any{first, client.User("u2", "script:text")}, nil)
			before := transcript(t, n, path)
			ask(t, n, path, `{"messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"script:text"}]},{"id":"u3","role":"user","parts":[{"type":"text","text":"script:recite"}]}]}`)
			after := transcript(t, n, path)
			require.Len(t, after, 6)
			require.Equal(t, before, after[:4])
			require.Equal(t, after[:5], recited(t, after[5]), "who answers knows all of it")
		})
	}
}

// C66 (b): regenerate replaces the answer, and the question is the last that who
// answers is given.
func TestRegenerateReplacesTheAnswer(t *testing.T) {
	n := process.Start(t, process.Options{})
	for way, ask := range ways {
		t.Run(way, func(t *testing.T) {
			path := "/agents/chat-agent/regenerate-" + strings.ReplaceAll(way, " ", "-")
			c := client.Open(t, n.Addr, "a", path).Greeted()
			question := client.User("u1", "script:recite")
			asks(t, c, "r1", []any{question}, nil)
			before := transcript(t, n, path)
			ask(t, n, path, `{"trigger":"regenerate-message","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"script:recite"}]}]}`)
			after := transcript(t, n, path)
			require.Len(t, after, 2)
			require.Equal(t, before[0], after[0])
			require.NotEqual(t, idOf(t, before[1]), idOf(t, after[1]))
			require.Equal(t, after[:1], recited(t, after[1]))
		})
	}
}

// C66 (c): answers that are all the same, in the list under ids that the page has
// made up: by id first, then by place. No row comes twice, none goes.
func TestEqualAnswersAreToldApart(t *testing.T) {
	const path, rounds = "/agents/chat-agent/equal", 6
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	var page []any
	for i := range rounds {
		page = append(page, client.User(fmt.Sprint("u", i), "script:text"))
		asks(t, c, fmt.Sprint("r", i), page, nil)
		list := transcript(t, n, path)
		require.Len(t, list, 2*(i+1))
		answer := client.Message{ID: fmt.Sprint("client-", i), Role: "assistant", Parts: []client.Part{{Type: "text", Text: "Hello from the fake model."}}}
		if i%2 == 1 {
			answer.ID = idOf(t, list[2*i+1])
		}
		page = append(page, answer)
	}
	before := transcript(t, n, path)
	asks(t, c, "last", append(page, client.User("last", "script:recite")), nil)
	after := transcript(t, n, path)
	require.Len(t, after, 2*rounds+2)
	require.Equal(t, before, after[:2*rounds])
	require.Equal(t, after[:2*rounds+1], recited(t, after[2*rounds+1]))
}

// C29: the page's own copy of an answer with a call that it has not seen the outcome
// of, while the answer is being written and when it is there. Neither a row of its
// own nor an open call comes of it.
func TestAPagesCopyOfACallIsTheStoredCall(t *testing.T) {
	n := process.Start(t, process.Options{})
	optimistic := json.RawMessage(`{"id":"client-nanoid","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-getWeather","toolCallId":"c1","state":"input-available","input":{}}]}`)
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprintf("running %t", running), func(t *testing.T) {
			path, hold := fmt.Sprintf("/agents/chat-agent/copy-%t", running), fmt.Sprintf("copy-%t", running)
			c := client.Open(t, n.Addr, "a", path).Greeted()
			question := client.User("u1", "script:paced")
			c.Send(client.Chat("r1", []any{question}, map[string]any{"call": "c1", "hold": hold, "holdAt": 2}))
			c.Wait("the outcome of the call", client.ChunkOf("r1", "text-delta"))
			release := func() { raw(t, n.Addr, http.MethodGet, "/release?hold="+hold) }
			if !running {
				release()
				c.Wait("the end", client.Done("r1"))
			}
			c.Send(client.Chat("r2", []any{question, optimistic, client.User("u2", "script:recite")}, nil))
			if running {
				c.Send(client.Probe("taken"))
				c.Wait("an answer", client.AnswerTo("taken"))
				release()
			}
			c.Wait("the end", client.Done("r2"))
			list := transcript(t, n, path)
			require.Len(t, list, 4)
			all := fmt.Sprintf("%s", list[:3])
			require.NotContains(t, all, "client-nanoid")
			require.NotContains(t, all, "input-available")
			require.Equal(t, 1, strings.Count(all, `"toolCallId":"c1"`))
			given := fmt.Sprintf("%s", recited(t, list[3]))
			require.Equal(t, 1, strings.Count(given, `"toolCallId":"c1"`))
			require.Contains(t, given, `"output":7`)
		})
	}
}
