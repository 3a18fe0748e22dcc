package actorstest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// greeter greets, and goes on greeting where a crash has cut it off.
func greeter() *actors.Agent {
	return &actors.Agent{Name: "Greeter", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		words := []string{"Good ", "day ", "to ", "you."}
		if turn.Continuation {
			words = words[2:]
		}
		for _, w := range words {
			if _, err := turn.Stream.Write([]byte(w)); err != nil {
				return err
			}
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}}
}

// A test as an author would write it: four minutes and a crash, in no time.
func TestGreetingSurvivesACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := greeter()
		h := actorstest.New(t, agent)
		go func() { _, _ = h.Agent(agent, "room").Chat(t.Context(), "Hello") }()
		time.Sleep(90 * time.Second) // "Good day "
		h.Crash()
		time.Sleep(5 * time.Minute)
		history, err := h.Agent(agent, "room").Messages(t.Context())
		require.NoError(t, err)
		require.Equal(t, "Good day to you.", actors.ChatResponse{Message: history[1]}.Text())
	})
}

func TestItemsGoOnOverACrashAndARestart(t *testing.T) {
	agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		return turn.Stream.Text("yes")
	}}
	h := actorstest.New(t, agent)
	address := h.Agent(agent, "room").Address()
	for i, again := range []func(){func() {}, h.Crash, h.Restart} {
		again()
		answer, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
		require.NoError(t, err)
		h.Await(address, func(item feed.Item) bool {
			e, ok := item.(feed.Ended)
			return ok && e.Request == answer.RequestID
		})
		loaded := 0
		for _, item := range h.Items(address) {
			if _, ok := item.(feed.Loaded); ok {
				loaded++
			}
		}
		require.Equal(t, i+1, loaded)
	}
	require.Zero(t, h.Lost(address))
}
