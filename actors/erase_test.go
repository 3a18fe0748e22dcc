package actors_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// eraseOf erases with nobody running, and starts again.
func eraseOf(t testing.TB, h *actorstest.Harness, a feed.Address) error {
	t.Helper()
	require.NoError(t, h.Stop(context.Background()))
	s := memory.Open(memory.Config{Disk: h.Disk})
	defer s.Close()
	defer h.Restart()
	return actors.Erase(t.Context(), s, a)
}

func TestAStoppedAgentIsErasedWithAllBelowIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := patient()
		h := actorstest.New(t, agent)
		root := clan(t, h, agent).Address()
		_, err := h.Agent(agent, "rooted").Chat(t.Context(), "I only begin like it")
		require.NoError(t, err)
		require.NoError(t, eraseOf(t, h, root))
		require.Equal(t, []string{"Echo/rooted"}, stored(t, h))
		again := h.Agent(agent, "root")
		require.Empty(t, conversation(t, again))
		require.Empty(t, names(t, again))
		require.NoError(t, eraseOf(t, h, feed.Address{Class: "Echo", Name: "nobody"}))
	})
}

func TestAStoppedSubAgentIsErasedAndForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := patient()
		h := actorstest.New(t, agent)
		root := clan(t, h, agent).Address()
		for range 2 { // a second time it changes nothing
			require.NoError(t, eraseOf(t, h, root.Child("Echo", "idle")))
			require.Equal(t, []string{"Echo/busy", "Echo/quiet"}, names(t, h.Agent(agent, "root")))
			pass(60e9)
			require.Equal(t, []string{"Echo/root", "Echo/root/sub/Echo/busy"}, stored(t, h))
		}
		child, err := h.Agent(agent, "root").SubAgent(t.Context(), agent, "idle")
		require.NoError(t, err, "the name is free again")
		require.Empty(t, conversation(t, child))
	})
}
