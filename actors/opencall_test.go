package actors_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func TestOpenCallsAreThoseOfTheConversationAndOfWhatIsBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan uimessage.Chunk)
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
			for c := range next {
				if err := turn.Stream.Chunk(c); err != nil {
					return err
				}
			}
			return nil
		}}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		open := func() []actors.OpenCall {
			synctest.Wait()
			calls, err := r.OpenCalls(t.Context())
			require.NoError(t, err)
			return calls
		}
		require.Equal(t, []actors.OpenCall{}, open(), "an empty list is a list")
		var messages []uimessage.Message
		require.NoError(t, json.Unmarshal([]byte(`[{"id":"a1","role":"assistant","parts":[
			{"type":"tool-place","toolCallId":"c1","state":"input-available","input":{"exact":true}},
			{"type":"tool-search","toolCallId":"c2","state":"output-available","input":{},"output":1},
			{"type":"tool-pay","toolCallId":"c3","state":"approval-requested","input":{"amount":2},"approval":{"id":"p3"}}]}]`), &messages))
		require.NoError(t, r.PersistMessages(t.Context(), messages))
		stored := []actors.OpenCall{
			{ID: "c1", Tool: "place", Input: []byte(`{"exact":true}`), MessageID: "a1", State: uimessage.InputAvailable},
			{ID: "c3", Tool: "pay", Input: []byte(`{"amount":2}`), MessageID: "a1", State: uimessage.ApprovalRequested, ApprovalID: "p3"},
		}
		require.Equal(t, stored, open())

		go func() { // the author's program asks: what is open stays so
			_, err := r.SaveMessages(t.Context(), []uimessage.Message{said("u1", uimessage.User, "hi")})
			assert.NoError(t, err)
		}()
		next <- uimessage.Chunk{Type: "tool-input-available", ToolCallID: "c4", ToolName: "clock", Input: []byte(`{}`)}
		calls := open()
		require.Len(t, calls, 3)
		require.Equal(t, stored, calls[:2])
		require.Equal(t, "c4", calls[2].ID, "what is being written comes last")
		next <- uimessage.Chunk{Type: "tool-output-available", ToolCallID: "c4", Output: []byte(`1`)}
		require.Equal(t, stored, open())
		close(next)
		require.Equal(t, stored, open())
	})
}

func TestWhatNobodyHasAskedCannotBeAnswered(t *testing.T) {
	agent := &actors.Agent{Name: "Echo", OnChatMessage: func(context.Context, *actors.Turn) error { return nil }}
	r := actorstest.New(t, agent).Agent(agent, "room")
	for name, say := range map[string]func() error{
		"answer":  func() error { return r.AnswerCall(t.Context(), "none", 1, "ann") },
		"fail":    func() error { return r.FailCall(t.Context(), "none", "no", "ann") },
		"approve": func() error { return r.Approve(t.Context(), "none", "", "ann") },
		"deny":    func() error { return r.Deny(t.Context(), "none", "", "ann") },
	} {
		err := say()
		require.ErrorIs(t, err, actors.ErrNoCall, name)
		require.Equal(t, actors.NotFound, code(t, err), name)
	}
	require.Equal(t, actors.BadRequest, code(t, r.AnswerCall(t.Context(), "none", make(chan int), "")))
}
