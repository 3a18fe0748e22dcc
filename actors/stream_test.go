package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// chunks returns the types of the chunks that were let out, in order.
func chunks(t testing.TB, items []feed.Item) []string {
	t.Helper()
	types := []string{}
	for _, item := range items {
		if c, ok := item.(feed.Chunk); ok {
			var chunk struct{ Type string }
			require.NoError(t, json.Unmarshal(c.Body, &chunk))
			types = append(types, chunk.Type)
		}
	}
	return types
}

func TestProseRunsAheadOfTheDiskAndFactsDoNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		step := make(chan struct{})
		agent := handler(func(_ context.Context, turn *actors.Turn) error {
			<-step
			if err := turn.Stream.Text("prose"); err != nil {
				return err
			}
			<-step
			if err := turn.Stream.Data("weather", "w1", "rain"); err != nil {
				return err
			}
			if err := turn.Stream.Text("behind"); err != nil {
				return err
			}
			<-step
			return nil
		})
		h, r := open(t, &f, agent)
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		synctest.Wait()
		release := f.hold()
		step <- struct{}{}
		synctest.Wait()
		prose := []string{"start", "text-start", "text-delta", "text-end"}
		require.Equal(t, prose, chunks(t, h.Items(r.Address())), "before the disk")
		step <- struct{}{}
		synctest.Wait()
		require.Equal(t, prose, chunks(t, h.Items(r.Address())), "a fact waits, and what is behind it")
		release()
		synctest.Wait()
		all := append(prose, "data-weather", "text-start", "text-delta", "text-end")
		require.Equal(t, all, chunks(t, h.Items(r.Address())))
		step <- struct{}{}
		h.Await(r.Address(), ended("r1"))
	})
}

func TestPositionsGoOnBeyondTheirReservation(t *testing.T) {
	const deltas = 10_000
	agent := handler(func(_ context.Context, turn *actors.Turn) error {
		for i := range deltas {
			if _, err := fmt.Fprintf(turn.Stream, "%d,", i); err != nil {
				return err
			}
		}
		return nil
	})
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	h.Await(r.Address(), ended("r1"))
	var next uint64
	for _, item := range h.Items(r.Address()) {
		if c, ok := item.(feed.Chunk); ok {
			require.Equal(t, next, c.Seq)
			next++
		}
	}
	require.EqualValues(t, deltas+6, next)
	events := journal(t, h, r.Address())
	require.GreaterOrEqual(t, count(events, func(e *journalv1.Event) bool { return e.GetPositionsReserved() != nil }), 2)
	positionsRise(t, events)
	require.True(t, strings.HasSuffix(conversation(t, r)[1], fmt.Sprintf("%d,", deltas-1)))
}

// No position is shown that a crash could give out again.
func TestAPositionIsReservedBeforeItIsShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := handler(func(_ context.Context, turn *actors.Turn) error {
			for range 10_000 {
				if _, err := turn.Stream.Write([]byte("x")); err != nil {
					return err
				}
			}
			return nil
		})
		h, r := open(t, &f, agent)
		reservation := func(e *journalv1.Event) bool { return e.GetPositionsReserved() != nil }
		held := make(chan struct{})
		f.set(func(a persistence.Append) (fault memory.Fault) {
			if has(a, reservation) {
				return hold(held)
			}
			return fault
		})
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		pass(time.Second)
		shown := len(chunks(t, h.Items(r.Address())))
		require.LessOrEqual(t, shown, 4096)
		require.Greater(t, shown, 3000)
		h.Crash()
		close(held)
		f.set(nil)
		pass(time.Minute)
		require.Equal(t, []string{"completed"}, terminals(journal(t, h, r.Address())))
		positionsRise(t, journal(t, h, r.Address()))
	})
}

// The feed tells the same story as the journal, in the same order.
func TestTheFeedIsInTheJournalsOrder(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			if err := r.Submit(t.Context(), submit(fmt.Sprint("r", i), "hi")); err != nil {
				t.Error(err)
			}
			if i%3 == 0 {
				if err := r.AbortRequest(t.Context(), fmt.Sprint("r", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	h.Await(r.Address(), func(feed.Item) bool { return len(endings(t, h, r.Address())) == 30 })
	var told, stored []string
	for _, item := range h.Items(r.Address()) {
		switch item := item.(type) {
		case feed.Accepted:
			told = append(told, "accepted "+item.Request)
		case feed.Ended:
			told = append(told, "ended "+item.Request)
		}
	}
	requests := make(map[uint64]string)
	for _, e := range journal(t, h, r.Address()) {
		if a := e.GetTurnAccepted(); a != nil {
			requests[a.GetTurn()] = a.GetRequestId()
			stored = append(stored, "accepted "+a.GetRequestId())
		}
		if e := e.GetTurnEnded(); e != nil {
			stored = append(stored, "ended "+requests[e.GetTurn()])
		}
	}
	require.Equal(t, stored, told)
}

// The grid ticks at the very moments at which these answers begin and end.
func TestAnswersThatEndAtATick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const tick = 50 * time.Millisecond
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			for range 3 {
				if _, err := turn.Stream.Write([]byte("x")); err != nil {
					return err
				}
				time.Sleep(tick)
			}
			return nil
		}}
		h := actorstest.New(t, agent)
		for i := range 100 {
			r := h.Agent(agent, fmt.Sprint("room", i))
			for j := range 5 {
				require.NoError(t, r.Submit(t.Context(), submit(fmt.Sprint("r", j), "hi")))
			}
		}
		pass(time.Minute)
		for i := range 100 {
			require.Len(t, endings(t, h, feed.Address{Class: "Echo", Name: fmt.Sprint("room", i)}), 5)
		}
	})
}

