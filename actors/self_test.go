package actors_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// What turns and hooks may ask of their own agent.

func TestATurnMustNotWaitForItsOwnAgent(t *testing.T) {
	inside := make(chan error, 9)
	agent := echo()
	agent.OnChatMessage = func(_ context.Context, turn *actors.Turn) error {
		ctx := context.Background() // its Self knows all the same
		_, err := turn.Self.SaveMessages(ctx, []uimessage.Message{asking("me")})
		inside <- err
		_, err = turn.Self.SaveMessagesFunc(ctx, nil)
		inside <- err
		_, err = turn.Self.ContinueLastTurn(ctx, nil)
		inside <- err
		_, err = turn.Self.Await(ctx, turn.RequestID)
		inside <- err
		inside <- turn.Self.WaitUntilStable(ctx)
		if turn.RequestID == "r1" { // to ask and not to wait is fine
			if err := turn.Self.Submit(ctx, submit("r2", "more")); err != nil {
				return err
			}
		}
		return turn.Stream.Text("yes")
	}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	for range 5 {
		require.ErrorIs(t, <-inside, actors.ErrInsideTurn)
	}
	for range 5 {
		require.ErrorIs(t, <-inside, actors.ErrInsideTurn)
	}
	h.Await(r.Address(), ended("r2"))
}

// S23: a hook that is run again asks nothing twice, and what it asks is told of
// when it has returned.
func TestAHookThatSavesMessagesAsksOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		answer := agent.OnChatMessage
		agent.OnChatMessage = func(ctx context.Context, turn *actors.Turn) error {
			if turn.Continuation {
				return turn.Stream.Text(", and more")
			}
			return answer(ctx, turn)
		}
		var answers []string
		runs, inside := 0, false
		agent.OnChatResponse = func(ctx context.Context, self *actors.Self, response actors.ChatResponse) error {
			if inside {
				t.Error("entered twice")
			}
			inside = true
			defer func() { inside = false }()
			if textOf(response.Message) != "echo: hi" {
				answers = append(answers, "told of "+response.Text())
				return nil
			}
			runs++
			one, err1 := self.SaveMessages(ctx, []uimessage.Message{asking("one")})
			two, err2 := self.SaveMessagesFunc(ctx, func(_ context.Context, current []uimessage.Message) ([]uimessage.Message, error) {
				return []uimessage.Message{asking(fmt.Sprint(len(current)))}, nil
			})
			three, err3 := self.ContinueLastTurn(ctx, nil)
			answers = append(answers, one.Text(), two.Text(), three.Text())
			if err := self.WaitUntilStable(ctx); err != nil {
				return err
			}
			if runs < 3 {
				return errCable
			}
			return errors.Join(err1, err2, err3)
		}
		h := actorstest.New(t, agent)
		_, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
		require.NoError(t, err)
		pass(500 * time.Millisecond)
		h.Crash()
		pass(time.Minute)
		for run := range 3 {
			require.Equal(t, "echo: one", answers[3*run])
			require.Contains(t, answers[3*run+1], "echo: 4")
			require.Equal(t, "echo: 4, and more", answers[3*run+2])
		}
		require.Len(t, answers, 3*3+3, "the results of its own turns come after it")
		require.Equal(t, []string{"user: hi", "assistant: echo: hi", "user: one", "assistant: echo: one", "user: 4", "assistant: echo: 4, and more"},
			conversation(t, h.Agent(agent, "room")))
	})
}

// A hook that waits for a turn when its agent is lost does not take the turn back: it
// goes on, and the hook's next run gets its answer.
func TestAHookThatIsCutOffLeavesItsTurnAlone(t *testing.T) {
	for range 20 { // which of its two ends a wait sees first is chance
		bubble(t, func(t *testing.T) {
			var f faults
			gate := make(chan struct{})
			agent := echo()
			answer := agent.OnChatMessage
			agent.OnChatMessage = func(ctx context.Context, turn *actors.Turn) error {
				if textOf(turn.Question[0]) == "again" {
					select {
					case <-gate:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				return answer(ctx, turn)
			}
			answers := make(chan actors.ChatResponse, 9)
			agent.OnChatResponse = func(ctx context.Context, self *actors.Self, response actors.ChatResponse) error {
				if response.RequestID != "r1" {
					return nil
				}
				again, err := self.SaveMessages(ctx, []uimessage.Message{asking("again")})
				if err == nil {
					answers <- again
				}
				return err
			}
			h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
			r := h.Agent(agent, "room")
			require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
			synctest.Wait()
			f.once(func(*journalv1.Event) bool { return true }, memory.Fault{Outcome: memory.Conflict})
			require.Error(t, r.PersistMessages(t.Context(), []uimessage.Message{said("x", uimessage.Assistant, "x")}))
			pass(time.Second)
			close(gate)
			require.Equal(t, "echo: again", (<-answers).Text())
		})
	}
}

// A visitor cannot take the place of a request that a hook is going to make.
func TestAClientCannotAskInAHooksName(t *testing.T) {
	agent := echo()
	names := make(chan string, 1)
	agent.OnChatResponse = func(ctx context.Context, self *actors.Self, response actors.ChatResponse) error {
		if response.RequestID == "r1" {
			again, err := self.Chat(ctx, "again")
			names <- again.RequestID
			return err
		}
		return nil
	}
	h := actorstest.New(t, agent)
	require.NoError(t, h.Agent(agent, "room").Submit(t.Context(), submit("r1", "hi")))
	require.Equal(t, actors.BadRequest, code(t, h.Agent(agent, "other").Submit(t.Context(), submit(<-names, "mine"))))
}
