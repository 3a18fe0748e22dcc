package actors

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// shell is the actor around one core: one incarnation of one agent. Its fields
// belong to the goroutine that runs Receive, unless they say otherwise.
//
// It applies first, appends in batches and lets nothing out before its events
// are on disk (hard-cases §7). At most one append is under way; what is decided
// meanwhile is the next batch. So the mailbox never waits for a disk.
//
// Invariant: durable + len(tail) is the version of the core.
// Invariant: 0 <= flying && flying <= len(tail).
type shell struct {
	rt     *Runtime
	slot   *slot
	addr   feed.Address
	class  *Agent
	log    *slog.Logger
	self   *actor.PID
	root   *actor.RootContext
	ctx    context.Context // of what this incarnation does; ends with it
	cancel context.CancelCauseFunc

	core      *chat.Core
	out       *outflow
	live      *livestream // stream of the running turn, if it has one
	activated bool        // Activate has been stepped
	phase     phase
	waiting   []any // came while loading
	refusal   error // phases failed and gone: what everybody is told
	fault     bool  // phase gone: not in peace
	calls     int   // of lastCall so far

	durable    uint64
	based      uint64 // number of the journal's base record when it was loaded
	covered    uint64 // number of the last record that a base or snapshot has in it
	wiped      bool   // a clear is in the journal, and what it has wiped may still be
	shed       bool   // so are messages that were removed
	tail       []entry
	bytes      int // of tail
	flying     int
	again      bool // the append under way has been sent before
	batch      persistence.Batch
	sealedDue  map[string]bool  // effects due as of the append under way
	behind     atomic.Bool      // the tail has entries that no append carries: the grid ticks for them
	sealedWake persistence.Wake // when the agent has work as of it
	storedDue  map[string]bool  // effects due as of the last one that is stored
	storedWake persistence.Wake // likewise

	running map[string]*running
	timer   *time.Timer // for the earliest wait
	timerAt int64
	idle    *time.Timer
	watch   map[string][]chan<- ChatResponse // by request: who waits for its end
	askers  map[string]string                // by request: the socket that has asked for it
	makers  map[uint64]makeMessages          // by turn that is to be prepared
	callers map[string]*caller               // by request: who waits for it with options
	loop    *loopSetup                       // of the running turn, as far as this process knows
	looped  chan<- loopEnd                   // the handler that waits for its loop's end; nil: none
	vigils  map[*vigil]bool                  // who waits until nothing happens any more
	used    int64                            // when somebody last used the agent, in milliseconds since the epoch
	looking bool                             // a search for signs of life is under way
	eager   bool                             // leaves as soon as it is idle

	removals  []awaitRemoval
	deletions []func(error) // who waits for the agent's end
}

// entry is an event on its way to the journal.
type entry struct {
	event chat.Event
	blobs []persistence.Blob // values that it refers to
	size  int                // about, in bytes
	class persistence.Class
	atMS  int64
	upto  int64 // chunk bytes of the stream that are durable with it; 0: none
}

// phase of an incarnation.
type phase int

const (
	loading phase = iota
	up
	leaving // has asked to go; goes at lastCall if nothing has come
	erasing // it is stored that the agent is deleted for good; goes when nothing is left of it
	resting // its goodbye is being stored
	failed  // the journal cannot be read: refuses everything
	gone    // is over; refuses what is still in the mailbox, up to farewell
)

// Messages of the shell to itself. Those of others are ask, visit and deletion.
type (
	loaded struct {
		history
		err error
	}
	appended struct {
		batch persistence.Batch
		err   error
	}
	found struct {
		batch persistence.Batch
		yes   bool
		head  uint64
		err   error
	}
	lookAgain struct{ batch persistence.Batch }
	ended     struct {
		key     string
		outcome chat.Command
	}
	flushStream struct{}
	gridTick    struct{}
	reserveMore struct{}
	timerFired  struct{ at int64 }
	idleFired   struct{}
	goSoon      struct{}           // of others: leave when idle
	forget      func(*shell)       // of others: somebody has given up waiting
	lastCall    struct{ call int } // behind all that came before a leave
	farewell    struct{}           // behind all that came before the end
	drain       struct{}           // from the slot: say goodbye
	abandon     struct{}           // from the slot: end at once
)

