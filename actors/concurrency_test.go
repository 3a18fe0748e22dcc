package actors_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// told keeps what OnChatResponse is told of.
type told struct {
	mu   sync.Mutex
	list []actors.ChatResponse
}

func (l *told) hook(_ context.Context, _ *actors.Self, response actors.ChatResponse) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, response)
	return nil
}

// lines are the requests and how they ended, in order.
func (l *told) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := []string{}
	for _, r := range l.list {
		lines = append(lines, r.RequestID+" "+string(r.Status))
	}
	return lines
}

// gated is echo, whose turns each wait for the gate once.
func gated(gate <-chan struct{}) *actors.Agent {
	agent := echo()
	answer := agent.OnChatMessage
	agent.OnChatMessage = func(ctx context.Context, turn *actors.Turn) error {
		select {
		case <-gate:
			return answer(ctx, turn)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return agent
}

func TestOverlappingMessages(t *testing.T) {
	const done, skipped = feed.Completed, feed.Skipped
	for strategy, want := range map[actors.Strategy]struct {
		ends         map[string]feed.Outcome
		told         []string
		conversation []string
	}{
		"": {
			map[string]feed.Outcome{"r1": done, "r2": done, "r3": done},
			[]string{"r1 completed", "r2 completed", "r3 completed"},
			[]string{"user: 1", "user: 2", "user: 3", "assistant: echo: 1", "assistant: echo: 2", "assistant: echo: 3"},
		},
		actors.ConcurrencyLatest: {
			map[string]feed.Outcome{"r1": done, "r2": skipped, "r3": done},
			[]string{"r1 completed", "r3 completed"},
			[]string{"user: 1", "user: 2", "user: 3", "assistant: echo: 1", "assistant: echo: 3"},
		},
		actors.ConcurrencyMerge: {
			map[string]feed.Outcome{"r1": done, "r2": skipped, "r3": done},
			[]string{"r1 completed", "r3 completed"},
			[]string{"user: 1", "user: 2\n\n3", "assistant: echo: 1", "assistant: echo: 2\n\n3"},
		},
		actors.ConcurrencyDrop: {
			map[string]feed.Outcome{"r1": done, "r2": skipped, "r3": skipped},
			[]string{"r1 completed"},
			[]string{"user: 1", "assistant: echo: 1"},
		},
		actors.ConcurrencyDebounce: {
			map[string]feed.Outcome{"r1": done, "r2": skipped, "r3": done},
			[]string{"r1 completed", "r3 completed"},
			[]string{"user: 1", "user: 2", "user: 3", "assistant: echo: 1", "assistant: echo: 3"},
		},
	} {
		t.Run(string(strategy), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				gate, heard := make(chan struct{}), &told{}
				agent := gated(gate)
				agent.MessageConcurrency.Strategy, agent.OnChatResponse = strategy, heard.hook
				h := actorstest.New(t, agent)
				r := h.Agent(agent, "room")
				for i, request := range []string{"r1", "r2", "r3"} {
					require.NoError(t, r.Submit(t.Context(), submit(request, string(rune('1'+i)))))
				}
				close(gate)
				pass(time.Minute)
				require.Equal(t, want.ends, endings(t, h, r.Address()))
				require.Equal(t, want.told, heard.lines())
				require.Equal(t, want.conversation, conversation(t, r))
			})
		})
	}
}

func TestAMessageWithNothingToOverlapRunsAtOnce(t *testing.T) {
	for _, strategy := range []actors.Strategy{actors.ConcurrencyLatest, actors.ConcurrencyMerge, actors.ConcurrencyDrop, actors.ConcurrencyDebounce} {
		bubble(t, func(t *testing.T) {
			agent := echo()
			agent.MessageConcurrency.Strategy = strategy
			h := actorstest.New(t, agent)
			r := h.Agent(agent, "room")
			for _, request := range []string{"r1", "r2"} {
				require.NoError(t, r.Submit(t.Context(), submit(request, "hi")))
				synctest.Wait()
				require.Equal(t, feed.Completed, endings(t, h, r.Address())[request])
			}
		})
	}
}

