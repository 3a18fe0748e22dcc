package actors_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// What an author may do wrong, and what becomes of it.

// handler is an agent whose handler is f for its first turn, and good after that.
func handler(f func(context.Context, *actors.Turn) error) *actors.Agent {
	return &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		if turn.RequestID == "r1" {
			return f(ctx, turn)
		}
		return turn.Stream.Text("good")
	}}
}

// goesOn fails the test if the agent does not answer the next request.
func goesOn(t *testing.T, h *actorstest.Harness, r *actors.Ref) {
	t.Helper()
	require.NoError(t, r.Submit(t.Context(), submit("next", "hi")))
	item := h.Await(r.Address(), ended("next"))
	require.Equal(t, feed.Completed, item.(feed.Ended).Outcome)
	require.Zero(t, h.Lost(r.Address()))
}

// panics is a model that does.
type panics struct{}

func (panics) Name() string { return "panics" }
func (panics) Stream(context.Context, model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		yield(model.TextStart{ID: "1"}, nil)
		yield(model.TextDelta{ID: "1", Text: "so far "}, nil)
		panic("model \xff")
	}
}

func TestAPanicOfTheAuthorsEndsTheTurnWithAnError(t *testing.T) {
	for name, agent := range map[string]*actors.Agent{
		"handler at once": handler(func(context.Context, *actors.Turn) error { panic("handler") }),
		"handler in mid-answer": handler(func(_ context.Context, turn *actors.Turn) error {
			_, _ = turn.Stream.Write([]byte("so far "))
			panic("handler \xff")
		}),
		"handler that ends its goroutine": handler(func(context.Context, *actors.Turn) error {
			runtime.Goexit()
			return nil
		}),
		"model": {Name: "Echo", Model: panics{}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := actorstest.New(t, agent)
				r := h.Agent(agent, "room")
				require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
				end := h.Await(r.Address(), ended("r1")).(feed.Ended)
				require.Equal(t, feed.Errored, end.Outcome)
				require.Equal(t, "Something went wrong while answering. Please try again.", end.Text)
				if agent.Model == nil {
					goesOn(t, h, r)
				}
				require.Zero(t, h.Lost(r.Address()))
			})
		})
	}
}

func TestAHookThatPanicsOrHangsIsTriedAgainAndThenGivenUp(t *testing.T) {
	for name, hook := range map[string]func(context.Context) error{
		"panics":          func(context.Context) error { panic("hook") },
		"fails":           func(context.Context) error { return errCable },
		"waits for ever":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"ends its thread": func(context.Context) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				calls := make(chan string, 100)
				agent := echo()
				agent.HookTimeout = time.Second
				agent.OnChatResponse = func(ctx context.Context, _ *actors.Self, response actors.ChatResponse) error {
					calls <- response.RequestID
					if response.RequestID == "r1" {
						return hook(ctx)
					}
					return nil
				}
				h := actorstest.New(t, agent)
				r := h.Agent(agent, "room")
				for _, request := range []string{"r1", "r2"} {
					require.NoError(t, r.Submit(t.Context(), submit(request, "hi")))
				}
				pass(time.Hour)
				require.Len(t, calls, 8+1)
				for range 8 {
					require.Equal(t, "r1", <-calls)
				}
				require.Equal(t, "r2", <-calls)
				require.Zero(t, h.Lost(r.Address()))
			})
		})
	}
}

func TestAHookThatIgnoresItsContextBlocksNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		let := make(chan struct{})
		agent := echo()
		agent.HookTimeout = time.Second
		calls := make(chan string, 100)
		agent.OnChatResponse = func(_ context.Context, _ *actors.Self, response actors.ChatResponse) error {
			calls <- response.RequestID
			if response.RequestID == "r1" {
				<-let
			}
			return nil
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		for _, request := range []string{"r1", "r2"} {
			require.NoError(t, r.Submit(t.Context(), submit(request, "hi")))
		}
		pass(time.Hour)
		require.Len(t, calls, 8+1)
		close(let)
	})
}

