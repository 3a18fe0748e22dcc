package protocol

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A queue takes so many tasks and bytes, and then whoever posts waits.
func TestAFullQueueHoldsBack(t *testing.T) {
	for name, c := range map[string]struct {
		size, fits int
	}{
		"by number": {1, 1 + maxTasks},
		"by bytes":  {300, 1 + 3},
		"too large": {5000, 1 + 1}, // one alone passes
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(&Handler{cfg: Config{MaxFrameBytes: 1000}}, run)
				let, gone, done, posted := make(chan struct{}), make(chan struct{}), 0, 0
				task := func() { <-let; done++ }
				for posted < c.fits {
					require.True(t, q.post(c.size, task, gone))
					posted++
					synctest.Wait() // the first is under way
				}
				took := make(chan bool, 1)
				go func() { took <- q.post(c.size, task, gone) }()
				synctest.Wait()
				require.Empty(t, took, "it waits")
				close(let)
				require.True(t, <-took)
				synctest.Wait()
				require.Equal(t, posted+1, done)
			})
		})
	}
}

func TestWhoPostsDoesNotWaitForADeadSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(&Handler{cfg: Config{MaxFrameBytes: 10}}, run)
		let, gone := make(chan struct{}), make(chan struct{})
		for range 2 {
			require.True(t, q.post(10, func() { <-let }, gone))
			synctest.Wait()
		}
		took := make(chan bool)
		go func() { took <- q.post(10, func() { t.Error("was done") }, gone) }()
		close(gone)
		require.False(t, <-took)
		close(let)
	})
}

func run(do func()) { do() }