// Prose of all agents meets in one commit; a slow writer does not cost an append
// per chunk.
func TestProseIsStoredByTheTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := handler(func(_ context.Context, turn *actors.Turn) error {
			for range 100 {
				if _, err := turn.Stream.Write([]byte("word ")); err != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		})
		h, r := open(t, &f, agent)
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		h.Await(r.Address(), ended("r1"))
		appends := 0
		for _, a := range f.appends() {
			if has(a, func(e *journalv1.Event) bool { return e.GetChunksKept() != nil }) {
				appends++
			}
		}
		require.InDelta(t, 1000/50, appends, 3)
	})
}

func TestALateTabIsShownTheConversationAsOfItsPlaceInTheFeed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		next := make(chan struct{})
		agent := handler(func(_ context.Context, turn *actors.Turn) error {
			if err := turn.Stream.Text("so far"); err != nil {
				return err
			}
			<-next
			return nil
		})
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		synctest.Wait()
		require.NoError(t, r.View(t.Context(), 5))
		view := h.Await(r.Address(), func(i feed.Item) bool { _, ok := i.(feed.View); return ok }).(feed.View)
		require.EqualValues(t, 5, view.Ask)
		require.NotContains(t, string(view.Messages), "so far", "the stream's replay brings that")
		close(next)
		h.Await(r.Address(), ended("r1"))
	})
}

func TestEveryKindOfContentReachesTheMessage(t *testing.T) {
	agent := handler(func(_ context.Context, turn *actors.Turn) error {
		s := turn.Stream
		for _, err := range []error{
			s.Reasoning("hm"), s.Text("yes"), s.Data("weather", "w", map[string]int{"c": 7}), s.Data("weather", "w", map[string]int{"c": 8}),
			s.Source("s1", "https://example.com", "Example"), s.File("text/plain", []byte("file")), s.Transient("progress", 50),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	h.Await(r.Address(), ended("r1"))
	messages, err := r.Messages(t.Context())
	require.NoError(t, err)
	var types []string
	for _, p := range messages[1].Parts {
		types = append(types, p.Type)
	}
	require.Equal(t, []string{"reasoning", "text", "data-weather", "source-url", "file"}, types)
	require.JSONEq(t, `{"c":8}`, string(messages[1].Parts[2].Data))
	require.Contains(t, chunks(t, h.Items(r.Address())), "data-progress")
}

// An outcome of a call that an earlier message has made belongs there. Clients
// would fail on it as content of this one.
func TestAnOutcomeOfAnEarlierMessagesCallIsStoredThere(t *testing.T) {
	var late []error
	agent := handler(func(_ context.Context, turn *actors.Turn) error {
		return turn.Stream.Chunk(uimessage.Chunk{Type: "tool-input-available", ToolCallID: "c", ToolName: "t", Input: []byte(`{}`)})
	})
	first := agent.OnChatMessage
	agent.OnChatMessage = func(ctx context.Context, turn *actors.Turn) error {
		if turn.RequestID == "r1" {
			return first(ctx, turn)
		}
		for _, c := range []uimessage.Chunk{
			{Type: "tool-output-available", ToolCallID: "c", Output: []byte(`"42"`)},
			{Type: "tool-output-error", ToolCallID: "c", ErrorText: "too late"},
			{Type: "tool-output-available", ToolCallID: "nobody's", Output: []byte(`1`)},
		} {
			late = append(late, turn.Stream.Chunk(c))
		}
		return turn.Stream.Text("done")
	}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "r1")))
	h.Await(r.Address(), ended("r1"))
	_, err := r.SaveMessages(t.Context(), []uimessage.Message{said("u2", uimessage.User, "r2")}) // a person's would settle the call
	require.NoError(t, err)
	require.NoError(t, late[0])
	require.NoError(t, late[1], "it is settled")
	var unfit *uimessage.SequenceError
	require.ErrorAs(t, late[2], &unfit)
	require.NotContains(t, chunks(t, h.Items(r.Address())), "tool-output-available")
	shown := 0
	for _, item := range h.Items(r.Address()) {
		if tr, ok := item.(feed.Transcript); ok && strings.Contains(string(tr.Messages), `"42"`) && tr.Request == "" {
			shown++
		}
	}
	require.Equal(t, 1, shown, "all are shown it")
	h.Crash()
	messages, err := h.Agent(agent, "room").Messages(t.Context())
	require.NoError(t, err)
	require.Len(t, messages, 4)
	require.Equal(t, uimessage.OutputAvailable, messages[1].Parts[0].State)
	require.Equal(t, `"42"`, string(messages[1].Parts[0].Output))
	require.Equal(t, "done", textOf(messages[3]))
	require.Len(t, messages[3].Parts, 1)
}
