package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// open starts agent on a store whose faults f decides on.
func open(t testing.TB, f *faults, agent *actors.Agent) (*actorstest.Harness, *actors.Ref) {
	h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
	return h, h.Agent(agent, "room")
}

func TestAnAppendOfUnknownOutcomeIsSettledInPlace(t *testing.T) {
	for _, outcome := range []memory.Outcome{memory.AckLost, memory.Lost, memory.Late} {
		for _, of := range []string{"TurnAccepted", "TurnEnded"} {
			t.Run(fmt.Sprint(of, outcome), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					var f faults
					runs := 0
					agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
						runs++
						return turn.Stream.Text("yes")
					}}
					h, r := open(t, &f, agent)
					f.once(map[string]func(*journalv1.Event) bool{"TurnAccepted": turnAccepted, "TurnEnded": turnEnded}[of], memory.Fault{Outcome: outcome})
					answer, err := r.Chat(t.Context(), "hi")
					require.NoError(t, err)
					require.Equal(t, "yes", answer.Text())
					require.Equal(t, 1, runs)
					require.Zero(t, h.Lost(r.Address()), "the incarnation goes on")
					events := journal(t, h, r.Address())
					require.Equal(t, 1, count(events, turnAccepted))
					require.Equal(t, 1, count(events, turnEnded))
				})
			})
		}
	}
}

// A database may execute a statement after its client has given up on it, looked
// in vain, and sent it again.
func TestAnAppendThatComesThroughLateIsRecognisedAsOurs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := echo()
		h, r := open(t, &f, agent)
		late, second := make(chan struct{}), make(chan struct{})
		sent := 0
		f.set(func(a persistence.Append) memory.Fault {
			if !has(a, turnAccepted) {
				return memory.Fault{}
			}
			if sent++; sent == 1 {
				return memory.Fault{Outcome: memory.Late, Hold: late}
			}
			return hold(second)
		})
		answered := make(chan error, 1)
		go func() {
			_, err := r.Chat(t.Context(), "hi")
			answered <- err
		}()
		synctest.Wait() // looked in vain, sent again
		require.Equal(t, 2, sent)
		close(late)
		synctest.Wait()
		close(second)
		require.NoError(t, <-answered)
		require.Zero(t, h.Lost(r.Address()))
		require.Equal(t, 1, count(journal(t, h, r.Address()), turnAccepted))
	})
}

// What is sent again is the same append, whatever was decided meanwhile: a wake
// from later would leave a turn that a crash cuts off asleep.
func TestWhatIsSentAgainIsTheSameAppend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := echo()
		_, r := open(t, &f, agent)
		gate := make(chan struct{})
		f.once(turnAccepted, memory.Fault{Outcome: memory.Lost, Hold: gate})
		asked, cancelled := make(chan error, 1), make(chan error, 1)
		go func() { asked <- r.Submit(t.Context(), submit("r1", "hi")) }()
		synctest.Wait()
		go func() { cancelled <- r.AbortRequest(t.Context(), "r1") }()
		synctest.Wait() // decided, and nothing is due any more
		close(gate)
		require.NoError(t, <-asked)
		require.NoError(t, <-cancelled)
		sent := f.seen
		require.Equal(t, persistence.Now, sent[0].Wake)
		require.Equal(t, sent[0], sent[1])
		require.Equal(t, persistence.Never, sent[2].Wake)
	})
}

// answersTwice is a store that breaks the contract.
type answersTwice struct{ persistence.Store }

func (s answersTwice) Append(a persistence.Append, done func(error)) {
	s.Store.Append(a, func(err error) { done(err); done(err) })
}

func TestAnAnswerThatComesTwiceIsIgnored(t *testing.T) {
	agent := echo()
	rt := actors.NewRuntime(actors.RuntimeConfig{Store: answersTwice{memory.Open(memory.Config{})}, Agents: []*actors.Agent{agent}})
	for i := range 20 {
		answer, err := rt.Agent(agent, "room").Chat(t.Context(), fmt.Sprint(i))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("echo: ", i), answer.Text())
	}
	require.NoError(t, rt.Stop(t.Context()))
}

func TestAConflictEndsTheIncarnationAndTheTurnGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		cut := make(chan error, 1)
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			if turn.Attempt > 1 || turn.Continuation {
				return turn.Stream.Text("again")
			}
			if err := turn.Stream.Text("once "); err != nil {
				return err
			}
			<-ctx.Done()
			cut <- context.Cause(ctx)
			return turn.Stream.Text("too late")
		}}
		h, r := open(t, &f, agent)
		f.once(func(e *journalv1.Event) bool { return e.GetChunksKept() != nil }, memory.Fault{Outcome: memory.Conflict})
		_, err := r.Chat(t.Context(), "hi")
		require.ErrorIs(t, err, actors.ErrInterrupted)
		require.ErrorIs(t, <-cut, actors.ErrInterrupted)
		synctest.Wait()
		pass(time.Second)
		require.Equal(t, 1, h.Lost(r.Address()), "sockets resume")
		require.Equal(t, []string{"user: hi", "assistant: again"}, conversation(t, h.Agent(agent, "room")))
	})
}

// What is in the mailbox of an incarnation that ends is answered all the same.
func TestEverybodyIsAnsweredWhenAnIncarnationEnds(t *testing.T) {
	var f faults
	_, r := open(t, &f, echo())
	var n atomic.Int64
	f.set(func(persistence.Append) memory.Fault {
		if n.Add(1)%3 == 0 {
			return memory.Fault{Outcome: memory.Conflict}
		}
		return memory.Fault{}
	})
	var all sync.WaitGroup
	for sender := range 16 {
		all.Go(func() {
			for i := range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				err := r.SetMessages(ctx, "", submit(fmt.Sprint(sender), fmt.Sprint(i)).Messages)
				if errors.Is(err, context.DeadlineExceeded) {
					t.Error("no answer")
				}
				cancel()
			}
		})
	}
	all.Wait()
}

