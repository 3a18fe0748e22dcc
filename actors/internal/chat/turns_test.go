package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// prompted names the messages that the running turn's model sees.
func prompted(r *rig) string {
	var ids []string
	for _, e := range r.state().PromptFor(r.state().Turns.Running()) {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}

func TestPromptHasTheTurnsOwnQuestionLast(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.must(submit("r2", user("u1"), user("u2"))) // the client has no answer to u1 yet
	r.must(submit("r3", user("u1"), user("u2"), user("u3")))
	require.Equal(t, "u1", prompted(r))
	r.say("one")
	r.must(answer(r.due()))
	require.Equal(t, "u1 u2 u3 a-r1", r.listed())
	require.Equal(t, "u1 a-r1 u2", prompted(r), "u1 has been answered, u3 waits")
	r.say("half")
	r.crash(0)
	require.Equal(t, "u1 a-r1 u2 a-r2", prompted(r), "the partial answer is last")
	r.must(answer(r.due()))
	require.Equal(t, "u1 u2 a-r1 a-r2 u3", prompted(r))
}

func TestPromptOfARegeneratedAnswerHasItsQuestionLast(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("one")
	r.finish()
	r.must(submit("r2", user("u2")))
	again := submit("r3", user("u1"))
	again.Regenerate = true
	r.must(again)
	r.say("two")
	r.must(answer(r.due()))
	require.Equal(t, "u1 u2 a-r2", r.listed())
	require.Equal(t, "u2 a-r2 u1", prompted(r))
}

func TestTurnsWithoutAClientRequestRunWithTheLastContext(t *testing.T) {
	r := newRig(t, Policy{})
	cmd := submit("r1", user("u1"))
	cmd.Body, cmd.ClientTools = []byte(`{"a":1}`), []byte(`[]`)
	r.must(cmd)
	own := submit("r2", user("u2"))
	own.Programmatic = true
	r.must(own)
	r.finish()
	r.rebase()
	own = submit("r3", user("u3"))
	own.Programmatic = true
	r.must(own)
	turn := r.state().Turns.Running()
	require.Equal(t, `{"a":1} []`, fmt.Sprintf("%s %s", turn.Body, turn.ClientTools))
	r.finish()
	r.must(Clear{})
	require.Empty(t, r.state().Transcript.Body)
	require.Empty(t, r.state().Transcript.ClientTools)
	cmd.Request = "r0"
	r.must(cmd)
	r.finish()
	r.must(submit("r4", user("u4")))
	require.Empty(t, r.state().Transcript.Body, "a client's request replaces both")
}

// S14: whoever has asked may stop the answer, though it goes on under another id.
func TestCancelOfAHandedOverRequestEndsItsSuccessor(t *testing.T) {
	for name, stage := range map[string]int{"waiting": 1, "running": 2, "handed over twice": 3} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{})
			r.must(submit("r1", user("u1")))
			r.say("half")
			r.must(r.fail(r.due(), true))
			if stage > 1 {
				r.wait()
				r.say(" and more")
			}
			if stage > 2 {
				r.crash(0)
			}
			_, items, err := r.step(Cancel{Request: "r1"})
			require.NoError(t, err)
			require.Empty(t, r.state().Turns.Queue)
			require.IsType(t, feed.Recovery{}, items[len(items)-1])
			require.Contains(t, r.text("a-r1"), "half")
			require.Empty(t, r.must(Cancel{Request: "r1"}))
		})
	}
}

func TestSubmitIsRefusedWhenTooManyWait(t *testing.T) {
	r := newRig(t, Policy{MaxQueuedTurns: 2})
	r.must(submit("r1", user("u1")))
	r.must(submit("r2", user("u2")))
	before := picture(r.state())
	_, _, err := r.step(submit("r3", user("u3")))
	require.EqualError(t, err, "too many requests are waiting for this agent (limit 2)")
	require.Equal(t, before, picture(r.state()))
	r.finish()
	require.NotEmpty(t, r.must(submit("r3", user("u3"))), "a refused request may be sent again")
}

