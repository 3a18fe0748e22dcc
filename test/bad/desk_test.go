package bad

import (
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

// adds proves that a socket's calls work.
func adds(t *testing.T, c *client.Conn, id string) {
	t.Helper()
	c.Send(client.Call(id, "add", 2, 3))
	require.JSONEq(t, "5", string(c.Wait("a sum", client.Returned(id)).Result))
}

func TestStatesThatAreRefused(t *testing.T) {
	const path = "/agents/state-agent/states"
	n := process.Start(t, process.Options{})
	c, other := client.Open(t, n.Addr, "a", path).Greeted(), client.Open(t, n.Addr, "b", path).Greeted()
	for i, s := range []struct{ name, state, says string }{
		{"too large", `{"count":1,"pad":"` + strings.Repeat("x", 4<<20) + `"}`, "state has 4194324 bytes; the limit is 4194304"},
		{"against the rules", `{"count":-1}`, "State update rejected"},
		{"of another type", `{"count":"many"}`, "State update rejected"},
		{"a list", `[]`, "State update rejected"},
		{"a text", `"x"`, "State update rejected"},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.SendRaw(websocket.MessageText, []byte(`{"type":"cf_agent_state","state":`+s.state+`}`))
			require.Equal(t, s.says, c.WaitN(i+1, "a refusal", client.OfType(client.StateError)).Refusal)
			adds(t, c, s.name)
		})
	}
	adds(t, other, "barrier")
	for _, f := range other.Frames() {
		require.False(t, f.Type == client.State && !strings.Contains(string(f.Raw), `{"count":0}`), "nobody else is told: %s", f.Raw)
	}
	c.Send(client.SetState(map[string]int{"count": 7}))
	other.Wait("a good state", func(f *client.Frame) bool {
		return f.Type == client.State && strings.Contains(string(f.Raw), `{"count":7}`)
	})
}

func TestCallsThatAreRefused(t *testing.T) {
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", "/agents/state-agent/calls").Greeted()
	long := strings.Repeat("m", 257)
	for i, call := range []struct {
		name, method, args string
		says               []string
	}{
		{"an argument is missing", "add", `[]`, []string{"Method add", "argument 1 (a) is missing"}},
		{"an argument too many", "add", `[1,2,3]`, []string{"has 3 arguments, takes 2"}},
		{"a text for a number", "add", `["x",2]`, []string{"argument 1 (a)", "number"}},
		{"null for a number", "add", `[null,2]`, []string{"argument 1 (a)", "number"}},
		{"an object for a number", "add", `[1,{}]`, []string{"argument 2 (b)", "number"}},
		{"a number that is none", "add", `[1e999,2]`, []string{"argument 1 (a)"}},
		{"half a number", "count", `[1.5]`, []string{"argument 1 (n)", "integer"}},
		{"a huge argument", "add", `["` + strings.Repeat("x", 8<<20) + `"]`, []string{"argument 1 (a)", "number"}},
		{"a deep argument", "add", `[` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `]`, []string{"argument 1 (a)", "number"}},
		{"too many arguments", "add", `[0` + strings.Repeat(",0", 100) + `]`, []string{"args", "100"}},
		{"an unknown method", "subtract", `[1]`, []string{"Method subtract does not exist"}},
		{"no method", "", `[1]`, []string{"Method  does not exist"}},
		{"a property of every object", "constructor", `[]`, []string{"Method constructor does not exist"}},
		{"another property of every object", "__proto__", `[]`, []string{"Method __proto__ does not exist"}},
		{"a method in Go's spelling", "SetState", `[{}]`, []string{"Method SetState does not exist"}},
		{"an internal method", "notCallable", `[]`, []string{"Method notCallable is not callable"}},
		{"a long method", long, `[]`, []string{"method has 257 bytes, the limit is 256"}},
	} {
		t.Run(call.name, func(t *testing.T) {
			id := fmt.Sprint("call-", i)
			c.SendRaw(websocket.MessageText, fmt.Appendf(nil, `{"type":"rpc","id":%q,"method":%q,"args":%s}`, id, call.method, call.args))
			f := c.Wait("a refusal", client.Returned(id))
			require.False(t, f.Success)
			for _, words := range call.says {
				require.Contains(t, f.Refusal, words)
			}
			require.Less(t, len(f.Refusal), 500)
			require.NotContains(t, f.Refusal, ".go:")
			require.NotContains(t, f.Refusal, "reflect")
		})
	}
	t.Run("a long id", func(t *testing.T) {
		c.Send(client.Call(long, "add", 1, 2))
		require.Contains(t, c.Wait("a refusal", client.Returned(long[:256])).Refusal, "id has 257 bytes, the limit is 256")
	})
	adds(t, c, "last")
}

func TestTooManyCallsAreRefusedInWords(t *testing.T) {
	const limit = 64
	n := process.Start(t, process.Options{})
	c, other := client.Open(t, n.Addr, "a", "/agents/state-agent/many").Greeted(), client.Open(t, n.Addr, "b", "/agents/state-agent/many").Greeted()
	calls := make([]any, limit+3)
	for i := range calls {
		calls[i] = client.Call(fmt.Sprint("c", i), "wait", "many-calls")
	}
	c.SendTogether(calls...)
	for i := limit; i < limit+3; i++ {
		f := c.Wait("a refusal", client.Returned(fmt.Sprint("c", i)))
		require.Contains(t, f.Refusal, "64 calls of this connection are under way, which is the limit")
	}
	adds(t, other, "other")
	require.Equal(t, http.StatusNoContent, raw(t, n.Addr, http.MethodGet, "/release?hold=many-calls").status)
	for i := range limit {
		require.True(t, c.Wait("the end of a call", client.Returned(fmt.Sprint("c", i))).Success)
	}
	adds(t, c, "again")
}

// What no plain agent knows is the author's, and no chat.
func TestChatMeansNothingToAPlainAgent(t *testing.T) {
	const path = "/agents/state-agent/plain"
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	frame, err := json.Marshal(client.Chat("r", []any{client.User("u", "hi")}, nil))
	require.NoError(t, err)
	c.SendRaw(websocket.MessageText, frame)
	echo := c.Wait("what the author says", client.OfType("user-onMessage"))
	require.Contains(t, string(echo.Raw), "cf_agent_use_chat_request")
	for _, rest := range []string{"/get-messages", "/messages/u"} {
		require.Equal(t, http.StatusNotFound, raw(t, n.Addr, http.MethodGet, path+rest).status)
	}
	for _, rest := range []string{"/chat", "/turns", "/chat/stop"} {
		require.Equal(t, http.StatusNotFound, post(t, n, path+rest, `{"text":"hi"}`).status)
	}
}