func TestASecondNodeThatWritesIsAConflictAndNeverAFork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		h := actorstest.New(t, agent)
		other := actors.NewRuntime(actors.RuntimeConfig{Store: memory.Open(memory.Config{Disk: h.Disk}), Agents: []*actors.Agent{agent}})
		defer func() { require.NoError(t, other.Stop(context.Background())) }()
		accepted := 0
		for i := range 20 {
			r := h.Agent(agent, "room")
			if i%2 == 1 {
				r = other.Agent(agent, "room")
			}
			if _, err := r.Chat(t.Context(), fmt.Sprint(i)); err == nil {
				accepted++
			}
			synctest.Wait()
		}
		require.Positive(t, accepted)
		events := journal(t, h, feed.Address{Class: "Echo", Name: "room"})
		require.Equal(t, accepted, count(events, turnEnded))
		require.Equal(t, accepted, count(events, turnAccepted))
	})
}

func TestAnOutageInMidAnswerPausesTheModelAndLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		gate := make(chan struct{})
		var said atomic.Int64
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
			for range 20000 {
				n := said.Add(1)
				if n == 10 {
					<-gate
				}
				if _, err := fmt.Fprintf(turn.Stream, "%05d ", n); err != nil {
					return err
				}
			}
			return nil
		}}
		h, r := open(t, &f, agent)
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		synctest.Wait()
		f.outage(errCable)
		close(gate)
		pass(time.Minute)
		require.Less(t, said.Load(), int64(20000), "the window is 64 KiB")
		require.Greater(t, said.Load(), int64(10))
		shown := len(h.Items(r.Address()))
		pass(time.Minute)
		require.Len(t, h.Items(r.Address()), shown)
		f.outage(nil)
		h.Await(r.Address(), ended("r1"))
		require.Zero(t, h.Lost(r.Address()))
		want := ""
		for i := range 20000 {
			want += fmt.Sprintf("%05d ", i+1)
		}
		require.Equal(t, "assistant: "+want, conversation(t, r)[1])
	})
}

func TestDuringAnOutageProseIsShownForAMomentOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
			for range 100 {
				if _, err := turn.Stream.Write([]byte("word ")); err != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}}
		h, r := open(t, &f, agent)
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		pass(100 * time.Millisecond)
		f.outage(errCable)
		before := len(h.Items(r.Address()))
		pass(time.Minute)
		ahead := len(h.Items(r.Address())) - before
		require.LessOrEqual(t, ahead, 21, "200 ms")
		require.GreaterOrEqual(t, ahead, 15)
		f.outage(nil)
		h.Await(r.Address(), ended("r1"))
	})
}

func TestTooMuchWaitingForTheDiskIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f faults
		agent := talker(func(model.Request) scripted.Answer { return scripted.Answer{scripted.Hold(make(chan struct{}))} })
		agent.MaxQueuedTurns = 1000
		h, r := open(t, &f, agent)
		release := f.hold()
		var all sync.WaitGroup
		var refused atomic.Int64
		for i := range 100 {
			all.Go(func() {
				err := r.Submit(t.Context(), submit(fmt.Sprint("r", i), strings.Repeat("x", 100_000)))
				var e *actors.Error
				switch {
				case err == nil:
				case errors.As(err, &e) && e.Code == actors.Busy:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		accepted := 100 - int(refused.Load())
		require.InDelta(t, 40, accepted, 4, "4 MiB of events, or 64 MiB of transcripts that wait to be shown")
		release()
		all.Wait()
		require.Equal(t, accepted, count(journal(t, h, r.Address()), turnAccepted))
		require.NoError(t, r.ClearMessages(t.Context()))
	})
}

func TestMoreThanTheQueueHoldsIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		next := make(chan struct{})
		agent := talker(func(model.Request) scripted.Answer {
			return scripted.Answer{scripted.Hold(next), scripted.Text{Pieces: []string{"yes"}}}
		})
		agent.MaxQueuedTurns = 3
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		for i := range 3 {
			require.NoError(t, r.Submit(t.Context(), submit(fmt.Sprint("r", i), "hi")))
		}
		err := r.Submit(t.Context(), submit("r3", "hi"))
		var e *actors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, actors.Busy, e.Code)
		require.Contains(t, e.Message, "limit 3")
		close(next)
		h.Await(r.Address(), ended("r2"))
		require.Len(t, endings(t, h, r.Address()), 3)
	})
}

// A clear ends more turns at once than the ledger remembers.
func TestClearAnswersEverybodyWhoWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := talker(func(model.Request) scripted.Answer {
			return scripted.Answer{scripted.Hold(make(chan struct{}))}
		})
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		answers := make(chan actors.ChatResponse, 60)
		for range cap(answers) {
			go func() {
				answer, err := r.Chat(t.Context(), "hi")
				if err != nil {
					t.Error(err)
				}
				answers <- answer
			}()
		}
		synctest.Wait()
		require.NoError(t, r.ClearMessages(t.Context()))
		for range cap(answers) {
			answer := <-answers
			require.Contains(t, []actors.Status{actors.StatusAborted, actors.StatusSkipped}, answer.Status)
		}
		require.Empty(t, conversation(t, r))
	})
}
