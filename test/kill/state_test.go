package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/test/client"
)

// board is the agent whose state is under fire.
const board = "StateAgent/board"

// score is the state: a sum, and how much of it is whose.
type score struct {
	Count int            `json:"count"`
	Tally map[string]int `json:"tally"`
}

// tally is the state as the journal tells of it.
type tally struct{ score }

// stateSet: each change is one more, on one account.
func (h *history) stateSet(raw []byte) {
	var next score
	if err := json.Unmarshal(raw, &next); err != nil {
		h.fault("a state that is no JSON: %v", err)
		return
	}
	was, more := h.tally.score, 0
	for who, n := range next.Tally {
		if n < was.Tally[who] || n > was.Tally[who]+1 {
			h.fault("%s had %d and has %d next", who, was.Tally[who], n)
		}
		more += n - was.Tally[who]
	}
	if next.Count != was.Count+1 || more != 1 || len(next.Tally) < len(was.Tally) {
		h.fault("state %v is followed by %v", was, next)
	}
	h.tally.score = next
}

// desk takes what is beside the conversation from a base.
func (h *history) desk(b *journalv1.Base) {
	if b.GetStateJson() != nil {
		h.tally.score = score{}
		if err := json.Unmarshal(b.GetStateJson(), &h.tally.score); err != nil {
			h.fault("a state that is no JSON: %v", err)
		}
	}
	clear(h.family)
	for _, c := range b.GetSubAgents() {
		h.family[c.GetClass()+"/"+c.GetName()] = registered
		if c.GetRemoving() {
			h.family[c.GetClass()+"/"+c.GetName()] = removing
		}
	}
}

// scorer is one client that adds to its account, some calls at a time. What is
// acknowledged has happened, once; what was cut off may have. (All but mu and what is
// below belongs to its goroutine.)
type scorer struct {
	name    string
	witness *witness
	world   *world
	rng     *rand.Rand
	busy    *atomic.Int32 // scorers that have calls under way when the killing is over
	number  int           // of calls
	life    int           // of the node, when it connected
	settled atomic.Bool

	mu      sync.Mutex
	acked   int          // it has been told that so many have happened
	maybe   int          // cut off, further ones
	pending int          // under way
	values  map[int]bool // that were returned
	seen    score        // the newest that any socket of it was shown
}

func (s *scorer) run(ctx context.Context) {
	for life := 0; ; {
		var open bool
		if life, open = s.world.gate.next(ctx, life); !open {
			return
		}
		for s.world.gate.isOpen(life) && ctx.Err() == nil && !s.settled.Load() {
			s.connect(ctx, life)
		}
	}
}

// connect is one socket.
func (s *scorer) connect(ctx context.Context, life int) {
	socket, err := client.Dial(ctx, client.URL(s.world.addr, s.name, "/agents/"+kebab(board)), nil)
	if err != nil {
		return
	}
	defer socket.Drop()
	if !s.world.gate.isOpen(life) {
		return // it may be the node of the next life
	}
	defer s.cutOff()
	for greeted, rest := false, (func(*client.Frame) any)(nil); !s.settled.Load(); {
		f, err := socket.Read(ctx)
		if err != nil {
			return
		}
		switch {
		case f.Type == client.State:
			s.shown(f.State, greeted, life)
			greeted = true
		case f.Type == client.RPC && rest == nil:
			s.returned(&f)
		}
		if !greeted {
			continue // what is called before the first state could happen after it
		}
		for _, call := range s.act(&f, &rest) {
			if socket.Send(ctx, call) != nil {
				return
			}
		}
		if !s.world.calm.Load() && s.rng.IntN(300) == 0 {
			return // the network fails
		}
	}
}

