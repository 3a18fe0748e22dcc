package actors

import (
	"context"
	"log/slog"
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
	rt    *Runtime
	slot  *slot
	addr  feed.Address
	class *Agent
	log   *slog.Logger
	self  *actor.PID
	root  *actor.RootContext

	core      *chat.Core
	out       *outflow
	live      *livestream // stream of the running turn, if it has one
	activated bool        // Activate has been stepped
	phase     phase
	waiting   []any // came while loading

	durable   uint64
	based     uint64 // number of the journal's base record when it was loaded
	tail      []entry
	flying    int
	batch     persistence.Batch
	sealedDue map[string]bool // effects due as of the append under way
	storedDue map[string]bool // effects due as of the last one that is stored

	running map[string]*running
	timer   *time.Timer // for the earliest wait
	timerAt int64
	idle    *time.Timer
	watch   map[string][]chan<- ChatResponse // by request: who waits for its end
}

// entry is an event on its way to the journal.
type entry struct {
	event chat.Event
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
	resting // its goodbye is being stored
	failed  // the journal cannot be read: refuses everything
	gone    // stopped; what still comes is ignored
)

// Messages of the shell to itself. Those of others are ask and query.
type (
	loaded struct {
		core *chat.Core
		info persistence.Info
		err  error
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
		outcome chat.Command // nil: none
	}
	flushStream struct{}
	gridTick    struct{}
	reserveMore struct{}
	timerFired  struct{}
	idleFired   struct{}
	lastCall    struct{}
	drain       struct{}
)

func (a *shell) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.started(c)
	case *actor.Stopping, *actor.Restarting:
		a.stopped()
	case *actor.Stopped:
		a.slot.stopped()
	case actor.SystemMessage, actor.AutoReceiveMessage:
	case loaded:
		a.loaded(m)
	default:
		switch a.phase {
		case loading:
			a.waiting = append(a.waiting, m)
		case gone:
			refuse(m, &Error{Code: Unavailable, Message: "the agent is restarting", err: ErrInterrupted})
		default:
			a.receive(m)
		}
	}
}

func (a *shell) receive(m any) {
	switch m := m.(type) {
	case ask:
		a.ask(m)
	case query:
		a.query(m)
	case openStream:
		a.openStream(m)
	case ended:
		a.ended(m)
	case appended:
		a.appended(m)
	case found:
		a.found(m)
	case lookAgain:
		if m.batch == a.batch && a.flying > 0 {
			a.lookUp()
		}
	case flushStream, gridTick:
		a.store()
	case reserveMore:
		if l := a.live; l != nil {
			a.step(chat.Reserve{Turn: l.turn, Attempt: l.attempt}, "")
		}
	case timerFired:
		a.timerFired()
	case idleFired:
		a.leave()
	case lastCall:
		a.lastCall()
	case drain:
		a.rest()
	}
}

func (a *shell) started(c actor.Context) {
	a.self, a.root = c.Self(), c.ActorSystem().Root
	a.running = make(map[string]*running)
	a.watch = make(map[string][]chan<- ChatResponse)
	a.out = &outflow{sink: a.rt.cfg.Rooms.Room(a.addr)}
	a.batch.Incarnation = a.rt.newIncarnation()
	a.load()
}

// tell sends to this actor from any goroutine.
func (a *shell) tell(m any) { a.root.Send(a.self, m) }

// ask is a command from outside. reply is called once, when what the command
// has led to is durable, or with the reason why it was refused.
type ask struct {
	cmd   chat.Command
	by    string // socket that gave it, if any
	items func(*chat.State) []feed.Item
	watch chan<- ChatResponse // for Submit: gets the end of the turn
	reply func(error)
}

// query reads the state at once; its reply waits like any output.
type query struct {
	read  func(*chat.State, *outflow, uint64)
	reply func(error)
}

const (
	maxTail    = 1000 // events that may wait for the disk before clients are refused
	maxWaiting = 8192 // outputs
)

func (a *shell) ask(m ask) {
	if err := a.accepts(); err != nil {
		m.reply(err)
		return
	}
	a.touch()
	a.activate()
	if _, err := a.decide(m.cmd, m.by); err != nil {
		m.reply(refusal(err))
		return
	}
	if m.items != nil {
		for _, item := range m.items(&a.core.State) {
			a.out.put(&output{need: a.version(), item: item})
		}
	}
	if s, ok := m.cmd.(chat.Submit); ok && m.watch != nil {
		a.watchTurn(s.Request, m.watch)
	}
	a.out.put(&output{need: a.version(), send: m.reply})
	a.settle()
}

