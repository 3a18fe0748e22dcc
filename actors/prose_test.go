package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
)

// Prose that comes while an append is under way is stored soon after it, though
// nothing else follows: what waits behind it (a page that connects, say) must not
// wait for the model's next word.
func TestProseIsStoredThoughNothingFollows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		next, said := make(chan string), make(chan error)
		defer close(next)
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
			for word := range next {
				said <- turn.Stream.Text(word)
			}
			return nil
		}}
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		say := func(word string) {
			next <- word
			require.NoError(t, <-said)
			synctest.Wait()
		}
		release := f.hold()
		say("first ")
		time.Sleep(60 * time.Millisecond) // a tick begins the append
		say("second ")
		time.Sleep(60 * time.Millisecond) // a tick that finds it under way
		release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.Messages(ctx)
		require.NoError(t, err)
	})
}