// act decides what to call after a frame. When the killing is over and all calls have
// returned, rest takes over.
func (s *scorer) act(f *client.Frame, rest *func(*client.Frame) any) (calls []any) {
	switch {
	case !s.world.calm.Load():
		for most := 1 + s.rng.IntN(3); s.begin(most); {
			calls = append(calls, client.Call(s.call(), "tally", s.name))
		}
	case *rest != nil:
		if call := (*rest)(f); call != nil {
			calls = append(calls, call)
		}
	case s.idle():
		s.busy.Add(-1)
		*rest = s.rest()
		calls = append(calls, (*rest)(nil))
	}
	return calls
}

// rest asks for something else again and again. What was shown before an answer to a
// question that was asked when nobody was busy any more is the last state.
func (s *scorer) rest() func(*client.Frame) any {
	var asked string
	quiet := false
	return func(f *client.Frame) any {
		if f != nil && (f.Type != client.RPC || f.ID != asked) {
			return nil
		}
		if quiet {
			s.settled.Store(true)
			return nil
		}
		asked, quiet = s.call(), s.busy.Load() == 0
		return client.Call(asked, "add", 1, 2)
	}
}

func (s *scorer) call() string {
	s.number++
	return fmt.Sprintf("%s-%d", s.name, s.number)
}

// begin notes one more call, if fewer than most are under way.
func (s *scorer) begin(most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending >= most {
		return false
	}
	s.pending++
	return true
}

func (s *scorer) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == 0
}

// cutOff: nobody will tell what has become of what is under way.
func (s *scorer) cutOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maybe, s.pending = s.maybe+s.pending, 0
}

// returned: a call is acknowledged with the sum that it has made.
func (s *scorer) returned(f *client.Frame) {
	var sum int
	if !f.Success {
		s.witness.fault("%s: a call has failed: %s", s.name, f.Raw)
		return
	}
	if err := json.Unmarshal(f.Result, &sum); err != nil {
		s.witness.fault("%s: a call has returned %s", s.name, f.Raw)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[sum] {
		s.witness.fault("%s: two calls have both made it %d", s.name, sum)
	}
	s.values[sum] = true
	if most := s.acked + s.maybe + s.pending; sum > most {
		s.witness.fault("%s: has called %d times, and is told %d", s.name, most, sum)
	}
	s.acked, s.pending = s.acked+1, s.pending-1
}

// shown takes a state that a socket is told. The first one of a new life settles what
// was cut off by the death of the node: a call is not carried out later.
func (s *scorer) shown(raw json.RawMessage, greeted bool, life int) {
	var now score
	if err := json.Unmarshal(raw, &now); err != nil {
		s.witness.fault("%s: a state that is no JSON: %s", s.name, raw)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Count < s.seen.Count {
		s.witness.fault("%s: is shown %d, and was shown %d before", s.name, now.Count, s.seen.Count)
	}
	s.seen = now
	mine := now.Tally[s.name]
	if most := s.acked + s.maybe + s.pending; mine > most || mine < s.acked {
		s.witness.fault("%s: has called %d times, %d of them are acknowledged, and is shown %d", s.name, most, s.acked, mine)
	}
	if !greeted && life > s.life {
		s.life, s.acked, s.maybe = life, mine, 0
	}
}

// check compares what the client knows with the journal.
func (s *scorer) check(h *history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := h.tally.Tally[s.name]
	if kept < s.acked {
		s.witness.fault("%d increments of %s are acknowledged, and only %d are in the journal", s.acked, s.name, kept)
	}
	if most := s.acked + s.maybe + s.pending; kept > most {
		s.witness.fault("%s has called %d times, and %d increments are in the journal", s.name, most, kept)
	}
	if s.seen.Count > h.tally.Count {
		s.witness.fault("%s was shown %v, which is not in the journal: %v", s.name, s.seen, h.tally.score)
	}
}

// differs compares what the client shows at the end with what is stored.
func (s *scorer) differs(h *history) (faults []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.Count != h.tally.Count || !maps.Equal(s.seen.Tally, h.tally.Tally) {
		faults = append(faults, fmt.Sprintf("%s: %s shows %v at the end, stored is %v", board, s.name, s.seen, h.tally.score))
	}
	return faults
}
