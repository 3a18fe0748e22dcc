package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// What a caller's context does to the turn that it has asked for.

func TestAContextThatEndsAbortsItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			_, _ = turn.Stream.Write([]byte("so far"))
			<-ctx.Done()
			return ctx.Err()
		}}
		heard := &told{}
		agent.OnChatResponse = heard.hook
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		for name, stop := range map[string]func(cancel func(), request string){
			"its context":      func(cancel func(), _ string) { cancel() },
			"AbortRequest":     func(_ func(), request string) { require.NoError(t, r.AbortRequest(t.Context(), request)) },
			"AbortAllRequests": func(func(), string) { require.NoError(t, r.AbortAllRequests(t.Context())) },
		} {
			require.NoError(t, r.ClearMessages(t.Context()), name)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := make(chan actors.ChatResponse, 1)
			go func() {
				response, err := r.SaveMessages(ctx, []uimessage.Message{asking("hi")})
				if err != nil {
					t.Error(err)
				}
				got <- response
			}()
			synctest.Wait()
			items := h.Items(r.Address())
			var request string
			for _, item := range items {
				if a, ok := item.(feed.Accepted); ok {
					request = a.Request
				}
			}
			stop(cancel, request)
			response := <-got
			require.Equal(t, actors.StatusAborted, response.Status, name)
			require.Equal(t, "so far", response.Text(), name)
			require.Equal(t, []string{"user: hi", "assistant: so far"}, conversation(t, r))
			pass(time.Second)
			require.Contains(t, heard.lines(), request+" aborted")
		}
	})
}

func TestAContextThatIsOverStoresAndRunsNothing(t *testing.T) {
	agent := echo()
	agent.OnChatMessage = func(context.Context, *actors.Turn) error {
		t.Error("no work is done")
		return nil
	}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	response, err := r.SaveMessages(ctx, []uimessage.Message{asking("hi")})
	require.NoError(t, err)
	require.Equal(t, actors.ChatResponse{Status: actors.StatusAborted}, response)
	require.Equal(t, []string{"user: hi"}, conversation(t, r))
	response, err = r.SaveMessagesFunc(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, actors.StatusAborted, response.Status)
	response, err = r.ContinueLastTurn(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, actors.StatusAborted, response.Status)
	require.NoError(t, r.WaitUntilStable(t.Context()))
}

// One context may drive many turns; when it ends later, nothing happens.
func TestAContextThatEndsLateHasNoEffect(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	ctx, cancel := context.WithCancel(t.Context())
	for range 20 {
		response, err := r.SaveMessages(ctx, []uimessage.Message{asking("hi")})
		require.NoError(t, err)
		require.Equal(t, actors.StatusCompleted, response.Status)
	}
	before := journal(t, h, r.Address())
	cancel()
	goesOn(t, h, r)
	for _, e := range journal(t, h, r.Address())[len(before):] {
		require.NotEqual(t, "TURN_OUTCOME_ABORTED", e.GetTurnEnded().GetOutcome().String())
	}
}

// The end of a context is heard though the journal cannot be written.
func TestAContextThatEndsInAnOutageIsHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := echo()
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		release := f.hold()
		defer release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := h.Agent(agent, "room").SaveMessages(ctx, []uimessage.Message{asking("hi")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