// Receive implements actor.Actor. A panic ends the incarnation, as any fault does:
// protoactor's restarts would lose the message and keep a broken state.
func (a *shell) Receive(c actor.Context) {
	defer func() {
		if p := recover(); p != nil {
			letter, _ := c.Message().(letter)
			a.panicked(letter.any, p)
		}
	}()
	switch m := c.Message().(type) {
	case *actor.Started:
		a.started(c)
	case *actor.Stopping, *actor.Restarting:
		a.stopped()
	case *actor.Stopped:
		a.slot.stopped(a.fault, a.mayHaveWork())
	case letter:
		a.route(m.any)
	}
}

// route says what each phase makes of a message.
func (a *shell) route(m any) {
	switch m.(type) {
	case farewell:
		a.root.Stop(a.self)
		return
	case abandon:
		a.lost("it could not say goodbye before the node stopped", errStopping)
		return
	}
	switch a.phase {
	case loading:
		a.receiveLoading(m)
	case up, leaving:
		a.receive(m)
	case erasing:
		a.receiveErasing(m)
	case resting:
		a.receiveResting(m)
	case failed:
		switch m.(type) {
		case idleFired, drain:
			a.stop()
		default:
			refuse(m, a.refusal)
		}
	case gone:
		refuse(m, a.refusal)
	}
}

func (a *shell) receiveLoading(m any) {
	switch m := m.(type) {
	case loaded:
		a.loaded(m)
	case drain: // there is nothing to say goodbye to
		a.end(errNodeStops)
		a.stop()
	default:
		if len(a.waiting) >= maxWaiting {
			refuse(m, &Error{Code: Busy, Message: "too many requests wait for the journal to be read"})
			return
		}
		a.waiting = append(a.waiting, m)
	}
}

func (a *shell) receive(m any) {
	switch m := m.(type) {
	case ask:
		a.ask(m)
	case visit:
		a.visit(m)
	case forget:
		m(a)
		a.settle()
	case deletion:
		a.touch()
		a.delete(m)
	case awaitRemoval:
		a.awaitRemoval(m)
	case used:
		a.expired(m)
	case openStream:
		a.openStream(m)
	case readAnswer:
		a.readAnswer(m)
	case ended:
		a.ended(m)
	case flushStream, gridTick:
		a.store()
	case reserveMore:
		if l := a.live; l != nil {
			a.step(chat.Reserve{Turn: l.turn, Attempt: l.attempt})
		}
	case timerFired:
		a.timerFired(m)
	case idleFired:
		a.leave()
	case goSoon:
		a.letGo()
	case lastCall:
		a.lastCall(m)
	case drain:
		a.rest()
	default:
		a.receiveAnswer(m)
	}
}

// receiveResting takes what the goodbye still needs. Nothing is decided any more:
// what effects hand in is theirs to do again at the next start.
func (a *shell) receiveResting(m any) {
	switch m := m.(type) {
	case ended:
		delete(a.running, m.key)
	default:
		a.receiveAnswer(m)
		refuse(m, errNodeStops)
	}
}

// receiveAnswer takes the store's.
func (a *shell) receiveAnswer(m any) {
	switch m := m.(type) {
	case appended:
		a.appended(m)
	case found:
		a.found(m)
	case lookAgain:
		if m.batch == a.batch && a.flying > 0 {
			a.lookUp()
		}
	}
}

func (a *shell) started(c actor.Context) {
	a.self, a.root = c.Self(), c.ActorSystem().Root
	a.ctx, a.cancel = context.WithCancelCause(a.rt.ctx)
	a.running = make(map[string]*running)
	a.watch = make(map[string][]chan<- ChatResponse)
	a.askers = make(map[string]string)
	a.callers = make(map[string]*caller)
	a.makers, a.vigils = make(map[uint64]makeMessages), make(map[*vigil]bool)
	a.batch.Incarnation = a.rt.newIncarnation()
	a.out = &outflow{sink: a.rt.cfg.Rooms.Room(a.addr)}
	a.load()
}

// tell sends to this actor from any goroutine.
func (a *shell) tell(m any) { a.root.Send(a.self, letter{m}) }

// panicked ends the incarnation after a fault of this program's.
func (a *shell) panicked(m any, p any) {
	defer func() {
		if recover() != nil { // the state is worse than we thought
			a.phase, a.fault = gone, true
			a.root.Stop(a.self)
		}
	}()
	refuse(m, errRestarting)
	a.lost("panic in the runtime", fmt.Errorf("%v\n%s", p, debug.Stack()))
}

// errRestarting is what callers are told when an incarnation ends by a fault.
var errRestarting = &Error{Code: Unavailable, Message: "the agent is restarting; please try again", err: ErrInterrupted}
