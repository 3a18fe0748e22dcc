package actors

import (
	"sync"

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

	mu     sync.Mutex
	pid    *actor.PID // nil: not in memory
	going  bool       // the actor has asked to go: queue
	closed bool       // the node stops: refuse
	queue  []any
	broken error         // why the journal cannot be opened; for the actor's replies
	done   chan struct{} // closed when the actor is gone; for the node's stop
}

// send hands m to the actor, bringing it into memory if need be.
func (s *slot) send(m any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		refuse(m, &Error{Code: Stopping, Message: "the node is stopping"})
	case s.going:
		s.queue = append(s.queue, m)
	default:
		s.spawn()
		s.rt.root.Send(s.pid, m)
	}
}

// wake brings the agent into memory.
func (s *slot) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && !s.going {
		s.spawn()
	}
}

// inMemory reports whether an incarnation is there.
func (s *slot) inMemory() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid != nil
}

// spawn starts an incarnation if there is none. mu is held.
func (s *slot) spawn() {
	if s.pid != nil {
		return
	}
	s.done = make(chan struct{})
	s.pid = s.rt.root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &shell{rt: s.rt, slot: s, addr: s.addr, class: s.class, log: s.rt.cfg.Log.With("agent", s.addr.String())}
	}))
}

// leave has the slot queue from now on. What was sent before is in the mailbox.
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
	for _, m := range s.queue {
		s.rt.root.Send(s.pid, m)
	}
	s.queue = nil
}

// stopped is the actor's last word. What has been queued starts the next incarnation.
func (s *slot) stopped() {
	s.rt.cfg.Rooms.Gone(s.addr)
	s.mu.Lock()
	s.pid, s.going, s.broken = nil, false, nil
	queue := s.queue
	s.queue = nil
	close(s.done)
	s.mu.Unlock()
	s.rt.passivated(s, len(queue) == 0)
	for _, m := range queue {
		s.rt.send(s.addr, m)
	}
}

// shut refuses from now on, asks the actor to say goodbye, and returns a channel
// that is closed when it is gone; nil if there is none.
func (s *slot) shut() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, m := range s.queue {
		refuse(m, &Error{Code: Stopping, Message: "the node is stopping"})
	}
	s.queue = nil
	if s.pid == nil {
		return nil
	}
	s.rt.root.Send(s.pid, drain{})
	return s.done
}

func (s *slot) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *slot) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}
