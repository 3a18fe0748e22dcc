package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func outcomeOf(r *rig, request string) pb.TurnOutcome {
	ended, _ := r.state().Ledger.Find(request)
	return ended.Outcome
}

func TestRecoveryThatIsClearedAwayIsToldToBeOver(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("half")
	_, items, err := r.step(r.fail(r.due(), true))
	require.NoError(t, err)
	require.Contains(t, items, feed.Recovery{On: true, Request: "server2"})
	_, items, err = r.step(Clear{})
	require.NoError(t, err)
	require.Contains(t, items, feed.Recovery{Request: "server2"})
}

func TestEndOfAQueuedTurnDoesNotResetTheCountsOfTheRunningOne(t *testing.T) {
	r := newRig(t, Policy{MaxFailures: 3})
	r.must(submit("r1", user("u1")))
	for range 2 {
		r.must(r.fail(r.due(), true))
		r.must(submit("next", user("u2")))
		r.must(Cancel{Request: "next"})
		r.wait()
	}
	r.must(r.fail(r.due(), true))
	require.Equal(t, pb.TurnOutcome_TURN_OUTCOME_ERROR, outcomeOf(r, "r1"))
}

func TestProgressBetweenCrashesCountsWhateverElseHappens(t *testing.T) {
	for name, between := range map[string]func(*rig){
		"nothing":           func(*rig) {},
		"a passing failure": func(r *rig) { r.must(r.fail(r.due(), true)); r.wait() },
		"a planned stop":    func(r *rig) { r.must(Rest{}); r.crash(0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{MaxCrashes: 2})
			r.must(submit("r1", user("u1")))
			for range 5 {
				r.say("more ")
				between(r)
				r.crash(0)
				require.NotNil(t, r.state().Turns.Running(), "given up")
			}
			r.finish()
			require.Equal(t, "more more more more more ", r.text("a-r1"))
		})
	}
}

// The author's handler names its answer in a start chunk, and chunks are dropped
// when the journal is shortened: what has ended must not depend on them.
func TestAnEndNamesItsMessageWithoutTheChunks(t *testing.T) {
	r := newRig(t, Policy{Hook: true})
	r.must(submit("r1", user("u1")))
	r.keep(uimessage.Chunk{Type: "start", MessageID: "own"}, uimessage.Chunk{Type: "data-x", Data: []byte("1")})
	r.must(answer(r.due()))
	sparse := r.replay(func(rec record) bool { return !rec.streamed })
	require.Equal(t, lasting(r.state()), lasting(sparse))
	require.Equal(t, "own", sparse.Outbox.Entries[0].Ended.MessageID)
	require.Len(t, sparse.Transcript.Steps("own"), 1)
}

func TestStepsOfAnAnswerWithoutPartsAreNotKept(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.must(answer(r.due()))
	require.Equal(t, "u1", r.listed())
	require.Equal(t, picture(r.state()), picture(based(r.state())))
}

func TestProgressCountsOnce(t *testing.T) {
	r := newRig(t, Policy{MaxCrashes: 3, MaxFailures: 3})
	r.must(submit("r1", user("u1")))
	r.say("once")
	for range 2 {
		r.crash(0)
		require.NotNil(t, r.state().Turns.Running())
	}
	r.crash(0)
	require.Empty(t, r.state().Turns.Queue, "it has added nothing since")

	r.must(submit("r2", user("u2")))
	r.say("once")
	for range 2 {
		r.must(r.fail(r.due(), true))
		r.wait()
	}
	r.must(r.fail(r.due(), true))
	require.Empty(t, r.state().Turns.Queue)
}

func TestAContinuationThatFailsBeforeItSaysAnythingIsContinued(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("half")
	r.must(r.fail(r.due(), true))
	r.wait()
	r.keep(uimessage.Chunk{Type: "start"})
	r.must(r.fail(r.due(), true))
	r.wait()
	require.True(t, r.state().Turns.Running().Continues)
	r.say(" and half")
	r.finish()
	require.Equal(t, "half and half", r.text("a-r1"))
}

// What clients have seen is replaced by a start of the same message.
func TestATurnThatRunsAgainKeepsTheIDThatItsHandlerHasChosen(t *testing.T) {
	r := newRig(t, Policy{Handler: true})
	r.must(submit("r1", user("u1")))
	r.keep(uimessage.Chunk{Type: "start", MessageID: "own"})
	r.crash(0)
	r.must(OpenStream{Turn: 1, Attempt: 2})
	require.Equal(t, "own", r.state().Stream.Message().ID)
}

// 299: nothing that was cut off grows too old.
func TestACutOffAnswerIsGoneOnWithHoweverLongItLay(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("half")
	r.now += 365 * 24 * 3600 * 1000
	r.crash(0)
	require.True(t, r.state().Turns.Running().Continues)
	r.finish()
	require.Equal(t, "half", r.text("a-r1"))
}

