package actors

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

const (
	// flushBytes of chunks go to the journal without waiting for the grid.
	flushBytes = 4 << 10
	// aheadBytes and aheadTime bound how far clients may be ahead of the disk.
	aheadBytes = 64 << 10
	aheadTime  = 200 * time.Millisecond
	// maxAnswer bounds the message that a turn writes, in bytes of JSON: it has to
	// fit into one record of the journal, with room for what a recovery adds.
	maxAnswer = 8 << 20
	// reserveAhead positions before the reserved end more are asked for.
	reserveAhead = 1024
)

// livestream is the way of a chunk: checked, numbered, encoded, packed for the
// journal and sent, on the goroutine that produces it. The actor is not asked
// for each chunk; it takes what was packed when it appends (take), and holds mu
// while it decides what the stream's end is, so that no chunk slips in between.
type livestream struct {
	turn    uint64
	attempt uint32
	out     *outflow
	flush   func()                // asks the actor to append; any goroutine, does not block
	reserve func()                // asks the actor for more positions; likewise
	tap     func(uimessage.Chunk) // sees each chunk when sockets do; nil: nobody listens

	mu     sync.Mutex
	guard  *uimessage.Guard
	packer chat.Packer
	first  uint64 // position of the first chunk in packer
	next   uint64 // position of the next chunk
	limit  uint64 // Invariant: next <= limit; positions below it are reserved durably
	fact   bool   // packer holds chunks that must not be seen before they are stored
	urgent bool   // the actor has been asked to append
	asked  bool   // the actor has been asked for positions
	over   bool
	size   int // of the message so far, about

	written int64         // bytes packed since the stream began
	stored  int64         // of which durable
	since   time.Time     // when the oldest chunk in packer was packed
	taken   []span        // what the actor has taken and not stored yet, oldest first
	moved   chan struct{} // closed and replaced when stored, limit or over changes
}

// span is chunks on their way to the disk.
type span struct {
	upto  int64     // of written
	since time.Time // when the oldest of them was packed
}

// newLivestream makes the stream of an attempt that writes base, or goes on with it.
func newLivestream(m openStream, out *outflow, base uimessage.Message, continues bool, st *chat.Stream) *livestream {
	l := &livestream{
		turn: m.turn, attempt: m.attempt, out: out, guard: uimessage.NewGuard(base, continues),
		first: st.Next, next: st.Next, limit: st.Reserved, moved: make(chan struct{}),
	}
	if continues {
		l.size = len(base.AppendJSON(nil))
	}
	return l
}

// push lets c out. It waits while clients are too far ahead of the disk. An
// error that is neither ErrTurnOver nor the context's names what is wrong with
// the chunk; an in-band error chunk is refused with uimessage.ErrInBand.
func (l *livestream) push(ctx context.Context, c *uimessage.Chunk) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.wait(ctx); err != nil {
		return err
	}
	var buf [2]uimessage.Chunk
	chunks, err := l.guard.Pass(buf[:0], *c)
	for i := range chunks {
		if werr := l.wait(ctx); werr != nil {
			return werr
		}
		if aerr := l.admit(&chunks[i]); aerr != nil {
			return aerr
		}
	}
	return err
}

// wait returns when a chunk may be numbered. Called and returns with mu held.
func (l *livestream) wait(ctx context.Context) error {
	for {
		switch {
		case l.over:
			return ErrTurnOver
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case l.next < l.limit && !l.tooFarAhead():
			return nil
		}
		moved := l.moved
		l.mu.Unlock()
		l.flush()
		select {
		case <-moved:
		case <-ctx.Done():
		}
		l.mu.Lock()
	}
}

func (l *livestream) tooFarAhead() bool {
	switch {
	case l.written-l.stored > aheadBytes:
		return true
	case len(l.taken) > 0:
		return time.Since(l.taken[0].since) > aheadTime
	case !l.packer.Empty():
		return time.Since(l.since) > aheadTime
	}
	return false
}

// errTooLong refuses what would make the message too large.
var errTooLong = Errorf("The answer is too long: at most %d MiB can be stored.", maxAnswer>>20)

// admit numbers, packs and sends c.
func (l *livestream) admit(c *uimessage.Chunk) error {
	body := c.AppendJSON(make([]byte, 0, 64+len(c.Delta)))
	size := max(len(c.Delta), len(body)-len(c.Type)-len(c.ID)-len(c.ToolCallID)-frameOfDelta)
	if l.size+size > maxAnswer {
		return errTooLong
	}
	if !c.Transient {
		l.size += size
	}
	if l.packer.Empty() {
		l.first, l.since = l.next, time.Now()
	}
	before := l.packer.Bytes()
	l.packer.Add(c, body)
	l.written += int64(l.packer.Bytes() - before)
	o := output{item: feed.Chunk{Seq: l.next, Body: body}}
	l.next++
	urgency := l.guard.Fact(*c)
	if urgency != uimessage.Prose {
		o.need, l.fact = unsaved, true
	}
	l.out.put(o)
	if l.tap != nil {
		chunk := *c
		l.out.put(output{need: o.need, send: func(err error) {
			if err == nil {
				l.tap(chunk)
			}
		}})
	}
	if !l.urgent && (urgency == uimessage.UrgentFact || l.packer.Bytes() >= flushBytes) {
		l.urgent = true
		l.flush()
	}
	if !l.asked && l.limit-l.next < reserveAhead {
		l.asked = true
		l.reserve()
	}
	return nil
}

// frameOfDelta is what a delta's JSON has besides its fields' values, of which
// the message keeps the text alone.
const frameOfDelta = len(`{"type":"","id":"","delta":""}`)

// packed is what the actor takes along into the journal.
type packed struct {
	keep chat.Keep
	fact bool  // it states one: it must be stored before it is seen
	upto int64 // of written
}

// take empties the packer. The actor calls it with mu held.
func (l *livestream) take() (packed, bool) {
	l.urgent = false
	if l.packer.Empty() {
		return packed{}, false
	}
	runs, count := l.packer.Take()
	p := packed{keep: chat.Keep{Turn: l.turn, First: l.first, Runs: runs, Count: count}, fact: l.fact, upto: l.written}
	l.taken = append(l.taken, span{upto: l.written, since: l.since})
	l.fact = false
	return p, true
}

// durable says that what was written up to upto is stored, and that positions
// below limit may be used.
func (l *livestream) durable(upto int64, limit uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored = max(l.stored, upto)
	for len(l.taken) > 0 && l.taken[0].upto <= l.stored {
		l.taken = l.taken[1:]
	}
	if limit > l.limit {
		l.limit, l.asked = limit, false
	}
	l.wake()
}

// locked runs f with mu held.
func (l *livestream) locked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// end refuses everything from now on. The actor calls it with mu held.
func (l *livestream) end() {
	l.over = true
	l.wake()
}

func (l *livestream) wake() {
	close(l.moved)
	l.moved = make(chan struct{})
}

// pending reports whether the grid's tick has something to store.
func (l *livestream) pending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.packer.Empty()
}
