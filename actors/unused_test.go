package actors_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// calling is an answer with a call of a tool in some state.
func calling(id, state string) []uimessage.Message {
	part := uimessage.Part{Type: "tool-pay", ToolCallID: "c1", State: state, Input: []byte("{}"), Output: []byte("1")}
	if state == uimessage.ApprovalRequested {
		part.Output, part.Approval = nil, &uimessage.Approval{ID: "c1"}
	}
	return []uimessage.Message{{ID: id, Role: uimessage.Assistant, Parts: []uimessage.Part{part}}}
}

// An agent that nobody uses goes when its time has come, in memory or not.
func TestAnUnusedAgentIsDeleted(t *testing.T) {
	const day = time.Hour // a short one
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				agent := patient()
				agent.DeleteIdleAfter = 30 * day
				h := actorstest.New(t, agent)
				chat := func(name string) {
					_, err := h.Agent(agent, name).Chat(t.Context(), "hello")
					require.NoError(t, err)
				}
				chat("forgotten")
				chat("read")
				chat("watched")
				chat("parent")
				chat("asked")
				child, err := h.Agent(agent, "parent").SubAgent(t.Context(), agent, "c")
				require.NoError(t, err)
				_, err = child.Chat(t.Context(), "hello")
				require.NoError(t, err)
				require.NoError(t, h.Agent(agent, "busy").Submit(t.Context(), submit("r1", "wait in silence")))
				require.NoError(t, h.Agent(agent, "asked").PersistMessages(t.Context(), calling("a1", uimessage.ApprovalRequested)))
				h.Occupy(h.Agent(agent, "watched").Address(), true)
				if restart {
					h.Restart()
				} else {
					h.Crash() // before anybody has said goodbye
				}
				pass(20 * day)
				require.Len(t, conversation(t, h.Agent(agent, "read")), 2)
				child, err = h.Agent(agent, "parent").SubAgent(t.Context(), agent, "c")
				require.NoError(t, err)
				_, err = child.Chat(t.Context(), "still here")
				require.NoError(t, err)
				pass(9 * day)
				require.Contains(t, stored(t, h), "Echo/forgotten")
				pass(2 * day)
				require.Equal(t, []string{"Echo/asked", "Echo/busy", "Echo/parent", "Echo/parent/sub/Echo/c", "Echo/read", "Echo/watched"}, stored(t, h))
				h.Occupy(h.Agent(agent, "watched").Address(), false)
				pass(20 * day)
				require.Equal(t, []string{"Echo/asked", "Echo/busy", "Echo/watched"}, stored(t, h))
				pass(20 * day)
				require.Equal(t, []string{"Echo/asked", "Echo/busy"}, stored(t, h))
				require.NoError(t, h.Agent(agent, "asked").PersistMessages(t.Context(), calling("a1", uimessage.OutputAvailable)))
				require.NoError(t, h.Agent(agent, "busy").AbortRequest(t.Context(), "r1"))
				pass(31 * day)
				require.Empty(t, stored(t, h))
			})
		})
	}
}

// A sub-agent that goes by itself is forgotten by its parent.
func TestAnUnusedSubAgentIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		parent := &actors.Agent{Name: "Parent", OnChatMessage: echo().OnChatMessage}
		child := echo()
		child.DeleteIdleAfter = time.Hour
		h := actorstest.New(t, parent, child)
		root := h.Agent(parent, "root")
		c, err := root.SubAgent(t.Context(), child, "c")
		require.NoError(t, err)
		_, err = c.Chat(t.Context(), "hello")
		require.NoError(t, err)
		pass(61 * time.Minute)
		require.Empty(t, names(t, root))
		require.Equal(t, []string{"Parent/root"}, stored(t, h))
		pass(24 * time.Hour)
		require.Equal(t, []string{"Parent/root"}, stored(t, h), "nobody says how long this one may rest")
	})
}

// The author may change the time: what is stored follows.
func TestTheTimeOfUnusedAgentsCanBeChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		agent.DeleteIdleAfter = time.Hour
		h := actorstest.New(t, agent)
		_, err := h.Agent(agent, "room").Chat(t.Context(), "hello")
		require.NoError(t, err)
		require.NoError(t, h.Stop(t.Context()))
		agent.DeleteIdleAfter = 0
		h.Crash()
		pass(24 * time.Hour)
		require.Equal(t, []string{"Echo/room"}, stored(t, h))
		s := memory.Open(memory.Config{Disk: h.Disk})
		defer s.Close()
		for info, err := range s.Due(t.Context(), persistence.Wake(1<<62)) {
			t.Errorf("%s is still due at %d, %v", info.Stream, info.Wake, err)
		}
	})
}
