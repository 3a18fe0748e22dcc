package actors

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
)

// Concurrency is what becomes of a message that a client sends while turns of its
// agent are unfinished: running, queued or waiting. It does not concern messages
// that come when the agent has nothing to do, answers that are asked for again
// (regenerate), or turns that the author's program asks for.
type Concurrency struct {
	// Strategy; "" is ConcurrencyQueue.
	Strategy Strategy
	// Debounce is the time of quiet of ConcurrencyDebounce: default 750 ms. Only
	// with that strategy.
	Debounce time.Duration
}

// Strategy is a kind of Concurrency. A request that is not run ends as skipped.
type Strategy string

const (
	// ConcurrencyQueue gives each message a turn of its own, in order.
	ConcurrencyQueue Strategy = "queue"
	// ConcurrencyLatest stores all messages and answers the newest request alone;
	// what waits when it comes is skipped when its turn would have come. If the newest
	// is cancelled, the older ones are skipped all the same.
	ConcurrencyLatest Strategy = "latest"
	// ConcurrencyMerge is ConcurrencyLatest, and makes one message of those that
	// waited when the turn begins: with the id and metadata of the last, text joined by
	// an empty line.
	ConcurrencyMerge Strategy = "merge"
	// ConcurrencyDrop turns the message away: nothing of it is stored, and its sender
	// is shown the conversation without it.
	ConcurrencyDrop Strategy = "drop"
	// ConcurrencyDebounce is ConcurrencyLatest, and waits until no message has come
	// for the time of Debounce. It waits outside the queue: other turns go first.
	ConcurrencyDebounce Strategy = "debounce"
)

var overlaps = map[Strategy]chat.Overlap{
	"": chat.Queue, ConcurrencyQueue: chat.Queue, ConcurrencyLatest: chat.Latest, ConcurrencyMerge: chat.Merge,
	ConcurrencyDrop: chat.Drop, ConcurrencyDebounce: chat.Debounce,
}

// problem says what is wrong with c; "" if nothing is.
func (c Concurrency) problem() string {
	_, known := overlaps[c.Strategy]
	switch {
	case !known:
		var names []string
		for _, s := range slices.Sorted(maps.Keys(overlaps)) {
			names = append(names, fmt.Sprintf("%q", s))
		}
		return fmt.Sprintf("has an unknown Strategy %q; known are %s", c.Strategy, strings.Join(names, ", "))
	case c.Debounce < 0:
		return fmt.Sprintf("has a negative Debounce: %s", c.Debounce)
	case c.Debounce > 0 && c.Debounce < time.Millisecond:
		return fmt.Sprintf("has a Debounce of %s; the least is 1ms", c.Debounce)
	case c.Debounce > 0 && c.Strategy != ConcurrencyDebounce:
		return fmt.Sprintf("has a Debounce of %s, which Strategy %q does not use", c.Debounce, c.Strategy)
	}
	return ""
}

func (c Concurrency) debounce() time.Duration { return orDefault(c.Debounce, 750*time.Millisecond) }
