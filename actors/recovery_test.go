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
)

func TestCrashAfterCrashGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		started := make(chan struct{}, 100)
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, _ *actors.Turn) error {
			started <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		for range 5 {
			<-started
			h.Crash()
		}
		pass(time.Second)
		require.Empty(t, started)
		require.Equal(t, []string{"error"}, terminals(journal(t, h, r.Address())))
	})
}

func TestAPlannedStopIsNoCrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			if turn.Attempt > 10 {
				return turn.Stream.Text("at last")
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		for range 10 {
			pass(time.Second)
			h.Restart()
		}
		pass(time.Second)
		require.Equal(t, []string{"completed"}, terminals(journal(t, h, r.Address())))
		require.Equal(t, []string{"user: hi", "assistant: at last"}, conversation(t, h.Agent(agent, "room")))
	})
}

func TestAPlannedStopInMidAnswerGoesOn(t *testing.T) {
	for kind, agent := range map[string]*actors.Agent{
		"handler": {Name: "Counter", OnChatMessage: counter},
		"model":   {Name: "Counter", Model: countingModel()},
	} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := actorstest.New(t, agent)
				chat := make(chan error, 1)
				r := h.Agent(agent, "room")
				go func() {
					_, err := r.Chat(t.Context(), "hi")
					chat <- err
				}()
				pass(2*wordPause + wordPause/2)
				h.Restart()
				require.ErrorIs(t, <-chat, actors.ErrInterrupted)
				pass(time.Minute)
				require.Equal(t, []string{"user: hi", wholeAnswer}, conversation(t, h.Agent(agent, "room")))
				for _, e := range journal(t, h, r.Address()) {
					require.Zero(t, e.GetRecoveryDetected().GetCrashes())
				}
			})
		})
	}
}

func TestChatFollowsARecovery(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failed := false
		agent := talker(func(r model.Request) scripted.Answer {
			if !failed {
				failed = true
				return scripted.Answer{
					scripted.Text{Pieces: words[:2], Open: true},
					scripted.Fail{Err: &model.Error{Cause: model.Transient, Err: errCable}},
				}
			}
			return scripted.Answer{scripted.Text{Pieces: words[2:]}}
		})
		h := actorstest.New(t, agent)
		answer, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
		require.NoError(t, err)
		require.Equal(t, actors.StatusCompleted, answer.Status)
		require.True(t, answer.Continuation)
		require.Equal(t, "one two three four", answer.Text())
	})
}

func TestAModelThatFailsForAMomentIsAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var asked []time.Time
		agent := talker(func(model.Request) scripted.Answer {
			asked = append(asked, time.Now())
			if len(asked) < 4 {
				return scripted.Answer{scripted.Fail{Err: &model.Error{Cause: model.Transient, Err: errCable}}}
			}
			return scripted.Say("yes")
		})
		h := actorstest.New(t, agent)
		answer, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
		require.NoError(t, err)
		require.Equal(t, "yes", answer.Text())
		require.Len(t, asked, 4)
		for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			require.InDelta(t, wait, asked[i+1].Sub(asked[i]), float64(100*time.Millisecond))
		}
	})
}

func TestAWaitGoesOnThroughACrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var asked []time.Time
		agent := talker(func(model.Request) scripted.Answer {
			asked = append(asked, time.Now())
			if len(asked) == 1 {
				return scripted.Answer{scripted.Fail{Err: &model.Error{Cause: model.Transient, RetryAfter: time.Minute, Err: errCable}}}
			}
			return scripted.Say("yes")
		})
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		pass(10 * time.Second)
		h.Crash()
		pass(2 * time.Minute)
		require.Equal(t, []string{"user: hi", "assistant: yes"}, conversation(t, h.Agent(agent, "room")))
	})
}

func TestAHookRunsUntilItHasSucceeded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls []string
		agent := echo()
		agent.OnChatResponse = func(_ context.Context, _ *actors.Self, response actors.ChatResponse) error {
			calls = append(calls, response.RequestID+" "+textOf(response.Message))
			if len(calls) < 3 {
				return errCable
			}
			return nil
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "a")))
		synctest.Wait()
		require.NoError(t, r.Submit(t.Context(), submit("r2", "b")))
		pass(500 * time.Millisecond)
		h.Crash()
		pass(5 * time.Minute)
		require.GreaterOrEqual(t, len(calls), 4)
		require.Equal(t, "r2 echo: b", calls[len(calls)-1], "in order")
		require.Equal(t, "r1 echo: a", calls[0])
	})
}

func TestAHookThatChatsAsksOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		var answers []string
		fail := true
		agent.OnChatResponse = func(ctx context.Context, self *actors.Self, response actors.ChatResponse) error {
			if textOf(response.Message) != "echo: hi" {
				return nil
			}
			answer, err := self.Chat(ctx, "more")
			answers = append(answers, answer.Text())
			if err == nil && fail {
				fail = false
				return errCable
			}
			return err
		}
		h := actorstest.New(t, agent)
		_, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
		require.NoError(t, err)
		pass(time.Minute)
		require.Equal(t, []string{"echo: more", "echo: more"}, answers)
		require.Equal(t, []string{"user: hi", "assistant: echo: hi", "user: more", "assistant: echo: more"}, conversation(t, h.Agent(agent, "room")))
	})
}
