package bad

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

func TestRoutes(t *testing.T) {
	n := process.Start(t, process.Options{})
	cases := []struct {
		name, method, path string
		status             int
	}{
		{"an agent that is not known", "GET", "/agents/nope-agent/x/get-messages", 400},
		{"a class in another spelling", "GET", "/agents/ChatAgent/x/get-messages", 400},
		{"a class in capitals", "GET", "/agents/CHAT-AGENT/x/get-messages", 400},
		{"an encoded class", "GET", "/agents/%63hat-agent/x/get-messages", 400},
		{"no name", "GET", "/agents/chat-agent", 404},
		{"an empty name", "GET", "/agents/chat-agent/", 404},
		{"another prefix", "GET", "/Agents/chat-agent/x/get-messages", 404},
		{"nothing", "GET", "/", 404},
		{"an agent without a request for it", "GET", "/agents/chat-agent/x", 404},
		{"something that agents do not have", "GET", "/agents/chat-agent/x/other", 404},
		{"another method", "POST", "/agents/chat-agent/x/get-messages", 200},
		{"an unknown method", "BREW", "/agents/chat-agent/x/get-messages", 200},
		{"deleting", "DELETE", "/agents/chat-agent/x", 404},
		{"a preflight", "OPTIONS", "/agents/chat-agent/x/get-messages", 200},
		{"a long name", "GET", "/agents/chat-agent/" + strings.Repeat("n", 512) + "/get-messages", 200},
		{"too long a name", "GET", "/agents/chat-agent/" + strings.Repeat("n", 513) + "/get-messages", 400},
		{"a percent name", "GET", "/agents/chat-agent/100%25/get-messages", 200},
		{"an encoded slash", "GET", "/agents/chat-agent/a%2Fb/get-messages", 200},
		{"an encoded NUL", "GET", "/agents/chat-agent/a%00b/get-messages", 200},
		{"encoded UTF-8", "GET", "/agents/chat-agent/%C3%A5/get-messages", 200},
		{"encoded bytes that are no UTF-8", "GET", "/agents/chat-agent/%FF/get-messages", 200},
		{"encoded dots", "GET", "/agents/chat-agent/%2e%2e/get-messages", 200},
		{"half an escape", "GET", "/agents/chat-agent/%2/get-messages", 400},
		{"no escape at all", "GET", "/agents/chat-agent/%zz/get-messages", 400},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res := raw(t, n.Addr, c.method, c.path)
			require.Equal(t, c.status, res.status, res.body)
			require.NotContains(t, res.body, ".go:")
			if res.status == http.StatusOK && c.method != http.MethodOptions {
				require.Equal(t, "[]", res.body)
			}
		})
	}
}

// Whatever climbs up in a path ends in no file: at a refusal, or at an address
// that is as harmless.
func TestPathsThatClimbReachNothing(t *testing.T) {
	n := process.Start(t, process.Options{})
	for _, path := range []string{
		"/agents/chat-agent/../../../../etc/passwd", "/../../etc/passwd", "/agents/../../etc/passwd",
		"/agents/chat-agent/x/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/agents/chat-agent/..%2f..%2fetc%2fpasswd",
		"/agents/chat-agent/x/..%5c..%5cetc%5cpasswd", "//etc/passwd", "/agents//chat-agent///x", "/.git/config", "/data/journal.db", "/journal.db",
	} {
		t.Run(path, func(t *testing.T) {
			res := raw(t, n.Addr, http.MethodGet, path)
			require.Contains(t, []int{301, 307, 308, 400, 404}, res.status, res.body)
			require.NotContains(t, res.body, "root:")
			require.NotContains(t, res.body, "holdfast journal")
		})
	}
}

