package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

type tally struct {
	Count int `json:"count"`
}

// clerk is a plain agent that counts.
func clerk() *actors.Agent {
	return &actors.Agent{
		Name: "Clerk", InitialState: tally{},
		ValidateState: func(_ context.Context, _ *actors.Self, next json.RawMessage) error {
			if strings.Contains(string(next), "-") {
				return errors.New("count must be >= 0")
			}
			return nil
		},
		Terms: func(_ context.Context, _ *actors.Self, r *http.Request) (actors.Terms, error) {
			return actors.Terms{Readonly: r.URL.Query().Has("readonly")}, nil
		},
		Callable: []actors.Method{actors.NewMethod("bump", "", bump)},
	}
}

func bump(ctx context.Context, self *actors.Self) (tally, error) {
	return actors.UpdateState(ctx, self.Ref, func(c *tally) error {
		c.Count++
		return nil
	})
}

func stateSet(e *journalv1.Event) bool { return e.GetStateSet() != nil }

// states are those that sockets were told of, with who was not.
func states(h *actorstest.Harness, a feed.Address) (told []string) {
	for _, item := range h.Items(a) {
		if s, ok := item.(feed.State); ok {
			told = append(told, strings.TrimSpace(string(s.JSON)+" "+s.By))
		}
	}
	return told
}

// view is the state that a socket gets that connects now.
func view(t *testing.T, h *actorstest.Harness, r *actors.Ref, ask uint64) feed.View {
	t.Helper()
	require.NoError(t, r.View(t.Context(), ask))
	return h.Await(r.Address(), func(i feed.Item) bool { v, ok := i.(feed.View); return ok && v.Ask == ask }).(feed.View)
}

func state(t *testing.T, r *actors.Ref) string {
	t.Helper()
	var raw json.RawMessage
	require.NoError(t, r.State(t.Context(), &raw))
	return string(raw)
}

func TestStateIsDurableAndToldToAll(t *testing.T) {
	agent := clerk()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.Equal(t, `{"count":0}`, state(t, r))
	require.Equal(t, `{"count":0}`, string(view(t, h, r, 1).State))
	require.Empty(t, journal(t, h, r.Address()), "who only looks leaves nothing behind")

	require.NoError(t, r.SetState(t.Context(), tally{3}))
	require.NoError(t, r.SetState(t.Context(), tally{3}))
	for i, again := range []func(){func() {}, h.Crash, h.Restart} {
		again()
		r = h.Agent(agent, "room")
		require.Equal(t, `{"count":3}`, state(t, r))
		require.Equal(t, `{"count":3}`, string(view(t, h, r, uint64(i+2)).State))
	}
	require.Equal(t, []string{`{"count":3}`}, states(h, r.Address()))
	require.Equal(t, 1, count(journal(t, h, r.Address()), stateSet), "what is the state already is no change")

	require.NoError(t, r.SetState(t.Context(), nil))
	require.Equal(t, "null", state(t, r), "null is a state, not none")
	h.Crash()
	require.Equal(t, "null", state(t, h.Agent(agent, "room")))
}

func TestStateOutlivesAClearAndTheAgentsStayInMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		agent.PassivateAfter = time.Second
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		none := "untouched"
		require.NoError(t, r.State(t.Context(), &none))
		require.Equal(t, "untouched", none, "there is no state")
		require.Nil(t, view(t, h, r, 1).State)
		_, err := r.Chat(t.Context(), "hi")
		require.NoError(t, err)
		require.NoError(t, r.SetState(t.Context(), "<kept>"))
		require.NoError(t, r.ClearMessages(t.Context()))
		pass(time.Minute)
		require.Equal(t, `"<kept>"`, state(t, r))
		require.NotNil(t, journal(t, h, r.Address())[0].GetBase(), "the clear has replaced what was before")
	})
}

func TestAClientsStateIsToldToAllButItself(t *testing.T) {
	agent := clerk()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	s, err := h.Connect(r, "")
	require.NoError(t, err)
	require.NoError(t, s.SetState(t.Context(), tally{5}))
	got, _, err := s.Call(t.Context(), "bump")
	require.NoError(t, err)
	require.Equal(t, `{"count":6}`, got)
	require.Equal(t, []string{`{"count":5} ` + s.ID(), `{"count":6}`}, states(h, r.Address()))
}