// S14: what an attempt hands in that is over is refused.
func TestStreamIsTheRunningAttemptsAlone(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.must(submit("r2", user("u2")))
	r.say("x")
	keep := Keep{Turn: 1, First: r.state().Stream.Next}
	r.must(Cancel{Request: "r1"})
	for _, cmd := range []Command{keep, OpenStream{Turn: 1, Attempt: 1}, OpenStream{Turn: 2, Attempt: 2}} {
		_, _, err := r.step(cmd)
		require.ErrorIs(t, err, ErrTurnOver)
	}
	require.Empty(t, r.must(Reserve{Turn: 1, Attempt: 1}))
	require.Panics(t, func() { _, _ = r.core.Step(nil) })
}

// S14: a queued turn that is cancelled never runs, and everybody is told.
func TestCancelOfAQueuedTurn(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.must(submit("r2", user("u2")))
	_, items, err := r.step(Cancel{Request: "r2"})
	require.NoError(t, err)
	require.Equal(t, []feed.Item{feed.Ended{Request: "r2", Outcome: feed.Aborted, MessageIDs: []string{"u2"}}}, items)
	require.Equal(t, CallModel{Turn: 1, Step: 1, Attempt: 1}, r.due())
}

func TestLoadedIsTheWholePicture(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("partial")
	r.must(r.fail(r.due(), false))
	l := r.state().Loaded()
	require.Equal(t, "r1", l.Failed.Request)
	require.Equal(t, `{"type":"text-delta","id":"1","delta":"partial"}`, string(l.FailedLog[3].Body))
	r.must(submit("r2", user("u2")))
	r.must(submit("r3", user("u3")))
	r.say("half")
	r.crash(0)
	l = r.state().Loaded()
	require.Equal(t, []string{"server3", "r3"}, l.Pending)
	require.Equal(t, "server3", l.Recovering)
	require.Nil(t, l.Failed)
	require.Equal(t, feed.Recovering, l.Recent[len(l.Recent)-1].Outcome)
}

// S4, S8: a late tab gets the rest by replay, so the transcript shows the message
// of the open stream as it was before.
func TestTranscriptShowsNothingOfTheOpenStream(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("half")
	require.NotContains(t, string(r.state().Transcript.AppendJSON(nil)), "half")
	r.crash(0)
	r.keep(uimessage.Chunk{Type: "start"}, uimessage.Chunk{Type: "text-start", ID: "t"}, uimessage.Chunk{Type: "text-delta", ID: "t", Delta: "rest"})
	view := string(r.state().Transcript.AppendJSON(nil))
	require.Contains(t, view, "half")
	require.NotContains(t, view, "rest")
	r.finish()
	require.Equal(t, "halfrest", r.text("a-r1"))
}

func TestOutcomesOfHandlers(t *testing.T) {
	for result, want := range map[HandlerResult]feed.Ended{
		Answered:     {Outcome: feed.Completed},
		Empty:        {Outcome: feed.Completed},
		Silent:       {Outcome: feed.Completed, Text: noResponseText},
		Failed:       {Outcome: feed.Errored, Text: "text"},
		FailedInBand: {Outcome: feed.Errored, Text: "text", InBand: true},
		CutShort:     {Outcome: feed.Aborted},
	} {
		r := newRig(t, Policy{Handler: true, Hook: true})
		r.must(submit("r1", user("u1")))
		_, items, err := r.step(HandlerEnded{Turn: 1, Attempt: 1, Result: result, Text: "text"})
		require.NoError(t, err)
		want.Request, want.MessageIDs = "r1", []string{"u1"}
		require.Equal(t, []feed.Item{want}, items)
		require.Equal(t, result != Silent, len(r.state().Outbox.Entries) == 1, "a turn without a response is not delivered")
		require.Equal(t, want.Outcome == feed.Errored, r.state().Ledger.Failed != nil)
	}
}

// S24: only a new incarnation raises the attempt.
func TestAHandlerRunsAgainOnlyAfterARestart(t *testing.T) {
	r := newRig(t, Policy{Handler: true})
	r.must(submit("r1", user("u1")))
	require.Equal(t, Handle{Turn: 1, Attempt: 1}, r.due())
	r.crash(0)
	require.Equal(t, Handle{Turn: 1, Attempt: 2}, r.due())
	require.Empty(t, r.must(HandlerEnded{Turn: 1, Attempt: 1}))
	r.finish()
	require.Equal(t, pb.TurnOutcome_TURN_OUTCOME_COMPLETED, outcomeOf(r, "r1"))
}
