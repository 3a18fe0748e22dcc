package bad

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// A way to a sub-agent that is closed is so for sockets and for requests, and
// what is behind it does not come into being.
func TestWaysToSubAgentsThatAreClosed(t *testing.T) {
	n := process.Start(t, process.Options{})
	const root, kid = "/agents/chat-agent/family", "/sub/helper-agent/"
	for _, c := range []struct {
		name, path string
		status     int
		code       websocket.StatusCode
	}{
		{"a parent without a gate", "/agents/recover-agent/family" + kid + "closed", 403, 4403},
		{"a gate that says no", "/agents/state-agent/family" + kid + "forbidden", 403, 4403},
		{"a gate that fails", "/agents/state-agent/family" + kid + "boom", 500, websocket.StatusInternalError},
		{"a class that the gate does not know", root + "/sub/recover-agent/closed", 404, 4404},
		{"a class that nobody knows", root + "/sub/nope-agent/closed", 404, 4404},
		{"a class in Go's spelling", root + "/sub/HelperAgent/closed", 404, 4404},
		{"a NUL", root + kid + "closed%00b", 400, 4400},
		{"bytes that are no UTF-8", root + kid + "closed%FFb", 404, 4404},
		{"too long a name", root + kid + strings.Repeat("closed", 86), 400, 4400},
		{"too deep", root + strings.Repeat(kid+"x", 8) + kid + "closed", 400, 4400},
		{"too long a path", root + kid + strings.Repeat("n", 500) + kid + strings.Repeat("closed", 80), 400, 4400},
		{"a closed way behind an open one", root + kid + "x/sub/recover-agent/closed", 404, 4404},
		{"an open way behind a closed one", "/agents/recover-agent/family" + kid + "closed" + kid + "y", 403, 4403},
	} {
		t.Run(c.name, func(t *testing.T) {
			for method, rest := range map[string]string{"GET": "/get-messages", "POST": "/turns"} {
				res := raw(t, n.Addr, method, c.path+rest, "Content-Length: 0")
				require.Equal(t, c.status, res.status, res.body)
				require.NotContains(t, res.body, ".go:")
			}
			socket := client.Open(t, n.Addr, "a", c.path)
			code, reason := socket.WaitClosed()
			require.Equal(t, c.code, code, reason)
			require.Empty(t, socket.Frames())
		})
	}
	answers(t, n, root)
	require.Zero(t, n.Stop())
	store := looks(t, n)
	defer store.Close()
	agents, err := store.List(t.Context(), "", "", 1000)
	require.NoError(t, err)
	require.NotEmpty(t, agents)
	for _, a := range agents {
		require.NotContains(t, a.Stream, "closed")
		require.NotContains(t, a.Stream, "forbidden")
		require.NotContains(t, a.Stream, "boom")
	}
}

// Names of sub-agents are what they mean, and each names another agent, however
// much it looks like a path.
func TestOddNamesNameSubAgentsOfTheirOwn(t *testing.T) {
	n := process.Start(t, process.Options{})
	names := []string{
		"plain", "%2e%2e", "..%2F..%2Fetc%2Fpasswd", "a%2Fsub%2Fhelper-agent%2Fb", "%2Fsub%2FHelperAgent%2Fx", "a%5Cb", "100%25", "a%2525b", "a%20b", "a+b", "sub", "get-messages",
		"%C3%A5", "%E6%97%A5", "agent-tool:call_1", "a%3Fb%23c", strings.Repeat("n", 512),
	}
	for _, parent := range []string{"/agents/chat-agent/odd/sub/helper-agent/", "/agents/chat-agent/odd/sub/helper-agent/kid/sub/helper-agent/"} {
		for _, name := range names {
			c := client.Open(t, n.Addr, "a", parent+name).Greeted()
			c.Send(client.Chat("r", []any{client.User("u", "I am "+short(parent+name))}, nil))
			c.Wait("an answer", client.Done("r"))
		}
	}
	n.Kill()
	n.Up()
	for _, parent := range []string{"/agents/chat-agent/odd/sub/helper-agent/", "/agents/chat-agent/odd/sub/helper-agent/kid/sub/helper-agent/"} {
		for _, name := range names {
			list := stored(t, n, parent+name)
			require.Len(t, list, 2, name)
			require.Equal(t, "I am "+short(parent+name), list[0].Parts[0].Text)
		}
	}
	require.Empty(t, stored(t, n, "/agents/chat-agent/odd"), "the parent has nothing of it")
	require.Equal(t, http.StatusOK, raw(t, n.Addr, http.MethodGet, "/agents/chat-agent/odd/sub/helper-agent/%2e%2e/get-messages").status)
}
