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

// A wait is kept by the store: no process needs to be there.
// A hook that is run again must not ask a second time what it has asked before.
