package node_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/node"
)

// A page talks to a sub-agent as to any agent, whatever its name, until it is deleted.
func TestASubAgentOnTheNetwork(t *testing.T) {
	agent := echo()
	agent.BeforeSubAgent = func(_ context.Context, _ *actors.Self, r *http.Request, _ actors.ChildAddress) error {
		if r.URL.Query().Has("no") {
			return actors.Deny(http.StatusForbidden, "no")
		}
		return nil
	}
	n := start(t, node.Config{Agents: []*actors.Agent{agent}})
	srv := httptest.NewServer(n.Handler())
	t.Cleanup(srv.Close)
	root := n.Agent(agent, "root")
	const name = "a//../b ?#é"
	path := "/agents/echo/root/sub/echo/a%2F%2F..%2Fb%20%3F%23%C3%A9"
	get := func(path string) (int, string) {
		resp, err := http.Get(srv.URL + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	status, body := get(path + "/get-messages")
	require.Equal(t, 200, status)
	require.Equal(t, "[]", body)
	status, body = get(path + "/get-messages?no")
	require.Equal(t, 403, status)
	require.Equal(t, "no", body)
	list, err := root.SubAgents(t.Context())
	require.NoError(t, err)
	require.Empty(t, list, "a plain request brings nothing into being")

	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(srv.URL, "http")+path, nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	_, frame, err := conn.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, `{"agent":"echo","name":"a//../b ?#é","type":"cf_agent_identity"}`, string(frame))
	has, err := root.HasSubAgent(t.Context(), agent, name)
	require.NoError(t, err)
	require.True(t, has)
	child, err := root.SubAgent(t.Context(), agent, name)
	require.NoError(t, err)
	_, err = child.Chat(t.Context(), "hello")
	require.NoError(t, err)
	_, body = get(path + "/get-messages")
	require.Contains(t, body, "you said hello")

	require.NoError(t, root.Delete(t.Context()))
	for err == nil {
		_, _, err = conn.Read(t.Context())
	}
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
	require.ErrorContains(t, err, "Sub-agent deleted")
	_, body = get(path + "/get-messages")
	require.Equal(t, "[]", body)
}
