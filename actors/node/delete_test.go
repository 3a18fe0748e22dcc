package node_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/node"
)

// TestDeleteTakesSubAgentsAlong: what is below an agent is shown before the question
// and told when it is gone; a sub-agent alone is forgotten by its parent.
func TestDeleteTakesSubAgentsAlong(t *testing.T) {
	agent, data := echo(), t.TempDir()
	cfg := node.Config{Agents: []*actors.Agent{agent}, Data: data, Log: quiet}
	with := func(do func(root *actors.Ref)) {
		n, err := node.Start(t.Context(), cfg)
		require.NoError(t, err)
		do(n.Agent(agent, "room"))
		require.NoError(t, n.Stop(context.Background()))
	}
	command := func(input string, args ...string) string {
		var out strings.Builder
		require.NoError(t, node.Run(t.Context(), append([]string{"node"}, args...), strings.NewReader(input), &out, io.Discard, agent))
		return out.String()
	}
	with(func(root *actors.Ref) {
		for _, name := range []string{"a/b", "c"} {
			child, err := root.SubAgent(t.Context(), agent, name)
			require.NoError(t, err)
			_, err = child.Chat(t.Context(), "Hello")
			require.NoError(t, err)
		}
	})

	require.Equal(t, "deleted Echo/room/sub/Echo/a%2Fb\n", command("", "delete", "-y", "--data", data, "Echo/room/sub/Echo/a%2Fb"))
	with(func(root *actors.Ref) {
		left, err := root.SubAgents(t.Context())
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, "c", left[0].Name)
	})

	// The node may have been stopped before the parent had noted that a/b is gone.
	said := command("y\n", "delete", "--data", data, "Echo/room")
	require.Regexp(t, `^Echo/room\t\d+ records\t(idle|has work)\nEcho/room/sub/Echo/c\t\d+ records\tidle\n`+
		`Delete these 2 agents for good\? \[y/N\] deleted Echo/room\ndeleted Echo/room/sub/Echo/c\n$`, said)
	require.Equal(t, "no fault: 0 agents, 0 records\n", command("", "check", "--data", data))
}
