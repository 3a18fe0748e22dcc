package actors_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestStopWhileEverythingIsUnderWay(t *testing.T) {
	for _, pause := range []time.Duration{0, 1, 10 * time.Millisecond, wordPause, 3 * wordPause} {
		t.Run(pause.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				agent := &actors.Agent{Name: "Counter", OnChatMessage: counter}
				h := actorstest.New(t, agent)
				var all sync.WaitGroup
				var accepted atomic.Int64
				for i := range 100 {
					r := h.Agent(agent, fmt.Sprint("room", i%50))
					all.Go(func() {
						err := r.Submit(context.Background(), submit(fmt.Sprint("r", i), "hi"))
						var e *actors.Error
						switch {
						case err == nil:
							accepted.Add(1)
						case errors.As(err, &e) && e.Code == actors.Stopping:
						default:
							t.Error(err)
						}
					})
				}
				time.Sleep(pause)
				h.Restart() // fails the test if the stop hangs
				all.Wait()
				pass(5 * time.Minute)
				completed := 0
				for i := range 50 {
					events := journal(t, h, feed.Address{Class: "Counter", Name: fmt.Sprint("room", i)})
					completed += len(terminals(events))
					for _, e := range events {
						require.Zero(t, e.GetRecoveryDetected().GetCrashes())
					}
				}
				require.EqualValues(t, accepted.Load(), completed)
			})
		})
	}
}

func TestStopGivesUpOnAStoreThatDoesNotAnswer(t *testing.T) {
	for _, when := range []string{"loading", "appending", "streaming", "looking up"} {
		t.Run(when, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var f faults
				dead := make(chan struct{})
				var silent atomic.Bool
				cfg := f.config()
				cfg.OnRead = func(string) error {
					if silent.Load() {
						<-dead
					}
					return nil
				}
				agent := &actors.Agent{Name: "Counter", OnChatMessage: counter}
				rt := actors.NewRuntime(actors.RuntimeConfig{Store: memory.Open(cfg), Agents: []*actors.Agent{agent}})
				r := rt.Agent(agent, "room")
				switch when {
				case "loading":
					silent.Store(true)
				case "appending":
					f.set(func(persistence.Append) memory.Fault { return hold(dead) })
				case "streaming":
					require.NoError(t, r.Submit(t.Context(), submit("r0", "hi")))
					time.Sleep(wordPause)
					f.set(func(persistence.Append) memory.Fault { return hold(dead) })
				case "looking up":
					f.set(func(persistence.Append) memory.Fault {
						silent.Store(true)
						return memory.Fault{Outcome: memory.Lost}
					})
				}
				asked := make(chan error, 1)
				go func() { asked <- r.Submit(context.Background(), submit("r1", "hi")) }()
				synctest.Wait()
				err := shortly(rt.Stop)
				if when != "loading" { // there it has nothing to say goodbye to, but a call that hangs
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				close(dead)
				require.Error(t, <-asked, "whoever waits is told")
				require.NoError(t, shortly(rt.Stop))
			})
		})
	}
}

func shortly(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return f(ctx)
}

func TestStopTwiceAndAtOnce(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	_, err := h.Agent(agent, "room").Chat(t.Context(), "hi")
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := h.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.NoError(t, h.Stop(t.Context()))
	_, err = h.Agent(agent, "room").Chat(t.Context(), "hi")
	var e *actors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, actors.Stopping, e.Code)
}
