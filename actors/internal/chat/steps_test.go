package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// S15, S16: an outcome of an attempt that is over decides nothing, however alike
// the attempts are.
func TestOutcomesOfACutOffAttemptDecideNothing(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	old := r.due()
	r.crash(0)
	require.NotEqual(t, old.Key(), r.due().Key())
	require.Empty(t, r.must(answer(old)))
	require.Empty(t, r.must(r.fail(old, true)))
	require.NotEmpty(t, r.must(answer(r.due())))
}

// S18: the time is stored with the wait, and a restart neither shortens it nor
// counts as a crash: nothing was under way.
func TestARestartDoesNotEndTheWaitBeforeTheNextAttempt(t *testing.T) {
	for name, restart := range map[string]func(*rig){
		"crash":        func(r *rig) { r.crash(0) },
		"planned stop": func(r *rig) { r.must(Rest{}); r.crash(0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{MaxCrashes: 2})
			r.must(submit("r1", user("u1")))
			cmd := r.fail(r.due(), true).(StepErred)
			cmd.RetryAfter = 30_000
			r.must(cmd)
			for range 3 {
				restart(r)
				require.Equal(t, epoch+30_000, r.state().WakeAt())
			}
			r.wait()
			require.Equal(t, CallModel{Turn: 1, Step: 1, Attempt: 2}, r.due())
		})
	}
}

func TestATurnWhoseProgramNowHasAHandlerDoesNotWaitForTheModel(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.must(r.fail(r.due(), true))
	r.policy.Handler = true
	r.crash(0)
	require.Equal(t, Handle{Turn: 1, Attempt: 2}, r.due())
}

// S18.
func TestATimerWithAnotherKeyDoesNothing(t *testing.T) {
	r := newRig(t, Policy{Hook: true})
	r.must(submit("r1", user("u1")))
	r.must(r.fail(r.due(), true))
	_, waits := r.state().Outstanding()
	old := waits[0]
	r.wait()
	r.must(r.fail(r.due(), true))
	require.Empty(t, r.must(TimerFired{Key: old.Key, Now: r.now + 60_000}), "late")
	_, waits = r.state().Outstanding()
	require.Empty(t, r.must(TimerFired{Key: waits[0].Key, Now: r.now}), "early")
	r.must(Cancel{Request: "r1"})
	require.Equal(t, Deliver{ID: 1, Attempt: 1}, r.due())
	require.Empty(t, r.must(TimerFired{}), "a hook that runs is not started by a timer without a key")
}

func TestBackoffGrowsToABoundUnlessTheProviderAsks(t *testing.T) {
	var waits []int64
	for failures := range uint32(7) {
		waits = append(waits, backoff(failures+1, 0))
	}
	require.Equal(t, []int64{1000, 2000, 4000, 8000, 16000, 30000, 30000}, waits)
	require.Equal(t, int64(45_000), backoff(1, 45_000))
	require.Equal(t, int64(60_000), backoff(1, 3_600_000))
	require.Equal(t, int64(8000), backoff(4, 5_000))
}

// S26: what cannot be stored must never be decided: the shell could only die of
// it, again and again.
func TestTextThatIsNotUTF8CanBeStored(t *testing.T) {
	const bad = "a\xff"
	r := newRig(t, Policy{Hook: true})
	r.must(submit("r1", user("u1")))
	r.keep(uimessage.Chunk{Type: "text-start", ID: bad}, uimessage.Chunk{Type: "text-delta", ID: bad, Delta: bad})
	cmd := r.fail(r.due(), true).(StepErred)
	cmd.Text, cmd.Cause = bad, bad
	r.must(cmd)
	require.Equal(t, "a\uFFFD", r.text("a-r1"))
	r.wait()
	cmd = r.fail(r.due(), false).(StepErred)
	cmd.Public = bad
	r.must(cmd)
	r.must(DeliveryErred{ID: 2, Attempt: 1, Text: bad, Now: r.now})
	r.must(submit("r2", user("u2")))
	r.must(StepAnswered{Last: true, Turn: 3, Step: 1, Attempt: 1, Reason: bad, Model: bad})
	r.policy.Handler = true
	r.crash(0)
	r.must(submit("r3", user("u3")))
	r.must(HandlerEnded{Turn: 4, Attempt: 1, Result: Failed, Text: bad, Reason: bad})
}

// S26: a panic on the way to a decision has changed nothing, so that the shell
// can take it for a refusal.
func TestACommandThatPanicsHasChangedNothing(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("x")
	before := picture(r.state())
	for _, first := range []uint64{0, positionBlock} {
		require.Panics(t, func() { _, _ = r.core.Step(Keep{Turn: 1, First: first, Count: 1}) })
	}
	require.Equal(t, before, picture(r.state()))
}