// Names of agents are what stands in the path, byte for byte; each names another agent.
func TestOddNamesNameAgentsOfTheirOwn(t *testing.T) {
	n := process.Start(t, process.Options{})
	names := []string{
		"plain", "PLAIN", "a%20b", "a+b", "100%25", "%2e%2e", "a%2Fb", "%C3%A5", "%E6%97%A5%E6%9C%AC", "%F0%9F%A6%80", "a%00b", "a;b", "sub", "get-messages", "~.-_",
		strings.Repeat("n", 512),
	}
	for _, name := range names {
		path := "/agents/chat-agent/" + name
		c := client.Open(t, n.Addr, "a", path)
		id := c.Wait("identity", client.OfType(client.Identity))
		require.Contains(t, string(id.Raw), `"name":"`+name+`"`)
		c.Send(client.Chat("r", []any{client.User("u", "I am "+short(name))}, nil))
		c.Wait("an answer", client.Done("r"))
	}
	n.Kill()
	n.Up()
	for _, name := range names {
		list := stored(t, n, "/agents/chat-agent/"+name)
		require.Len(t, list, 2, name)
		require.Equal(t, "I am "+short(name), list[0].Parts[0].Text)
	}
}

func TestUpgradesThatAreRefused(t *testing.T) {
	strict := process.Start(t, process.Options{Args: []string{"-same-origin"}})
	lax := process.Start(t, process.Options{})
	host := "http://" + strict.Addr
	cases := []struct {
		name   string
		node   *process.Node
		path   string
		origin string
		status int // 0: let in
		says   string
	}{
		{"no page at all", strict, "/agents/chat-agent/x", "", 0, ""},
		{"a page of this host", strict, "/agents/chat-agent/x", host, 0, ""},
		{"a foreign page", strict, "/agents/chat-agent/x", "https://evil.example", 403, "https://evil.example"},
		{"a page of another port", strict, "/agents/chat-agent/x", "http://127.0.0.1:1", 403, "OriginPatterns"},
		{"a page whose name begins like the host's", strict, "/agents/chat-agent/x", host + ".evil.example", 403, "evil.example"},
		{"a sandboxed page", strict, "/agents/chat-agent/x", "null", 403, "null"},
		{"an origin that is none", strict, "/agents/chat-agent/x", "::::", 403, "::::"},
		{"a foreign page where all are let in", lax, "/agents/chat-agent/x", "https://evil.example", 0, ""},
		{"an agent that is not known", lax, "/agents/nope-agent/x", "", 400, "Invalid request"},
		{"no name", lax, "/agents/chat-agent", "", 404, ""},
		{"too long a name", lax, "/agents/chat-agent/" + strings.Repeat("n", 513), "", 400, "512"},
		{"a gate", lax, "/agents/chat-agent/x?deny=1", "", 401, "denied"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			header := http.Header{}
			if c.origin != "" {
				header.Set("Origin", c.origin)
			}
			ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
			defer cancel()
			s, err := client.Dial(ctx, client.URL(c.node.Addr, "a", c.path), header)
			if c.status == 0 {
				require.NoError(t, err)
				s.Drop()
				return
			}
			var refused *client.Refused
			require.True(t, errors.As(err, &refused), "%v", err)
			require.Equal(t, c.status, refused.Status)
			require.Contains(t, refused.Body, c.says)
		})
	}
}

// The transcript is guarded like the socket: it is as private.
func TestForeignPagesDoNotReadTranscripts(t *testing.T) {
	n := process.Start(t, process.Options{Args: []string{"-same-origin"}})
	path := "/agents/chat-agent/private/get-messages"
	require.Equal(t, 403, raw(t, n.Addr, "GET", path, "Origin: https://evil.example").status)
	require.Equal(t, 403, raw(t, n.Addr, "OPTIONS", path, "Origin: https://evil.example").status)
	res := raw(t, n.Addr, "GET", path, "Origin: http://"+n.Addr)
	require.Equal(t, 200, res.status)
	require.Empty(t, res.header.Get("Access-Control-Allow-Origin"))
}

func TestUpgradesThatAreNone(t *testing.T) {
	n := process.Start(t, process.Options{})
	const path = "/agents/chat-agent/x"
	for name, headers := range map[string][]string{
		"without a key":     {"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"},
		"an old version":    {"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 8", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="},
		"half of it":        {"Upgrade: websocket"},
		"another protocol":  {"Connection: Upgrade", "Upgrade: h2c"},
		"a key that is odd": {"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x"},
	} {
		t.Run(name, func(t *testing.T) {
			res := raw(t, n.Addr, http.MethodGet, path, headers...)
			require.GreaterOrEqual(t, res.status, 400)
			require.Less(t, res.status, 500, res.body)
		})
	}
	answers(t, n, path)
}
