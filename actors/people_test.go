package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// pays counts its runs, and a person has to approve each.
func pays(runs *atomic.Int32) actors.Tool {
	return actors.ToolWith(actors.ToolOf("pay", func(context.Context, *actors.ToolCall, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`"paid"`), ignore(runs.Add(1))
	}), 0, nil, func(json.RawMessage) bool { return true })
}

func ignore(int32) error { return nil }

func chats(t *testing.T, r *actors.Ref) {
	t.Helper()
	answer, err := r.Chat(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, actors.StatusCompleted, answer.Status)
}

func TestAnOpenCallIsAnsweredFromGoAndTheAnswerGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		say  func(*actorstest.Harness, *actors.Ref)
		told string
		runs int32
		tool string
	}{
		"an output": {func(h *actorstest.Harness, r *actors.Ref) { h.Answer(r, "place", map[string]int{"x": 1}) }, `{"x":1}`, 0, "place"},
		"a failure": {func(h *actorstest.Harness, r *actors.Ref) { h.Fail(r, "place", "no GPS") }, `"no GPS"`, 0, "place"},
		"a refusal": {func(h *actorstest.Harness, r *actors.Ref) { h.Fail(r, "place", "") }, `"Tool execution denied by user"`, 0, "place"},
		"approval":  {func(h *actorstest.Harness, r *actors.Ref) { h.Approve(r, "pay") }, `"paid"`, 1, "pay"},
		"denial":    {func(h *actorstest.Harness, r *actors.Ref) { h.Deny(r, "pay", "too much") }, `"The user has denied this call. Reason: too much"`, 0, "pay"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var runs atomic.Int32
				m := plays(calls("c1 "+c.tool+` {}`), scripted.Say("done"))
				h, _, r := looper(t, m, place(), pays(&runs))
				chats(t, r)
				c.say(h, r)
				require.NoError(t, r.WaitUntilStable(t.Context()))
				require.Equal(t, []string{"user: go", "assistant: done"}, conversation(t, r), "one answer")
				require.Equal(t, []string{"c1 " + c.told}, results(m.requests()[1]))
				require.Equal(t, c.runs, runs.Load())
				require.ErrorIs(t, r.AnswerCall(t.Context(), "c1", 2, ""), actors.ErrSettled)
				require.ErrorIs(t, r.Approve(t.Context(), "c1", "", ""), actors.ErrSettled)
			})
		})
	}
}

func TestTheAnswerGoesOnWhenAllCallsOfItAreAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var runs atomic.Int32
		m := plays(calls(`c1 place {}`, `c2 pay {}`, `c3 weather {}`), scripted.Say("done"))
		h, _, r := looper(t, m, place(), pays(&runs), weather())
		chats(t, r)
		require.ErrorIs(t, r.AnswerCall(t.Context(), "c3", 1, ""), actors.ErrSettled)
		require.ErrorIs(t, r.AnswerCall(t.Context(), "c2", 1, ""), actors.ErrServers)
		h.Answer(r, "place", 1)
		pass(time.Hour)
		require.Len(t, m.requests(), 1)
		require.Zero(t, runs.Load())
		h.Approve(r, "pay")
		require.NoError(t, r.WaitUntilStable(t.Context()))
		require.Equal(t, []string{`c1 1`, `c2 "paid"`, `c3 {"for":{}}`}, results(m.requests()[1]))
	})
}

func TestOfTwoApproversOneDecides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var runs atomic.Int32
		m := plays(calls(`c1 pay {}`), scripted.Say("done"))
		h, _, r := looper(t, m, pays(&runs))
		chats(t, r)
		type said struct {
			who string
			err error
		}
		said2 := make(chan said, 2)
		go func() { said2 <- said{"ann", r.Approve(t.Context(), "c1", "fine", "ann")} }()
		go func() { said2 <- said{"bob", r.Deny(t.Context(), "c1", "never", "bob")} }()
		first, second := <-said2, <-said2
		if first.err != nil {
			first, second = second, first
		}
		require.NoError(t, first.err)
		require.ErrorIs(t, second.err, actors.ErrSettled)
		require.NoError(t, r.WaitUntilStable(t.Context()))
		decided := decisions(journal(t, h, r.Address()))
		require.Len(t, decided, 1)
		require.Equal(t, first.who, decided[0].GetWho())
		require.Equal(t, time.Now().Add(-50*time.Millisecond).UnixMilli(), decided[0].GetAtMs())
		require.Equal(t, first.who == "ann", runs.Load() == 1)
	})
}