// S20: the time of quiet goes on through a restart, and 750 ms is the standard.
func TestDebounceWaitsForQuietAlsoThroughACrash(t *testing.T) {
	for window, least := range map[time.Duration]time.Duration{0: 750 * time.Millisecond, 300 * time.Millisecond: 300 * time.Millisecond} {
		bubble(t, func(t *testing.T) {
			gate := make(chan struct{})
			agent := gated(gate)
			agent.MessageConcurrency = actors.Concurrency{Strategy: actors.ConcurrencyDebounce, Debounce: window}
			h := actorstest.New(t, agent)
			r := h.Agent(agent, "room")
			begun := time.Now()
			require.NoError(t, r.Submit(t.Context(), submit("r1", "1")))
			require.NoError(t, r.Submit(t.Context(), submit("r2", "2")))
			close(gate)
			pass(100 * time.Millisecond)
			h.Crash()
			r = h.Agent(agent, "room")
			pass(least - time.Since(begun) - time.Millisecond)
			require.NotContains(t, endings(t, h, r.Address()), "r2")
			pass(2 * time.Millisecond)
			require.Equal(t, feed.Completed, endings(t, h, r.Address())["r2"])
		})
	}
}

func TestAClearEndsWhatDebounces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate, heard := make(chan struct{}), &told{}
		agent := gated(gate)
		agent.MessageConcurrency.Strategy, agent.OnChatResponse = actors.ConcurrencyDebounce, heard.hook
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "1")))
		require.NoError(t, r.Submit(t.Context(), submit("r2", "2")))
		gate <- struct{}{}
		synctest.Wait()
		require.NoError(t, r.ClearMessages(t.Context()))
		require.NoError(t, r.Submit(t.Context(), submit("r3", "3")))
		gate <- struct{}{} // at once: it overlaps with nothing
		pass(time.Minute)
		require.Equal(t, map[string]feed.Outcome{"r1": feed.Completed, "r2": feed.Skipped, "r3": feed.Completed}, endings(t, h, r.Address()))
		require.Equal(t, []string{"r1 completed", "r3 completed"}, heard.lines())
		require.Equal(t, []string{"user: 3", "assistant: echo: 3"}, conversation(t, r))
	})
}

// Messages that were made one are whole, however long they are together.
func TestLongMergedMessagesAreStoredWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := make(chan struct{})
		agent := gated(gate)
		agent.MessageConcurrency = actors.Concurrency{Strategy: actors.ConcurrencyMerge}
		agent.MaxMessageBytes = 3000
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		long := strings.Repeat("long ", 500)
		require.NoError(t, r.Submit(t.Context(), submit("r1", "first")))
		require.NoError(t, r.Submit(t.Context(), submit("r2", long)))
		require.NoError(t, r.Submit(t.Context(), submit("r3", long)))
		close(gate)
		synctest.Wait()
		m, err := r.Message(t.Context(), "u-r3")
		require.NoError(t, err)
		require.Equal(t, long+"\n\n"+long, textOf(m))
	})
}

// What is merged goes into the newest message, which need not be the request's.
func TestATurnKnowsItsQuestionUnderTheIDThatItWasMergedInto(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := make(chan struct{})
		var asked []string
		agent := gated(gate)
		answer := agent.OnChatMessage
		agent.OnChatMessage = func(ctx context.Context, turn *actors.Turn) error {
			for _, m := range turn.Question {
				asked = append(asked, textOf(m))
			}
			return answer(ctx, turn)
		}
		agent.MessageConcurrency = actors.Concurrency{Strategy: actors.ConcurrencyMerge}
		agent.MaxPersistedMessages = 2
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "first")))
		require.NoError(t, r.Submit(t.Context(), submit("r2", "second")))
		require.NoError(t, r.SetMessages(t.Context(), "socket", []uimessage.Message{said("aside", uimessage.User, "aside")}))
		gate <- struct{}{}
		synctest.Wait()
		require.Equal(t, []string{"first", "second\n\naside"}, asked)
		require.NoError(t, r.PersistMessages(t.Context(), []uimessage.Message{said("n1", uimessage.Assistant, "one"), said("n2", uimessage.Assistant, "two")}))
		require.Contains(t, conversation(t, r), "user: second\n\naside", "a turn is about it")
		close(gate)
	})
}
