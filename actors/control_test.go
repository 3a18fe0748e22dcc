package actors_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func code(t *testing.T, err error) actors.Code {
	t.Helper()
	var e *actors.Error
	require.ErrorAs(t, err, &e)
	return e.Code
}

func TestAbortAllRequestsLeavesTheQueueAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := gated(nil) // for ever
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		for _, request := range []string{"r1", "r2", "r3"} {
			require.NoError(t, r.Submit(t.Context(), submit(request, "hi")))
		}
		for n := range 3 {
			require.NoError(t, r.AbortAllRequests(t.Context()))
			synctest.Wait()
			require.Len(t, endings(t, h, r.Address()), n+1)
		}
		require.NoError(t, r.AbortAllRequests(t.Context()))
		require.Equal(t, map[string]feed.Outcome{"r1": feed.Aborted, "r2": feed.Aborted, "r3": feed.Aborted}, endings(t, h, r.Address()))
	})
}

func TestHasPendingInteraction(t *testing.T) {
	bubble(t, func(t *testing.T) {
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
		pending := func() bool {
			synctest.Wait()
			is, err := r.HasPendingInteraction(t.Context())
			require.NoError(t, err)
			return is
		}
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		require.False(t, pending())
		next <- uimessage.Chunk{Type: "tool-input-available", ToolCallID: "c1", ToolName: "t", Input: []byte(`{}`)}
		require.True(t, pending(), "while it is written")
		stable := make(chan error, 1)
		go func() { stable <- r.WaitUntilStable(t.Context()) }()
		close(next)
		require.True(t, pending(), "when it is stored")
		require.Empty(t, stable, "somebody has to answer")
		require.NoError(t, r.PersistMessages(t.Context(), []uimessage.Message{answered(t, r)}))
		require.False(t, pending())
		require.NoError(t, <-stable)
	})
}

// answered is the answer with its call settled.
func answered(t *testing.T, r *actors.Ref) uimessage.Message {
	messages, err := r.Messages(t.Context())
	require.NoError(t, err)
	m := messages[1]
	for i := range m.Parts {
		if m.Parts[i].IsTool() {
			m.Parts[i].State, m.Parts[i].Output = uimessage.OutputAvailable, []byte(`1`)
		}
	}
	return m
}

func TestWaitUntilStable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, hook := make(chan struct{}), make(chan struct{})
		agent := gated(gate)
		agent.PassivateAfter = time.Minute
		agent.OnChatResponse = func(context.Context, *actors.Self, actors.ChatResponse) error {
			<-hook
			return nil
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.WaitUntilStable(t.Context()), "nothing was ever asked")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		require.NoError(t, r.Submit(t.Context(), submit("r2", "hi")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, r.WaitUntilStable(ctx), context.DeadlineExceeded)
		done := make(chan error, 1)
		go func() { done <- r.WaitUntilStable(t.Context()) }()
		gate <- struct{}{}
		synctest.Wait()
		require.Empty(t, done, "a turn runs")
		gate <- struct{}{}
		synctest.Wait()
		require.Empty(t, done, "a hook may ask for more")
		close(hook)
		require.NoError(t, <-done)
	})
}

func TestWhoWaitsForStabilityIsToldWhenTheNodeStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := gated(nil)
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		done := make(chan error, 1)
		go func() { done <- r.WaitUntilStable(t.Context()) }()
		synctest.Wait()
		h.Restart()
		require.Equal(t, actors.Stopping, code(t, <-done))
	})
}

// A caller's key gets its answer, also long after and from another process.
func TestAwaitAnswersForAKeyAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := make(chan struct{})
		agent := gated(gate)
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		keyed := submit("key", "hi")
		keyed.Append, keyed.Fingerprint = true, []byte("f")
		for range 2 {
			require.NoError(t, r.Submit(t.Context(), keyed))
		}
		early := make(chan actors.ChatResponse, 1)
		go func() {
			response, err := r.Await(t.Context(), "key")
			if err != nil {
				t.Error(err)
			}
			early <- response
		}()
		synctest.Wait()
		require.Empty(t, early)
		close(gate)
		require.Equal(t, "echo: hi", (<-early).Text())

		other := keyed
		other.Fingerprint = []byte("g")
		require.Equal(t, actors.Conflict, code(t, r.Submit(t.Context(), other)))
		require.NoError(t, r.Submit(t.Context(), submit("plain", "hi")))
		for i := range 40 { // more ends than are remembered for all
			_, err := r.Chat(t.Context(), fmt.Sprint(i))
			require.NoError(t, err)
		}
		h.Restart() // leaves a base behind
		h.Crash()
		r = h.Agent(agent, "room")
		response, err := r.Await(t.Context(), "key")
		require.NoError(t, err)
		require.Equal(t, "echo: hi", response.Text())
		require.Equal(t, actors.StatusCompleted, response.Status)
		for _, request := range []string{"plain", "never"} {
			_, err = r.Await(t.Context(), request)
			require.Equal(t, actors.NotFound, code(t, err))
		}
		require.NoError(t, r.Submit(t.Context(), keyed))
		require.Equal(t, actors.Conflict, code(t, r.Submit(t.Context(), other)))
	})
}

func TestAwaitFollowsARecovery(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			if turn.Continuation {
				return turn.Stream.Text("whole")
			}
			_ = turn.Stream.Data("fact", "1", "the ")
			_ = turn.Stream.Text("the ")
			<-ctx.Done()
			return ctx.Err()
		}}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		pass(time.Second)
		h.Crash()
		response, err := h.Agent(agent, "room").Await(t.Context(), "r1")
		require.NoError(t, err)
		require.Equal(t, "the whole", response.Text())
		response, err = h.Agent(agent, "room").Await(t.Context(), "r1")
		require.NoError(t, err)
		require.Equal(t, actors.StatusCompleted, response.Status)
	})
}

// Who waits for an agent that cannot be opened, or is going for good, is told so.
func TestWaitersAreToldWhenThereIsNobodyToWaitFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := echo()
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		f.outageOfReads(persistence.ErrUnavailable)
		_, err := r.Await(t.Context(), "r1")
		require.Equal(t, actors.Unavailable, code(t, err))
		require.Equal(t, actors.Unavailable, code(t, r.WaitUntilStable(t.Context())))
	})
}