func TestAStateThatIsRefusedChangesNothing(t *testing.T) {
	agent := clerk()
	agent.MaxStateBytes = 100
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	s, err := h.Connect(r, "")
	require.NoError(t, err)
	readonly, err := h.Connect(r, "?readonly")
	require.NoError(t, err)
	long := strings.Repeat("x", 99)

	require.EqualError(t, s.SetState(t.Context(), tally{-1}), "State update rejected")
	require.EqualError(t, s.SetState(t.Context(), long), "state has 101 bytes; the limit is 100")
	require.EqualError(t, readonly.SetState(t.Context(), tally{9}), "Connection is readonly")
	_, _, err = readonly.Call(t.Context(), "bump")
	require.EqualError(t, err, "Connection is readonly")

	require.EqualError(t, r.SetState(t.Context(), tally{-1}), "count must be >= 0")
	require.EqualError(t, r.SetState(t.Context(), long), "state has 101 bytes; the limit is 100")
	require.EqualError(t, r.SetState(t.Context(), make(chan int)), "state is no JSON")
	require.EqualError(t, r.SetState(t.Context(), json.RawMessage("{")), "state is no JSON")

	require.Equal(t, `{"count":0}`, state(t, r))
	require.Empty(t, journal(t, h, r.Address()))
	require.NoError(t, r.SetState(t.Context(), strings.Repeat("x", 98)))
	require.NoError(t, s.SetState(t.Context(), json.RawMessage("\"a\xffb\"")))
	require.Equal(t, "\"a\uFFFDb\"", state(t, r), "what is no UTF-8 would close the other sockets")
}

func TestAValidatorThatFailsHasNotAgreed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		heard := make(chan error, 1)
		agent := clerk()
		agent.HookTimeout = time.Second
		agent.OnError = func(_ context.Context, _ *actors.Self, err error) { heard <- err }
		fails := make(chan func(context.Context), 1)
		agent.ValidateState = func(ctx context.Context, _ *actors.Self, _ json.RawMessage) error {
			(<-fails)(ctx)
			return nil
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		s, err := h.Connect(r, "")
		require.NoError(t, err)
		for want, fail := range map[string]func(context.Context){
			"ValidateState: panic: no":                                     func(context.Context) { panic("no") },
			"ValidateState: actors: the hook took longer than HookTimeout": func(ctx context.Context) { <-ctx.Done() },
		} {
			fails <- fail
			require.EqualError(t, s.SetState(t.Context(), tally{1}), "State update rejected")
			require.ErrorContains(t, <-heard, want)
		}
		require.Empty(t, states(h, r.Address()))
	})
}

func TestNobodyHearsOfAStateBeforeItIsDurable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := clerk()
		changed := make(chan string, 1)
		agent.OnStateChange = func(_ context.Context, _ *actors.Self, state json.RawMessage) error {
			changed <- string(state)
			return nil
		}
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		release := f.hold()
		done := make(chan error, 1)
		go func() { done <- r.SetState(t.Context(), tally{1}) }()
		synctest.Wait()
		require.Empty(t, done)
		require.Empty(t, changed)
		require.Empty(t, states(h, r.Address()))
		release()
		require.NoError(t, <-done)
		require.Equal(t, `{"count":1}`, <-changed)
		require.Equal(t, []string{`{"count":1}`}, states(h, r.Address()))

		f.once(stateSet, memory.Fault{Outcome: memory.Conflict})
		require.Error(t, r.SetState(t.Context(), tally{2}))
		synctest.Wait()
		require.Empty(t, changed, "it was not stored")
		require.Equal(t, `{"count":1}`, state(t, r))
	})
}