// 296: what is stored of a cut-off answer has its calls, with what they have come to.
func TestACutOffAnswerKeepsItsCalls(t *testing.T) {
	for name, c := range map[string]struct {
		policy Policy
		open   string // state of what nobody will finish
	}{
		"it goes on":   {Policy{}, erred},
		"it is ended":  {Policy{NoRecovery: true}, open},
		"of a handler": {Policy{Handler: true}, erred},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.policy)
			r.must(submit("r1", user("u1")))
			r.keep(
				uimessage.Chunk{Type: "start", MessageID: "a-r1"},
				uimessage.Chunk{Type: "tool-input-available", ToolCallID: "c", ToolName: "t", Input: []byte(`{"n":1}`)},
				uimessage.Chunk{Type: "tool-output-available", ToolCallID: "c", Output: []byte(`"42"`)},
				uimessage.Chunk{Type: "tool-input-available", ToolCallID: "d", ToolName: "t", Input: []byte(`{"n":2}`)})
			r.crash(0)
			m, ok := r.state().Transcript.Message("a-r1")
			require.True(t, ok)
			require.Len(t, m.Parts, 2)
			require.Equal(t, done, m.Parts[0].State)
			require.Equal(t, `"42"`, string(m.Parts[0].Output))
			require.Equal(t, c.open, m.Parts[1].State)
			require.JSONEq(t, `{"n":2}`, string(m.Parts[1].Input))
		})
	}
}

// 297: a continuation that is cut off is part of its message, metadata and all.
func TestACutOffContinuationIsMergedIntoItsMessage(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	for _, metadata := range []string{`{"a":1,"n":1}`, `{"b":2,"n":2}`} {
		r.keep(
			uimessage.Chunk{Type: "start", MessageMetadata: []byte(metadata)},
			uimessage.Chunk{Type: "text-start", ID: "t"}, uimessage.Chunk{Type: "text-delta", ID: "t", Delta: "half"})
		r.crash(0)
	}
	require.Equal(t, "u1 a-r1", r.listed())
	m, _ := r.state().Transcript.Message("a-r1")
	require.Equal(t, "halfhalf", r.text("a-r1"))
	require.JSONEq(t, `{"a":1,"b":2,"n":2}`, string(m.Metadata))
}

func TestAContinuationKeepsTheIDOfItsMessage(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("half")
	r.crash(0)
	r.keep(uimessage.Chunk{Type: "start", MessageID: "another"})
	r.say(" and half")
	r.finish()
	require.Equal(t, "u1 a-r1", r.listed())
}

// A frame around nothing is no answer: there is nothing to go on with, nothing
// to store, and no progress that would let a crash loop go on for ever.
func TestATurnThatHasSaidNothingBeginsAnew(t *testing.T) {
	for name, chunks := range map[string][]uimessage.Chunk{
		"nothing":     {},
		"a start":     {{Type: "start"}, {Type: "start-step"}},
		"empty text":  {{Type: "start"}, {Type: "start-step"}, {Type: "text-start", ID: "t"}, {Type: "text-delta", ID: "t"}},
		"a transient": {{Type: "start"}, {Type: "data-x", Data: []byte("1"), Transient: true}},
		"a reset":     {{Type: "start"}, {Type: "data-x", Data: []byte("1")}, {Type: "reset-step"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{MaxCrashes: 3})
			r.must(submit("r1", user("u1")))
			r.keep(chunks...)
			r.must(r.fail(r.due(), true))
			require.Equal(t, "u1", r.listed())
			r.wait()
			require.False(t, r.state().Turns.Running().Continues)
			if name != "a reset" { // it said something, and took it back
				for range 2 {
					r.keep(chunks...)
					r.crash(0)
				}
				r.keep(chunks...)
				r.crash(0)
				require.Nil(t, r.state().Turns.Running(), "a crash loop without progress goes on")
			}
		})
	}
}

func TestWhatIsStoredOfAnAnswerIsSanitized(t *testing.T) {
	secret := []byte(`{"openai":{"itemId":"i","reasoningEncryptedContent":"x"}}`)
	for name, end := range map[string]func(*rig){
		"completed": func(r *rig) { r.must(answer(r.due())) },
		"aborted":   func(r *rig) { r.must(Cancel{Request: "r1"}) },
		"continued": func(r *rig) { r.crash(0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{})
			r.must(submit("r1", user("u1")))
			r.keep(
				uimessage.Chunk{Type: "reasoning-start", ID: "r"}, uimessage.Chunk{Type: "reasoning-end", ID: "r", ProviderMetadata: secret},
				uimessage.Chunk{Type: "text-start", ID: "t", ProviderMetadata: secret}, uimessage.Chunk{Type: "text-delta", ID: "t", Delta: "Hi"})
			end(r)
			m, ok := r.state().Transcript.Message("a-r1")
			require.True(t, ok)
			require.Len(t, m.Parts, 1)
			require.Equal(t, "Hi", m.Parts[0].Text)
			require.Empty(t, m.Parts[0].ProviderMetadata)
		})
	}
}