func (a *shell) query(m query) {
	if a.phase == failed {
		m.reply(a.slot.failure())
		return
	}
	a.touch()
	m.read(&a.core.State, a.out, a.version())
	a.out.put(&output{need: a.version(), send: m.reply})
	a.settle()
}

// accepts refuses a client's command when too much is waiting already.
func (a *shell) accepts() error {
	switch {
	case a.phase == failed:
		return a.slot.failure()
	case a.phase == resting:
		return &Error{Code: Stopping, Message: "the node is stopping"}
	case len(a.tail) > maxTail || a.out.waiting() > maxWaiting:
		return &Error{Code: Busy, Message: "the journal cannot be written at present; the request was not accepted"}
	}
	return nil
}

func (a *shell) version() uint64 { return a.durable + uint64(len(a.tail)) }

// activate begins the incarnation in the journal, before its first event.
func (a *shell) activate() {
	if a.activated {
		return
	}
	a.activated = true
	events, err := a.core.Step(chat.Activate{
		Incarnation: a.batch.Incarnation, Class: a.addr.Class, Name: a.addr.Name, Node: a.rt.cfg.Node,
		Now: nowMS(), Ids: newIDs(),
	})
	if err != nil {
		panic(err) // Activate is never refused
	}
	a.enter(events, persistence.Durable)
	a.told(events)
}

// step decides on a command of our own and sees to what follows.
func (a *shell) step(cmd chat.Command, by string) {
	a.activate()
	if _, err := a.decide(cmd, by); err != nil && err != chat.ErrTurnOver {
		a.log.Error("command refused", "command", cmd, "error", err)
	}
	a.settle()
}

// decide is the one way through the core: chunks first, so that the decision
// sees all that was said; then the command; then what is told of it. The
// stream's lock is held throughout, so that nothing is said in between.
func (a *shell) decide(cmd chat.Command, by string) (events []chat.Event, err error) {
	if l := a.live; l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		a.takeChunks(l)
	}
	events, err = a.guarded(cmd)
	if err != nil {
		return nil, err
	}
	a.enter(events, persistence.Durable)
	for _, item := range a.core.State.Project(events, by) {
		a.out.put(&output{need: a.need(item), item: item})
	}
	a.told(events)
	if l := a.live; l != nil && (!a.core.State.Stream.Open || a.core.State.Stream.Turn != l.turn) {
		l.end()
		a.live = nil
		a.rt.grid.leave(a)
	}
	return events, nil
}

// guarded turns a panic of the core into a refusal: nothing of the command has
// been stored, and the conversation goes on.
func (a *shell) guarded(cmd chat.Command) (events []chat.Event, err error) {
	before := a.core.State.Version
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if a.core.State.Version != before {
			panic(p) // half applied: the incarnation must end
		}
		a.log.Error("panic in the core", "command", cmd, "panic", p)
		events, err = nil, &Error{Code: BadRequest, Message: "the request could not be understood"}
	}()
	return a.core.Step(cmd)
}

// need is what an item waits for. The opening of a stream runs ahead with its
// first chunks: it states nothing that they do not show.
func (a *shell) need(item feed.Item) uint64 {
	if _, ok := item.(feed.Opened); ok {
		return 0
	}
	return a.version()
}

// takeChunks moves what the stream has packed into the tail. l.mu is held.
func (a *shell) takeChunks(l *livestream) {
	t, ok := l.take()
	if !ok {
		return
	}
	events, err := a.core.Step(t.keep)
	if err != nil {
		return // the turn is over; its chunks are nobody's
	}
	class := persistence.Streamed
	if len(t.facts) > 0 {
		class = persistence.Durable
	}
	a.enter(events, class)
	a.tail[len(a.tail)-1].upto = t.upto
	a.out.resolve(t.facts, a.version())
}

// settle sees to what follows from a change: append, timers, effects that are
// no longer due.
func (a *shell) settle() {
	if a.phase == failed || a.phase == gone {
		return
	}
	a.flush(false)
	a.reconcile()
	a.keepTime()
}

// store appends what the stream has packed.
func (a *shell) store() {
	if l := a.live; l != nil {
		l.mu.Lock()
		a.takeChunks(l)
		l.mu.Unlock()
	}
	a.flush(true)
}

// ended is the outcome of an effect. Its entry goes first, so that a key that is
// still due may start again.
func (a *shell) ended(m ended) {
	if r := a.running[m.key]; r != nil {
		r.cancel(context.Canceled)
		delete(a.running, m.key)
	}
	if m.outcome == nil || a.phase == resting || a.phase == failed {
		a.settle()
		return
	}
	a.step(m.outcome, "")
}