func decisions(events []*journalv1.Event) []*journalv1.ApprovalDecided {
	var out []*journalv1.ApprovalDecided
	for _, e := range events {
		if d := e.GetApprovalDecided(); d != nil {
			out = append(out, d)
		}
	}
	return out
}

// TestPeopleAreWaitedForOverRestarts restarts between any two steps of an approval and an answer.
func TestPeopleAreWaitedForOverRestarts(t *testing.T) {
	for name, stop := range map[string]func(*actorstest.Harness){"a crash": (*actorstest.Harness).Crash, "a stop": (*actorstest.Harness).Restart} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var runs atomic.Int32
				m := plays(calls(`c1 place {}`, `c2 pay {"n":1}`), scripted.Say("done"))
				h, agent, r := looper(t, m, place(), pays(&runs))
				again := func() {
					stop(h)
					r = h.Agent(agent, "room")
				}
				chats(t, r)
				again()
				require.Equal(t, "c2", h.OpenCall(r, "pay").ID)
				h.Approve(r, "pay")
				again()
				h.Answer(r, "place", 1)
				again() // the continuation is armed
				require.NoError(t, r.WaitUntilStable(t.Context()))
				require.Equal(t, []string{"user: go", "assistant: done"}, conversation(t, r))
				require.Equal(t, []string{`c1 1`, `c2 "paid"`}, results(m.requests()[1]))
				require.Len(t, m.requests(), 2)
				require.Equal(t, int32(1), runs.Load())
			})
		})
	}
}

func TestAnApprovedCallThatACrashCutsOffIsNotRunAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		runs := 0
		pay := actors.ToolWith(actors.ToolOf("pay", func(ctx context.Context, _ *actors.ToolCall, _ json.RawMessage) (json.RawMessage, error) {
			runs++
			<-ctx.Done()
			return nil, ctx.Err()
		}), 0, nil, func(json.RawMessage) bool { return true })
		m := plays(calls(`c1 pay {}`), scripted.Say("who knows"))
		h, agent, r := looper(t, m, pay)
		chats(t, r)
		h.Approve(r, "pay")
		pass(time.Second)
		require.Equal(t, 1, runs)
		h.Crash()
		r = h.Agent(agent, "room")
		require.NoError(t, r.WaitUntilStable(t.Context()))
		require.Equal(t, 1, runs)
		require.Equal(t, []string{`c1 "The call was interrupted; its outcome is unknown."`}, results(m.requests()[1]))
		require.Equal(t, []string{"user: go", "assistant: who knows"}, conversation(t, r))
	})
}

func TestACallThatNobodyAnswersInTimeHasFailed(t *testing.T) {
	for name, tool := range map[string]actors.Tool{"an answer": place(), "a decision": actors.ToolWith(weather(), 0, nil, func(json.RawMessage) bool { return true })} {
		for restart, between := range map[string]func(*actorstest.Harness){"at once": func(*actorstest.Harness) {}, "over a crash": (*actorstest.Harness).Crash} {
			t.Run(name+" "+restart, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					m := plays(calls(`c1 `+tool.Name+` {}`), scripted.Say("sorry"))
					agent := &actors.Agent{Name: "Looper", Model: m.model(), Tools: []actors.Tool{tool}, AnswerTimeout: time.Hour}
					h := actorstest.New(t, agent)
					r := h.Agent(agent, "room")
					start := time.Now()
					chats(t, r)
					open := h.OpenCall(r, tool.Name)
					require.Equal(t, start.Add(time.Hour).UnixMilli(), open.ExpiresAt.UnixMilli())
					pass(30 * time.Minute)
					between(h)
					pass(29 * time.Minute)
					require.Len(t, m.requests(), 1)
					pass(2 * time.Minute)
					require.Len(t, m.requests(), 2, "the agent wakes by itself")
					r = h.Agent(agent, "room")
					require.NoError(t, r.WaitUntilStable(t.Context()))
					require.Equal(t, []string{`c1 "Nobody answered in time."`}, results(m.requests()[1]))
					require.ErrorIs(t, r.AnswerCall(t.Context(), "c1", 1, ""), actors.ErrSettled)
				})
			})
		}
	}
}

