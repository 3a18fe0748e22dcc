package chat

import (
	"testing"

	"github.com/stretchr/testify/require"
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
	require.Empty(t, r.must(TimerFired{Key: old.Key, Now: r.now}))
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
