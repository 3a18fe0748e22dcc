package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// words is an answer that takes several ticks of the grid.
var words = scripted.Words("one two three four")

const wholeAnswer = "assistant: one two three four"

const wordPause = 60 * time.Millisecond

// counter is a handler that goes on where its answer was cut off.
func counter(ctx context.Context, turn *actors.Turn) error {
	left := words
	if turn.Continuation {
		left = after(textOf(turn.Partial))
	}
	for i, w := range left {
		if i > 0 {
			select {
			case <-time.After(wordPause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if _, err := turn.Stream.Write([]byte(w)); err != nil {
			return err
		}
	}
	return nil
}

// after returns the words that come after said.
func after(said string) []string {
	whole := strings.Join(words, "")
	if !strings.HasPrefix(whole, said) {
		panic(fmt.Sprintf("%q is no beginning of %q", said, whole))
	}
	return scripted.Words(whole[len(said):])
}

// countingModel does the same for a model that goes on with a partial answer.
func countingModel() model.Model {
	return scripted.New(func(r model.Request) scripted.Answer {
		last, left := r.Messages[len(r.Messages)-1], words
		if last.Role == model.Assistant {
			said := ""
			for _, c := range last.Content {
				said += c.Text
			}
			left = after(said)
		}
		return scripted.Answer{scripted.Text{Pieces: left, Every: wordPause}}
	})
}

// crashes crashes a run of one request at its n-th append, which is then either
// not stored, or stored and never acknowledged.
type crashes struct {
	at     int
	stored bool

	n      atomic.Int64
	now    chan struct{}
	silent atomic.Bool // the store answers no question
}

func (c *crashes) config() memory.Config {
	return memory.Config{
		OnAppend: func(persistence.Append) memory.Fault {
			if c.n.Add(1) != int64(c.at) {
				return memory.Fault{}
			}
			close(c.now)
			if c.stored {
				c.silent.Store(true)
				return memory.Fault{Outcome: memory.AckLost}
			}
			return hold(make(chan struct{}))
		},
		OnRead: func(string) error {
			if c.silent.Load() {
				return errCable
			}
			return nil
		},
	}
}

// await reports whether the run has come to the append.
func (c *crashes) await() bool {
	select {
	case <-c.now:
		return true
	case <-time.After(5 * time.Minute):
		return false
	}
}

func TestACrashAtAnyAppendChangesNothingButTheTime(t *testing.T) {
	everyCrash(t, actors.Recovery{}, func(t *testing.T, h *actorstest.Harness, r *actors.Ref, _ bool) {
		require.Equal(t, []string{"user: hi", wholeAnswer}, conversation(t, r))
		require.Equal(t, []string{"completed"}, terminals(journal(t, h, r.Address())))
	})
}

func TestACrashWithoutRecoveryKeepsWhatWasSaidAndEndsTheTurn(t *testing.T) {
	everyCrash(t, actors.Recovery{Off: true}, func(t *testing.T, h *actorstest.Harness, r *actors.Ref, cutOff bool) {
		got := conversation(t, r)
		require.Equal(t, "user: hi", got[0])
		if len(got) > 1 {
			require.Len(t, got, 2)
			require.True(t, strings.HasPrefix(wholeAnswer, got[1]), got[1])
		}
		ends := terminals(journal(t, h, r.Address()))
		require.Len(t, ends, 1)
		if !cutOff {
			require.Equal(t, []string{"completed"}, ends)
			require.Equal(t, wholeAnswer, got[1])
		}
	})
}

// everyCrash runs one request with a crash at each append of each kind of agent,
// and hands what came of it to check.
func everyCrash(t *testing.T, recovery actors.Recovery, check func(t *testing.T, h *actorstest.Harness, r *actors.Ref, cutOff bool)) {
	for kind, agent := range map[string]actors.Agent{
		"handler": {Name: "Counter", OnChatMessage: counter},
		"model":   {Name: "Counter", Model: countingModel()},
	} {
		for _, stored := range []bool{false, true} {
			crashed := true
			for at := 1; crashed; at++ {
				t.Run(fmt.Sprintf("%s/append %d stored %t", kind, at, stored), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						crashed = crashOnce(t, agent, recovery, &crashes{at: at, stored: stored, now: make(chan struct{})}, check)
					})
				})
			}
		}
	}
}

func crashOnce(t *testing.T, agent actors.Agent, recovery actors.Recovery, c *crashes, check func(*testing.T, *actorstest.Harness, *actors.Ref, bool)) bool {
	var hooks atomic.Int64
	agent.Recovery = recovery
	agent.OnChatResponse = func(context.Context, *actors.Self, actors.ChatResponse) error {
		hooks.Add(1)
		return nil
	}
	h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{&agent}, Store: c.config()})
	r := h.Agent(&agent, "room")
	go func() { _ = r.Submit(t.Context(), submit("r1", "hi")) }()
	crashed := c.await()
	var before []*journalv1.Event
	if crashed {
		synctest.Wait()
		before = journal(t, h, r.Address())
		c.silent.Store(false)
		h.Crash()
		r = h.Agent(&agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi"))) // the client asks again
		pass(5 * time.Minute)
	}
	check(t, h, r, count(before, turnAccepted) > count(before, turnEnded))
	require.Positive(t, hooks.Load())
	positionsRise(t, journal(t, h, r.Address()))
	return crashed
}

// terminals are the ends of turns that were not handed over to a recovery.
func terminals(events []*journalv1.Event) []string {
	var out []string
	for _, e := range events {
		if end := e.GetTurnEnded(); end != nil && end.GetOutcome() != journalv1.TurnOutcome_TURN_OUTCOME_RECOVERING {
			out = append(out, strings.ToLower(strings.TrimPrefix(end.GetOutcome().String(), "TURN_OUTCOME_")))
		}
	}
	return out
}

// positionsRise fails if a turn's chunks were numbered with what may have been
// shown before.
func positionsRise(t *testing.T, events []*journalv1.Event) {
	t.Helper()
	var turn, reserved uint64
	for _, e := range events {
		if s := e.GetTurnStarted(); s != nil {
			if s.GetTurn() == turn {
				require.GreaterOrEqual(t, s.GetFirst(), reserved)
			}
			turn, reserved = s.GetTurn(), s.GetReserved()
		}
		if p := e.GetPositionsReserved(); p != nil {
			reserved = p.GetReserved()
		}
		if k := e.GetChunksKept(); k != nil {
			require.Less(t, k.GetFirst(), reserved)
		}
	}
}

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

// A wait is kept by the store: no process needs to be there.
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
		require.NoError(t, r.Submit(t.Context(), submit("r2", "b")))
		pass(500 * time.Millisecond)
		h.Crash()
		pass(5 * time.Minute)
		require.GreaterOrEqual(t, len(calls), 4)
		require.Equal(t, "r2 echo: b", calls[len(calls)-1], "in order")
		require.Equal(t, "r1 echo: a", calls[0])
	})
}

// A hook that is run again must not ask a second time what it has asked before.
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