func TestAnApprovedClientsToolWaitsForItsClient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := plays(calls(`c1 place {}`), scripted.Say("there"))
		h, agent, r := looper(t, m, actors.ClientTool("place", "", nil, actors.NeedsApproval(true)))
		chats(t, r)
		require.Equal(t, "approval-requested", h.OpenCall(r, "place").State)
		h.Approve(r, "place")
		pass(time.Minute)
		h.Crash()
		r = h.Agent(agent, "room")
		require.Equal(t, "approval-responded", h.OpenCall(r, "place").State)
		require.Len(t, m.requests(), 1, "approval alone is no outcome")
		h.Answer(r, "place", "Oslo")
		require.NoError(t, r.WaitUntilStable(t.Context()))
		require.Equal(t, []string{`c1 "Oslo"`}, results(m.requests()[1]))
	})
}

func TestAnAnswerWhileTheModelStillWritesIsPartOfWhatItGoesOnWith(t *testing.T) {
	bubble(t, func(t *testing.T) {
		rest := make(chan struct{})
		m := plays(append(calls(`c1 place {}`), scripted.Hold(rest)), scripted.Say("there"))
		h, _, r := looper(t, m, place())
		go func() { _, _ = r.Chat(t.Context(), "go") }()
		h.Answer(r, "place", 1)
		pass(time.Minute)
		require.Len(t, m.requests(), 1)
		close(rest)
		synctest.Wait()
		require.NoError(t, r.WaitUntilStable(t.Context()))
		require.Equal(t, []string{"c1 1"}, results(m.requests()[1]))
		require.Equal(t, []string{"user: go", "assistant: there"}, conversation(t, r))
	})
}

func TestAUserWhoGoesOnLeavesTheCallUnanswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := plays(calls(`c1 place {}`), scripted.Say("never mind"))
		h, _, r := looper(t, m, place())
		chats(t, r)
		s := submit("r2", "something else")
		s.Append = true
		require.NoError(t, r.Submit(t.Context(), s))
		h.Await(r.Address(), ended("r2"))
		require.Equal(t, []string{`c1 "The call was not answered before the user went on."`}, results(m.requests()[1]))
		require.ErrorIs(t, r.AnswerCall(t.Context(), "c1", 1, ""), actors.ErrSettled)
	})
}

func TestAnAnswerThatCannotBeStoredIsNoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := plays(calls(`c1 place {}`), scripted.Say("there"))
		f := &faults{}
		agent := &actors.Agent{Name: "Looper", Model: m.model(), Tools: []actors.Tool{place()}}
		h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
		r := h.Agent(agent, "room")
		chats(t, r)
		release := f.hold()
		answered := make(chan error, 1)
		go func() { answered <- r.AnswerCall(t.Context(), "c1", 1, "ann") }()
		pass(time.Second)
		require.Empty(t, answered, "it is told when it is durable")
		require.Len(t, m.requests(), 1)
		h.Crash()
		release()
		require.Error(t, <-answered)
		r = h.Agent(agent, "room")
		require.Equal(t, "c1", h.OpenCall(r, "place").ID)
		var updated bool
		for _, i := range h.Items(r.Address()) {
			_, is := i.(feed.Updated)
			updated = updated || is
		}
		require.False(t, updated)
		require.False(t, errors.Is(r.AnswerCall(t.Context(), "c1", 1, "ann"), actors.ErrSettled))
	})
}
