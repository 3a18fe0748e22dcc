package actors

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// ask is a command from outside. reply is called once, when what the command
// has led to is durable, or with the reason why it was refused.
type ask struct {
	cmd     chat.Command
	by      string // socket that gave it, if any
	asker   string // for Submit: the same, who is not excluded from anything
	items   func(*chat.State) []feed.Item
	watch   chan<- ChatResponse // gets the end of the turn of request
	request string
	maker   makeMessages // makes the messages of that turn, when its slot comes
	caller  *caller      // brings something along for that turn
	done    func()       // called before reply, if the command has changed anything
	reply   func(error)
}

// What may wait for the disk before clients are refused.
const (
	maxTail      = 1000    // events
	maxTailBytes = 4 << 20 // of events
	maxWaiting   = 8192    // outputs
	maxHeld      = 64 << 20
)

func (a *shell) ask(m ask) {
	if err := a.accepts(); err != nil {
		m.reply(err)
		return
	}
	a.touch()
	a.used = nowMS()
	a.activate()
	if err := a.obey(m); err != nil {
		m.reply(refusal(err))
	}
	a.settle() // also after a refusal: the incarnation may have begun with it
}

func (a *shell) obey(m ask) error {
	var events []chat.Event
	err := a.decide(m.cmd, m.by, func(cmd chat.Command) (_ []chat.Event, err error) {
		events, err = a.guarded(cmd)
		return events, err
	})
	if err != nil {
		return err
	}
	if s, ok := m.cmd.(chat.Submit); ok && len(events) > 0 {
		a.noteAsker(s.Request, m.asker)
	}
	a.countForgeries()
	if m.items != nil {
		for _, item := range m.items(&a.core.State) {
			a.out.put(output{need: a.version(), item: item})
		}
	}
	if m.maker != nil {
		a.keepMaker(m.request, m.maker)
	}
	if m.caller != nil {
		a.keepCaller(m.request, m.caller)
	}
	if m.watch != nil {
		a.watchTurn(m.request, m.watch)
	}
	a.out.put(output{need: a.version(), send: func(err error) {
		if err == nil && m.done != nil && len(events) > 0 {
			m.done()
		}
		m.reply(err)
	}})
	return nil
}

// visit looks at the agent on its goroutine, and must not block. Its reply waits
// like any output.
type visit struct {
	do    func(*shell) error
	reply func(error)
}

func (a *shell) visit(m visit) {
	err := a.accepts()
	if err == nil && a.core.State.Family.Deleted {
		err = refusal(chat.ErrDeleted)
	}
	if err == nil {
		a.touch()
		a.used = nowMS()
		err = m.do(a)
	}
	if err != nil {
		m.reply(err)
		return
	}
	a.out.put(output{need: a.version(), send: m.reply})
	a.settle()
}

// accepts refuses what comes from outside when too much is waiting already.
func (a *shell) accepts() error {
	outputs, held := a.out.waiting()
	if len(a.tail) > maxTail || a.bytes > maxTailBytes || outputs > maxWaiting || held > maxHeld {
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
		Incarnation: a.batch.Incarnation, Class: a.addr.Class, Name: a.addr.Name, Parent: a.addr.Parent, Node: a.rt.cfg.Node,
		Now: nowMS(), Ids: newIDs(),
	})
	if err != nil {
		panic(err) // Activate is never refused
	}
	a.enter(events, persistence.Durable)
	a.told(events)
}

// step decides on a command of our own and sees to what follows. A panic there
// ends the incarnation: what has led to it is still due, and must not be tried
// again without an end.
func (a *shell) step(cmd chat.Command) {
	a.activate()
	if err := a.decide(cmd, "", a.core.Step); err != nil && !errors.Is(err, chat.ErrTurnOver) && !errors.Is(err, chat.ErrDeleted) {
		a.log.Error("command refused", "command", cmd, "error", err)
	}
	a.settle()
}

// decide is the one way through the core: chunks first, so that the decision
// sees all that was said; then the command; then what is told of it. The
// stream's lock is held throughout, so that nothing is said in between. core is
// core.Step, or guarded for what comes from outside.
func (a *shell) decide(cmd chat.Command, by string, core func(chat.Command) ([]chat.Event, error)) error {
	if l := a.live; l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		a.takeChunks(l)
	}
	events, err := core(cmd)
	if err != nil {
		return err
	}
	a.enter(events, persistence.Durable)
	for _, item := range a.core.State.Project(events, by) {
		a.out.put(output{need: a.need(item), item: item})
	}
	a.told(events)
	if l := a.live; l != nil && (!a.core.State.Stream.Open || a.core.State.Stream.Turn != l.turn) {
		a.endStream(l)
	}
	return nil
}

// endStream lets nothing more into l. l.mu is held.
func (a *shell) endStream(l *livestream) {
	l.end()
	a.live = nil
	a.rt.grid.leave(a)
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
	if t.fact {
		class = persistence.Durable
	}
	a.enter(events, class)
	a.tail[len(a.tail)-1].upto = t.upto
	a.out.resolve(a.version())
}

// settle sees to what follows from a change: append, timers, effects that are
// no longer due.
func (a *shell) settle() {
	if a.phase == gone {
		return
	}
	a.flush(false)
	a.reconcile()
	a.keepTime()
	a.endVigils()
}

// store appends what the stream has packed.
func (a *shell) store() {
	if l := a.live; l != nil {
		l.locked(func() { a.takeChunks(l) })
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
	a.step(m.outcome)
	a.hangUp()
	if a.eager {
		a.leave()
	}
}