func TestAHandlerThatIgnoresItsContextDoesNotHoldUpTheNextTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		let, late := make(chan struct{}), make(chan error, 3)
		agent := handler(func(_ context.Context, turn *actors.Turn) error {
			<-let
			late <- turn.Stream.Text("late")
			late <- turn.Stream.Data("x", "1", 1)
			return nil
		})
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		synctest.Wait()
		require.NoError(t, r.AbortRequest(t.Context(), "r1"))
		goesOn(t, h, r)
		close(let)
		require.ErrorIs(t, <-late, actors.ErrTurnOver)
		require.ErrorIs(t, <-late, actors.ErrTurnOver)
		require.NotContains(t, strings.Join(conversation(t, r), ""), "late")
	})
}

func TestWhatAHandlerLeavesRunningCannotWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		returned, late := make(chan struct{}), make(chan error, 1)
		agent := handler(func(_ context.Context, turn *actors.Turn) error {
			go func() {
				<-returned
				late <- turn.Stream.Text("late")
			}()
			return turn.Stream.Text("yes")
		})
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		h.Await(r.Address(), ended("r1"))
		close(returned)
		require.ErrorIs(t, <-late, actors.ErrTurnOver)
		require.Equal(t, "assistant: yes", conversation(t, r)[1])
	})
}

func TestAHandlerMayWriteFromManyGoroutines(t *testing.T) {
	agent := handler(func(_ context.Context, turn *actors.Turn) error {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 50 {
					if err := turn.Stream.Text(fmt.Sprint(i)); err != nil {
						t.Error(err)
					}
					if err := turn.Stream.Data("n", fmt.Sprint(i), i); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		return nil
	})
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	h.Await(r.Address(), ended("r1"))
	text := conversation(t, r)[1]
	for i := range 8 {
		require.Equal(t, 50, strings.Count(text, fmt.Sprint(i)))
	}
	var last uint64
	for _, item := range h.Items(r.Address()) {
		if c, ok := item.(feed.Chunk); ok {
			require.True(t, last == 0 || c.Seq > last)
			last = c.Seq
		}
	}
}

func TestAHandlerMustNotChatWithItsOwnAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var h *actorstest.Harness
		var agent *actors.Agent
		inside := make(chan error, 2)
		agent = handler(func(ctx context.Context, turn *actors.Turn) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err := h.Agent(agent, "room").Chat(ctx, "me")
			inside <- err
			_, err = h.Agent(agent, "other").Chat(ctx, "you")
			inside <- err
			return turn.Stream.Text("yes")
		})
		h = actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		require.ErrorIs(t, <-inside, actors.ErrInsideTurn)
		require.NoError(t, <-inside)
		h.Await(r.Address(), ended("r1"))
		require.Equal(t, []string{"user: hi", "assistant: yes"}, conversation(t, r))
	})
}

func TestWaysToEndAHandler(t *testing.T) {
	for name, c := range map[string]struct {
		f       func(*actors.Turn) error
		outcome feed.Outcome
		text    string
		stored  int
	}{
		"writes nothing": {func(*actors.Turn) error { return nil }, feed.Completed, "No response was generated by the agent.", 1},
		"has nothing to say": {func(turn *actors.Turn) error {
			turn.Stream.Empty()
			return nil
		}, feed.Completed, "", 1},
		"error chunk": {func(turn *actors.Turn) error {
			_ = turn.Stream.Text("so far")
			return turn.Stream.Chunk(uimessage.Chunk{Type: "error", ErrorText: "in band"})
		}, feed.Errored, "in band", 2},
		"abort chunk": {func(turn *actors.Turn) error {
			_ = turn.Stream.Text("so far")
			return turn.Stream.Chunk(uimessage.Chunk{Type: "abort"})
		}, feed.Aborted, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			agent := handler(func(_ context.Context, turn *actors.Turn) error { return c.f(turn) })
			h := actorstest.New(t, agent)
			r := h.Agent(agent, "room")
			require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
			end := h.Await(r.Address(), ended("r1")).(feed.Ended)
			require.Equal(t, c.outcome, end.Outcome)
			require.Equal(t, c.text, end.Text)
			require.Len(t, conversation(t, r), c.stored)
		})
	}
}

// An answer must fit into the journal: one that did not would end its incarnation
// again and again.
