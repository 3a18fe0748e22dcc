package chat

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestClearTellsTheEndOfEveryTurnHoweverManyWait(t *testing.T) {
	r := newRig(t, Policy{})
	for i := range 64 {
		r.must(submit(fmt.Sprintf("r%d", i), user(fmt.Sprintf("u%d", i))))
	}
	_, items, err := r.step(Clear{})
	require.NoError(t, err)
	ended := map[string]feed.Outcome{}
	for _, item := range items {
		if e, ok := item.(feed.Ended); ok {
			ended[e.Request] = e.Outcome
		}
	}
	require.Len(t, ended, 64)
	require.Equal(t, feed.Aborted, ended["r0"])
	require.Equal(t, feed.Skipped, ended["r63"])
}

// S13: late ACKs are answered from the state, also after a crash and a clear.
func TestTheLast32EndsAreRemembered(t *testing.T) {
	r := newRig(t, Policy{})
	for i := range 40 {
		r.must(submit(fmt.Sprintf("r%d", i), user(fmt.Sprintf("u%d", i))))
		r.finish()
	}
	r.must(Clear{})
	r.crash(0)
	r.must(submit("last", user("u")))
	recent := r.state().Ledger.Recent
	require.Len(t, recent, maxRecent)
	require.Equal(t, Ended{
		Turn: 40, Request: "r39", Outcome: pb.TurnOutcome_TURN_OUTCOME_COMPLETED, OriginIDs: []string{"u39"}, MessageID: "a-r39",
	}, recent[maxRecent-1])
}

// S28: a repeat changes nothing, and what is remembered for that is bounded.
func TestTheLast1000KeysAreRemembered(t *testing.T) {
	r := newRig(t, Policy{})
	for i := range 1001 {
		r.must(submit(fmt.Sprintf("r%d", i), user("u")))
		r.must(answer(r.due()))
	}
	require.Len(t, r.state().Ledger.Keys.order, maxKeys)
	require.Empty(t, r.must(submit("r1", user("u"))), "r1 is the oldest that is remembered")
	events, err := r.core.Step(submit("r0", user("u")))
	require.NoError(t, err)
	require.NotEmpty(t, events, "r0 is forgotten")
}

func TestARequestIDIsNoKeyOfAClear(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("clear/k", user("u1")))
	require.NotEmpty(t, r.must(Clear{Key: "k"}))
	require.Empty(t, r.listed())
	require.Empty(t, r.must(Clear{Key: "k"}), "a clear that is sent again wipes nothing newer")
}

// S28, S17: else a request that is sent again would bring its message back.
func TestAcceptedKeysSurviveClearCrashAndBase(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.must(Clear{Key: "k"})
	for _, then := range []func(){func() {}, func() { r.crash(0) }, r.rebase} {
		then()
		require.Empty(t, r.must(submit("r1", user("u1"))))
		require.Empty(t, r.must(Clear{Key: "k"}))
	}
}

func TestTheRememberedErrorIsForgottenWhenTheConversationGoesOn(t *testing.T) {
	for name, then := range map[string]func(*rig){
		"a request":              func(r *rig) { r.must(submit("next", user("u"))) },
		"a queued turn's answer": func(r *rig) { r.must(answer(r.due())) },
		"a queued turn's cancel": func(r *rig) { r.must(Cancel{Request: "r2"}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{})
			r.must(submit("r1", user("u1")))
			r.must(submit("r2", user("u2")))
			r.must(r.fail(r.due(), false))
			require.Equal(t, "r1", r.state().Loaded().Failed.Request)
			then(r)
			require.Nil(t, r.state().Loaded().Failed)
		})
	}
}

func TestClearForgetsTheRememberedError(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.must(r.fail(r.due(), false))
	r.must(Clear{})
	require.Nil(t, r.state().Loaded().Failed)
}

// S39: what a newer version has written is refused, never skipped.
func TestEventsOfANewerVersionAreNotKnown(t *testing.T) {
	require.False(t, Known(&pb.Event{}))
	require.False(t, Known(event(&pb.Base{Version: baseVersion + 1})))
	require.True(t, Known(event(&pb.Base{Version: baseVersion})))
	require.True(t, Known(event(&pb.Activated{})))
	require.Panics(t, func() { new(State).Apply(&pb.Event{}) })
}

func TestTheSameIncarnationBeginsOnce(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	require.Empty(t, r.must(Activate{Incarnation: r.incarnation}))
}

func TestBaseHoldsAllThatALaterTurnMayNeed(t *testing.T) {
	r := newRig(t, Policy{Hook: true})
	r.must(Clear{Key: "k"})
	cmd := submit("r1", user("u1"))
	cmd.Body, cmd.ClientTools = []byte(`{"a":1}`), []byte(`[]`)
	r.must(cmd)
	r.say("one")
	r.must(answer(r.due())) // has steps, and a hook to be called
	r.must(submit("r2", user("u2")))
	r.say("two")
	r.crash(0)
	r.must(answer(r.due()))
	r.must(Persist{Messages: submit("", assistant("a-r1")).Messages}) // edited: its steps do not tell all of it
	cmd = submit("r3", user("u3"))
	cmd.Body = []byte(`{"a":3}`)
	r.must(cmd)
	r.must(r.fail(CallModel{Turn: 4, Step: 1, Attempt: 1}, false)) // a remembered error
	r.must(r.fail(Deliver{ID: 1, Attempt: 2}, false))              // the first hook waits, the others behind it
	r.must(Rest{})
	s := r.state()
	require.True(t, s.CanRebase())
	require.NotNil(t, s.Ledger.Failed)
	require.Len(t, s.Outbox.Entries, 3)
	require.NotEmpty(t, s.Transcript.edited)
	require.Equal(t, picture(s), picture(based(s)))
	r.rebase()
	r.activate()
	require.Equal(t, pb.ActivationCause_ACTIVATION_CAUSE_WAKE, r.decode(r.journal[1]).GetActivated().GetCause())
	r.finish()
}

// A snapshot of a deleted agent may be saved after another has taken its name: what
// is in the journal behind it begins from nothing.
func TestAnAgentBeginsFromNothing(t *testing.T) {
	old := newRig(t, Policy{})
	old.must(submit("r1", user("u1")))
	old.finish()
	old.must(RegisterSub{Class: "Helper", Name: "h"})
	snapshot := old.state().Base()
	next := newRig(t, Policy{})
	s := &State{Version: 10}
	s.Apply(snapshot)
	for _, rec := range next.journal {
		s.Apply(next.decode(rec))
	}
	next.state().Version = s.Version
	require.Equal(t, picture(next.state()), picture(s))
}
