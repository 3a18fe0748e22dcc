package actors

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// slot is the door to one agent, in memory or not. Senders go through it: while
// the actor goes and comes the slot queues, so that no message falls into a
// mailbox that nobody reads any more.
type slot struct {
	rt     *Runtime
	addr   feed.Address
	class  *Agent
	stream string // of the agent's journal

	mu      sync.Mutex
	pid     *actor.PID // nil: not in memory
	going   bool       // the actor has asked to go: queue
	closed  bool       // the node stops: refuse
	retired bool       // the runtime has forgotten this slot: ask it for the new one
	queue   []any
	born    time.Time // of the actor
	faults  int       // incarnations in a row that ended by a fault
	rests   time.Time // the waker leaves the agent alone until then
}

// send hands m to the actor, bringing it into memory if need be. It reports
// false, and has done nothing, if the slot is retired.
func (s *slot) send(m any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.retired:
		return false
	case s.closed:
		refuse(m, errNodeStops)
	case s.going && len(s.queue) >= maxWaiting:
		refuse(m, &Error{Code: Busy, Message: "too many requests wait for the agent to come back"})
	case s.going:
		s.queue = append(s.queue, m)
	default:
		s.spawn()
		s.deliver(m)
	}
	return true
}

// wake brings the agent into memory for work of its own. After repeated faults it
// does so with a growing delay, and returns how much of that is left.
func (s *slot) wake() (later time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.going || s.retired {
		return 0
	}
	if later = time.Until(s.rests); later > 0 && s.pid == nil {
		return later
	}
	s.spawn()
	return 0
}

// inMemory reports whether an incarnation is there.
func (s *slot) inMemory() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid != nil
}

// spawn starts an incarnation if there is none. mu is held, and the slot is
// neither closed nor retired: so Stop, which closes it, sees every actor.
func (s *slot) spawn() {
	if s.pid != nil {
		return
	}
	s.rt.work.Add(1) // until stopped
	s.born = time.Now()
	s.pid = s.rt.root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &shell{rt: s.rt, slot: s, addr: s.addr, class: s.class, log: s.rt.cfg.Log.With("agent", s.addr.String())}
	}))
}

// leave has the slot queue from now on. What was sent before is in the mailbox,
// ahead of whatever the actor tells itself next.
func (s *slot) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.going = true
}

// stay takes a leave back.
func (s *slot) stay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.going = false
	s.drainQueue()
}

// later has the next incarnation take messages, before those that are queued. The
// slot queues from now on.
func (s *slot) later(messages []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.going = true
	if s.closed {
		for _, m := range messages {
			refuse(m, errNodeStops)
		}
		return
	}
	s.queue = append(messages, s.queue...)
}

// whisper hands m to the actor if there is one.
func (s *slot) whisper(m any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.pid == nil || s.closed:
	case s.going:
		s.queue = append(s.queue, m)
	default:
		s.deliver(m)
	}
}

// drainQueue hands what has been queued to the actor, in order. mu is held.
func (s *slot) drainQueue() {
	for _, m := range s.queue {
		s.deliver(m)
	}
	s.queue = nil
}

// deliver puts m into the actor's mailbox. mu is held and there is an actor.
func (s *slot) deliver(m any) { s.rt.root.Send(s.pid, letter{m}) }

// letter is a message to a shell. An outcome may come when the actor is gone,
// which is no cause for protoactor to log, on goroutines that outlive its shutdown.
type letter struct{ any }

// IgnoreDeadLetterLogging implements actor.IgnoreDeadLetterLogging.
func (letter) IgnoreDeadLetterLogging() {}

// stopped is the actor's last word. What has been queued starts the next
// incarnation. due: the agent may have work of its own, now or later.
func (s *slot) stopped(fault, due bool) {
	s.rt.cfg.Rooms.Gone(s.addr)
	s.mu.Lock()
	s.noteEnd(fault)
	s.pid, s.going = nil, false
	if len(s.queue) > 0 { // then it is not closed: shut has refused the queue
		s.spawn()
		s.drainQueue()
	}
	s.mu.Unlock()
	s.rt.passivated(s, due)
	s.rt.work.Done()
}

// noteEnd has the waker wait longer after each fault in a row. mu is held.
func (s *slot) noteEnd(fault bool) {
	if !fault {
		s.faults, s.rests = 0, time.Time{}
		return
	}
	if time.Since(s.born) > mostRest {
		s.faults = 0
	}
	if s.faults++; s.faults > 1 {
		s.rests = time.Now().Add(min(time.Second<<min(s.faults-2, 10), mostRest))
	}
}

// mostRest is the longest time for which an agent that ends by a fault each time
// is not woken.
const mostRest = 5 * time.Minute

// retire reports whether nobody needs the slot, and has senders ask for a new one
// if so. The runtime's lock is held.
func (s *slot) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = s.retired || s.pid == nil && s.faults == 0 && !s.closed
	return s.retired
}

// shut refuses from now on and asks the actor, if there is one, to say goodbye.
func (s *slot) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, m := range s.queue {
		refuse(m, errNodeStops)
	}
	s.queue = nil
	if s.pid != nil {
		s.deliver(drain{})
	}
}

// abandon ends an actor that cannot say goodbye in time.
func (s *slot) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid != nil {
		s.deliver(abandon{})
	}
}