func TestUpdateStateBuildsOnTheLastState(t *testing.T) {
	agent := clerk()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := r.Call(context.Background(), "bump", nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, `{"count":20}`, state(t, r))

	_, err := actors.UpdateState(t.Context(), r, func(c *tally) error { c.Count = 0; return errCable })
	require.ErrorIs(t, err, errCable)
	_, err = actors.UpdateState(t.Context(), r, func(c *tally) error { c.Count = -1; return nil })
	require.EqualError(t, err, "count must be >= 0")
	require.Equal(t, `{"count":20}`, state(t, r))
	require.NoError(t, r.SetState(t.Context(), "words"))
	_, err = actors.UpdateState(t.Context(), r, func(*tally) error { return nil })
	require.ErrorContains(t, err, "state of Clerk/room")
}

func TestOnStateChangeHearsOfEachChangeInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := clerk()
		agent.PassivateAfter = time.Second
		var told []string
		inside := 0
		agent.OnStateChange = func(ctx context.Context, self *actors.Self, state json.RawMessage) error {
			inside++
			defer func() { inside-- }()
			who := "server"
			if c := actors.ConnectionFrom(ctx); c != nil {
				who = c.Key()
			}
			time.Sleep(time.Minute) // longer than the agent stays in memory
			told = append(told, fmt.Sprintf("%s %s %d", who, state, inside))
			if string(state) == `{"count":1}` {
				panic("one")
			}
			return self.SetState(ctx, tally{100}) // a change only once
		}
		agent.HookTimeout = time.Hour
		failed := make(chan error, 1)
		agent.OnError = func(_ context.Context, _ *actors.Self, err error) { failed <- err }
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		s, err := h.Connect(r, "?_pk=page")
		require.NoError(t, err)
		require.NoError(t, s.SetState(t.Context(), tally{1}))
		require.NoError(t, s.SetState(t.Context(), tally{1}))
		require.NoError(t, r.SetState(t.Context(), tally{2}))
		_, _, err = s.Call(t.Context(), "bump")
		require.NoError(t, err)
		pass(time.Hour)
		require.Equal(t, []string{`page {"count":1} 1`, `server {"count":2} 1`, `page {"count":3} 1`, `server {"count":100} 1`}, told)
		require.ErrorContains(t, <-failed, "OnStateChange: panic: one")
		require.Zero(t, h.Lost(r.Address()))
	})
}

func TestAChangeThatCannotBeToldInTimeIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		let := make(chan struct{})
		agent := clerk()
		agent.HookTimeout = time.Hour
		agent.OnStateChange = func(context.Context, *actors.Self, json.RawMessage) error { <-let; return nil }
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		for i := range 1001 { // one is being told
			require.NoError(t, r.SetState(t.Context(), i))
			synctest.Wait()
		}
		var e *actors.Error
		require.ErrorAs(t, r.SetState(t.Context(), "more"), &e)
		require.Equal(t, actors.Busy, e.Code)
		close(let)
		synctest.Wait()
		require.NoError(t, r.SetState(t.Context(), "more"))
	})
}

func TestAStopCutsHooksOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := clerk()
		causes := make(chan error, 10)
		agent.OnStateChange = func(ctx context.Context, _ *actors.Self, _ json.RawMessage) error {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.SetState(t.Context(), tally{1}))
		require.NoError(t, r.SetState(t.Context(), tally{2}))
		synctest.Wait()
		require.NoError(t, h.Stop(t.Context()))
		require.EqualError(t, <-causes, "the node is stopping")
		require.Empty(t, causes, "what was not begun is not begun any more")
	})
}

// Who may not change the state cannot do so by a turn that outlives the socket, or
// the process.
func TestATurnOfAReadonlySocketStaysReadonly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		verdicts := make(chan error)
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			select {
			case verdicts <- turn.Self.SetState(ctx, tally{9}):
				return turn.Stream.Text("done")
			case <-ctx.Done(): // of a crash
				return context.Cause(ctx)
			}
		}}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		s := submit("r1", "hi")
		s.By, s.Readonly = "a socket that is gone", true
		require.NoError(t, r.Submit(t.Context(), s))
		synctest.Wait()
		h.Crash()
		r = h.Agent(agent, "room")
		require.Equal(t, actors.ErrReadonly, <-verdicts)
		h.Await(r.Address(), ended("r1"))
		require.NoError(t, r.Submit(t.Context(), submit("r2", "hi")))
		require.NoError(t, <-verdicts)
	})
}
