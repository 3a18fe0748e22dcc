package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

const stalled = "The answer stalled. Please try again."

func TestAModelThatIsSilentIsAskedAgain(t *testing.T) {
	for name, silent := range map[string]scripted.Answer{
		"from the beginning": {scripted.Hold(nil)},
		"in mid-answer":      {scripted.Text{Pieces: []string{"so "}, Open: true}, scripted.Hold(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				agent := talker(func(r model.Request) scripted.Answer {
					if time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < 5*time.Second {
						return silent
					}
					return scripted.Say("good")
				})
				agent.StallTimeout = 5 * time.Second
				h := actorstest.New(t, agent)
				answer, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
				require.NoError(t, err)
				require.Equal(t, actors.StatusCompleted, answer.Status)
				require.Contains(t, answer.Text(), "good")
				require.Equal(t, name == "in mid-answer", answer.Text() == "so good")
			})
		})
	}
}

func TestAModelThatIsAlwaysSilentIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := 0
		agent := talker(func(model.Request) scripted.Answer {
			asked++
			return scripted.Answer{scripted.Hold(nil)}
		})
		agent.StallTimeout, agent.Recovery.MaxFailures = time.Second, 3
		h := actorstest.New(t, agent)
		answer, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
		require.NoError(t, err)
		require.EqualError(t, answer.Err, stalled)
		require.Equal(t, 3, asked)
	})
}

// A handler is not run again: its turn ends, whether it listens or not.
func TestAHandlerThatIsSilentEndsWithAnError(t *testing.T) {
	for name, listens := range map[string]bool{"listens": true, "does not listen": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				let, late := make(chan struct{}), make(chan error, 1)
				agent := handler(func(ctx context.Context, turn *actors.Turn) error {
					_, _ = turn.Stream.Write([]byte("so far"))
					if listens {
						<-ctx.Done()
						return nil
					}
					<-let
					late <- turn.Stream.Text("late")
					return nil
				})
				agent.StallTimeout = time.Second
				h := actorstest.New(t, agent)
				r := h.Agent(agent, "room")
				require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
				pass(2 * time.Second)
				end := h.Await(r.Address(), ended("r1")).(feed.Ended)
				require.Equal(t, feed.Errored, end.Outcome)
				require.Equal(t, stalled, end.Text)
				require.Equal(t, []string{"user: hi", "assistant: so far"}, conversation(t, r))
				close(let)
				if !listens {
					require.ErrorIs(t, <-late, actors.ErrTurnOver)
				}
				goesOn(t, h, r)
			})
		})
	}
}

// Who writes is not silent, however long it takes; nor is who waits for the disk.
func TestAnAnswerThatGoesOnDoesNotStall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		halfway := make(chan struct{})
		agent := handler(func(_ context.Context, turn *actors.Turn) error {
			for i := range 20 {
				time.Sleep(900 * time.Millisecond)
				if i == 10 {
					close(halfway)
				}
				if _, err := turn.Stream.Write([]byte("word ")); err != nil {
					return err
				}
			}
			return nil
		})
		agent.StallTimeout = time.Second
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		<-halfway
		f.outage(errCable)
		pass(time.Minute)
		f.outage(nil)
		pass(time.Minute)
		synctest.Wait()
		require.Equal(t, feed.Completed, endings(t, h, r.Address())["r1"])
	})
}
