package actors_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

func TestHandlerAnswers(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	answer, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
	require.NoError(t, err)
	require.Equal(t, actors.StatusCompleted, answer.Status)
	require.Equal(t, "echo: hi", answer.Text())
	require.Equal(t, []string{"user: hi", "assistant: echo: hi"}, conversation(t, h.Agent(agent, "room")))
}

func TestModelAnswers(t *testing.T) {
	var got model.Request
	agent := talker(func(r model.Request) scripted.Answer {
		got = r
		return scripted.Say("Good day.")
	})
	h := actorstest.New(t, agent)
	answer, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
	require.NoError(t, err)
	require.Equal(t, "Good day.", answer.Text())
	require.Equal(t, "Talk.", got.Instructions)
	require.Equal(t, "hi", got.Messages[0].Content[0].Text)
}

func TestModelSeesItsOwnWordsInTheNextTurn(t *testing.T) {
	var last model.Request
	agent := talker(func(r model.Request) scripted.Answer {
		last = r
		return scripted.Say(fmt.Sprintf("answer %d", len(r.Messages)))
	})
	h := actorstest.New(t, agent)
	for range 2 {
		_, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
		require.NoError(t, err)
		h.Restart() // what it sees comes from the journal
	}
	require.Len(t, last.Messages, 3)
	require.Equal(t, model.Assistant, last.Messages[1].Role)
	require.Equal(t, "answer 1", last.Messages[1].Content[0].Text)
}

func TestHistoryIsThereAfterARestartAndAfterACrash(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	_, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
	require.NoError(t, err)
	want := conversation(t, h.Agent(agent, "room"))
	h.Restart()
	require.Equal(t, want, conversation(t, h.Agent(agent, "room")))
	h.Crash()
	require.Equal(t, want, conversation(t, h.Agent(agent, "room")))
}

func TestTheFeedOfATurnIsInOrder(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	h.Await(r.Address(), ended("r1"))
	require.Equal(t, []string{
		"Loaded", "Transcript", "Accepted", "Opened",
		"Chunk", "Chunk", "Chunk", "Chunk",
		"Closed", "Transcript", "Ended",
	}, describe(h.Items(r.Address())))
}

func TestNobodyIsToldBeforeItIsStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := echo()
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		release := f.hold()
		accepted := make(chan error, 1)
		go func() { accepted <- r.Submit(t.Context(), submit("r1", "hi")) }()
		synctest.Wait()
		require.Empty(t, accepted)
		require.Equal(t, []string{"Loaded"}, describe(h.Items(r.Address())))
		release()
		require.NoError(t, <-accepted)
		h.Await(r.Address(), ended("r1"))
	})
}

func TestNothingRunsBeforeItsRequestIsStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		ran := make(chan struct{}, 1)
		h, r := open(t, &f, &actors.Agent{Name: "Echo", OnChatMessage: func(context.Context, *actors.Turn) error {
			ran <- struct{}{}
			return nil
		}})
		release := f.hold()
		go func() { _ = r.Submit(t.Context(), submit("r1", "hi")) }()
		pass(time.Minute)
		require.Empty(t, ran)
		release()
		h.Await(r.Address(), ended("r1"))
		require.Len(t, ran, 1)
	})
}

func TestTheEndOfATurnIsToldWhenItIsStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		held := make(chan struct{})
		f.once(turnEnded, hold(held))
		agent := echo()
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		answered := make(chan actors.ChatResponse, 1)
		go func() {
			answer, _ := r.Chat(t.Context(), "hi")
			answered <- answer
		}()
		synctest.Wait()
		require.Empty(t, answered)
		require.NotContains(t, describe(h.Items(r.Address())), "Ended")
		close(held)
		require.Equal(t, actors.StatusCompleted, (<-answered).Status)
	})
}

func TestManyCommandsAtOnceCostFewAppends(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := echo()
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		release := f.hold()
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if err := r.Submit(t.Context(), submit(fmt.Sprint("r", i), "hi")); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		require.Len(t, f.appends(), 1)
		release()
		all.Wait()
		accepting := 0
		for _, a := range f.appends() {
			if has(a, turnAccepted) {
				accepting++
			}
		}
		require.Equal(t, 2, accepting, "the first command, and all that came while it was stored")
		synctest.Wait()
		require.Len(t, endings(t, h, r.Address()), 10)
	})
}

func TestRequestsAreAnsweredOneAfterTheOther(t *testing.T) {
	running, most := 0, 0
	var mu sync.Mutex
	agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		return turn.Stream.Text("yes")
	}}
	h := actorstest.New(t, agent)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := h.Agent(agent, "room").Chat(t.Context(), "hi"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, most)
}

func TestTheSameRequestAgainChangesNothing(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	for range 3 {
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	}
	h.Await(r.Address(), ended("r1"))
	h.Crash()
	r = h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	require.Equal(t, 1, count(journal(t, h, r.Address()), turnAccepted))
}

func TestAnErrorForVisitorsIsShownAndOthersAreNot(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"for visitors": {actors.Errorf("no %s today", "fish"), "no fish today"},
		"wrapped":      {fmt.Errorf("kitchen: %w", actors.Errorf("no fish today")), "no fish today"},
		"internal":     {errors.New("dial tcp 10.0.0.7"), "Something went wrong while answering. Please try again."},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &actors.Agent{Name: "Echo", OnChatMessage: func(context.Context, *actors.Turn) error { return c.err }}
			h := actorstest.New(t, agent)
			answer, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
			require.NoError(t, err)
			require.Equal(t, actors.StatusError, answer.Status)
			require.EqualError(t, answer.Err, c.text)
		})
	}
}

func TestCancelEndsTheModelsContextAndKeepsWhatWasSaid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := talker(func(model.Request) scripted.Answer {
			return scripted.Answer{scripted.Text{Pieces: []string{"so far "}}, scripted.Hold(make(chan struct{}))}
		})
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		synctest.Wait()
		require.NoError(t, r.AbortRequest(t.Context(), "r1"))
		synctest.Wait() // the bubble would not end if the model went on
		require.Equal(t, map[string]feed.Outcome{"r1": feed.Aborted}, endings(t, h, r.Address()))
		require.Equal(t, []string{"user: hi", "assistant: so far "}, conversation(t, r))
	})
}

func TestCancelOfAQueuedRequestNeverRunsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		next, runs := make(chan struct{}), 0
		agent := talker(func(model.Request) scripted.Answer {
			runs++
			return scripted.Answer{scripted.Hold(next), scripted.Text{Pieces: []string{"yes"}}}
		})
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "a")))
		require.NoError(t, r.Submit(t.Context(), submit("r2", "b")))
		require.NoError(t, r.AbortRequest(t.Context(), "r2"))
		close(next)
		h.Await(r.Address(), ended("r1"))
		synctest.Wait()
		require.Equal(t, map[string]feed.Outcome{"r1": feed.Completed, "r2": feed.Aborted}, endings(t, h, r.Address()))
		require.Equal(t, 1, runs)
	})
}

func TestASlowStoreDoesNotDelayCancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		over := make(chan struct{})
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			<-ctx.Done()
			close(over)
			return ctx.Err()
		}}
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		synctest.Wait()
		release := f.hold()
		cancelled := make(chan error, 1)
		go func() { cancelled <- r.AbortRequest(t.Context(), "r1") }()
		<-over
		synctest.Wait()
		require.Empty(t, cancelled, "nobody is told before it is stored")
		release()
		require.NoError(t, <-cancelled)
	})
}
