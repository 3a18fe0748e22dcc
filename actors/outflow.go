package actors

import (
	"math"
	"sync"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// unsaved is the need of an output whose event has no number yet.
const unsaved = math.MaxUint64

// outflow is everything that leaves an agent, in one order: items of its feed
// and replies. What rests on an event waits until that is durable, and what is
// behind it waits too. So nobody can be told of a thing before it has happened,
// and nothing can overtake.
//
// The agent's actor and the producer of its stream both put; release is the
// actor's. Outputs are sent under the lock: they must not block.
type outflow struct {
	sink feed.Sink

	mu      sync.Mutex
	durable uint64
	queue   []output // Invariant: queue[0].need > durable
	held    int      // bytes of the items in queue
	broken  error    // set by fail: nothing leaves any more
}

// output is one thing on its way out.
type output struct {
	need uint64 // leaves when this event is durable
	item feed.Item
	send func(error) // instead of item: a reply; gets nil, or why it will never be true
}

// put sends o, or queues it.
func (f *outflow) put(o output) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.broken != nil:
		f.refuse(o)
	case len(f.queue) == 0 && o.need <= f.durable:
		f.out(o)
	default:
		f.queue = append(f.queue, o)
		f.held += sizeOf(o.item)
	}
}

// resolve gives all outputs that were put as unsaved the event that they wait for.
func (f *outflow) resolve(need uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.queue {
		if f.queue[i].need == unsaved {
			f.queue[i].need = need
		}
	}
}

// release lets out what waits for events up to durable.
func (f *outflow) release(durable uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.durable = durable
	n := 0
	for n < len(f.queue) && f.queue[n].need <= durable {
		f.out(f.queue[n])
		f.held -= sizeOf(f.queue[n].item)
		f.queue[n] = output{}
		n++
	}
	if f.queue = f.queue[n:]; len(f.queue) == 0 {
		f.queue = nil
	}
}

// fail ends the outflow: what waits was never stored and is told to nobody.
func (f *outflow) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = err
	for _, o := range f.queue {
		f.refuse(o)
	}
	f.queue, f.held = nil, 0
}

func (f *outflow) out(o output) {
	if o.send != nil {
		o.send(nil)
		return
	}
	f.sink.Put(o.item)
}

func (f *outflow) refuse(o output) {
	if o.send != nil {
		o.send(f.broken)
	}
}

// waiting reports how many outputs are queued, and about how many bytes.
func (f *outflow) waiting() (outputs, held int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue), f.held
}

func sizeOf(item feed.Item) int {
	switch item := item.(type) {
	case feed.Transcript:
		return len(item.Messages)
	case feed.View:
		return len(item.Messages) + len(item.State)
	case feed.Chunk:
		return len(item.Body)
	case feed.State:
		return len(item.JSON)
	case feed.Cast:
		return len(item.Data)
	case feed.Updated:
		return len(item.Message)
	case feed.Runnable:
		return len(item.Message)
	case feed.MCP:
		return len(item.JSON)
	case feed.Loaded, feed.Accepted, feed.Opened, feed.Closed, feed.Ended, feed.Cleared, feed.Recovery, feed.Closing,
		feed.Armed, feed.Disarmed, feed.Settled:
	}
	return 0
}
