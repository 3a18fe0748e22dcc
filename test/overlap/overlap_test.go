package overlap

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }

// strategies and the agents that have them.
var strategies = map[string]string{
	"queue": "chat-agent", "latest": "latest-agent", "merge": "merge-agent", "drop": "drop-agent", "debounce": "debounce-agent",
}

// C65: three requests in one write, from one socket and from two, to an agent that
// rests and to one that is busy.
func TestRequestsInOneWrite(t *testing.T) {
	n := process.Start(t, process.Options{})
	for strategy := range strategies {
		for _, sockets := range []int{1, 2} {
			for _, busy := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d sockets, busy %t", strategy, sockets, busy), func(t *testing.T) {
					t.Parallel()
					r := enter(t, n, strategy)
					one, other := r.tab("one"), r.tab("other")
					if busy {
						r.send(one, "r0")
						r.taken(one)
					}
					if sockets == 1 {
						r.send(one, "r1", "r2", "r3")
					} else {
						together(func() { r.send(one, "r1", "r3") }, func() { r.send(other, "r2") })
					}
					r.taken(one, other)
					r.release()
					r.awaitEnds()
					r.judge()
					r.judgeOrdered()
				})
			}
		}
	}
}

// instants are when requests come, from before the end of a turn to right behind it.
var instants = map[string]func(r *room){
	"with the release":         func(*room) {},
	"at the last word":         func(r *room) { r.watcher.WaitN(words, "the last word", client.ChunkOf("r0", "text-delta")) },
	"at the last chunk":        func(r *room) { r.watcher.Wait("the last chunk", client.ChunkOf("r0", "finish")) },
	"at the end":               func(r *room) { r.watcher.Wait("the end", client.Done("r0")) },
	"when its page is told so": func(r *room) { r.tabs[0].Wait("the end", client.Done("r0")) },
}

// C65: requests in the instant in which the running turn ends.
func TestRequestsInTheInstantInWhichATurnEnds(t *testing.T) {
	const rounds = 4
	n := process.Start(t, process.Options{})
	for strategy := range strategies {
		for when, instant := range instants {
			t.Run(strategy+", "+when, func(t *testing.T) {
				t.Parallel()
				for round := range rounds {
					r := enter(t, n, strategy)
					r.delay = round % 2 // milliseconds between words
					one, other := r.tab("one"), r.tab("other")
					r.holdAt = words
					r.send(one, "r0")
					r.watcher.WaitN(words-1, "all but the last word", client.ChunkOf("r0", "text-delta"))
					r.holdAt = 0
					together(r.release,
						func() { instant(r); r.send(one, "r1", "r3") },
						func() { instant(r); r.send(other, "r2") })
					r.awaitEnds()
					r.judge()
					if when == "at the end" || when == "when its page is told so" {
						require.Contains(t, r.completed(), r.first("r1", "r2", "r3"), "nothing is in its way")
					}
				}
			})
		}
	}
}

// together runs all at once and returns when they have.
func together(all ...func()) {
	var running sync.WaitGroup
	for _, do := range all {
		running.Go(do)
	}
	running.Wait()
}
