package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// load replays the journal on a goroutine of its own. What comes meanwhile waits.
func (a *shell) load() {
	store, stream, policy := a.rt.cfg.Store, a.slot.stream, a.class.policy()
	a.rt.background(func() {
		core, info, err := replay(a.rt.ctx, store, stream, policy)
		a.tell(loaded{core, info, err})
	})
}

// replay builds the core that the journal adds up to, with the snapshot's help.
// A journal that this program cannot read gives an error of code Quarantined.
func replay(ctx context.Context, store persistence.Store, stream string, policy chat.Policy) (core *chat.Core, info persistence.Info, err error) {
	info, _, err = store.Find(ctx, stream, persistence.Batch{})
	if err != nil {
		return nil, info, unreadable(stream, err)
	}
	core = chat.New(policy)
	at := restore(ctx, store, stream, info, core)
	if at == 0 {
		core = chat.New(policy)
	}
	for r, err := range store.Read(ctx, stream, at+1) {
		if err != nil {
			return nil, info, unreadable(stream, err)
		}
		if err := apply(core, r); err != nil {
			return nil, info, &Error{Code: Quarantined, Message: "this conversation cannot be opened by this version of the program; nothing is lost", err: fmt.Errorf("stream %q: record %d: %w", stream, r.Seq, err)}
		}
		at = r.Seq
	}
	info.Head = max(at, info.Head)
	core.State.Version = info.Head
	return core, info, nil
}

// restore applies the snapshot, if it is there, readable and not ahead of what
// the journal holds. It returns the number of the last record that it covers.
func restore(ctx context.Context, store persistence.Store, stream string, info persistence.Info, core *chat.Core) uint64 {
	snap, ok, err := store.LoadSnapshot(ctx, stream)
	if err != nil || !ok || snap.Seq > info.Head || snap.Seq < info.Base || info.Deleted {
		return 0
	}
	if apply(core, persistence.Record{Seq: snap.Seq, Data: snap.Data}) != nil {
		return 0
	}
	return snap.Seq
}

func apply(core *chat.Core, r persistence.Record) (err error) {
	var rec journalv1.Record
	if err := proto.Unmarshal(r.Data, &rec); err != nil {
		return err
	}
	if !chat.Known(rec.GetEvent()) {
		return errors.New("an event of a kind that this version does not know: it was written by a newer one")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be applied: %v", p)
		}
	}()
	core.State.Version = r.Seq - 1
	core.State.Apply(rec.GetEvent())
	return nil
}

func unreadable(stream string, err error) error {
	if errors.Is(err, persistence.ErrCorrupt) {
		return &Error{Code: Quarantined, Message: "this conversation's journal is damaged and cannot be opened; an operator must look", err: fmt.Errorf("stream %q: %w", stream, err)}
	}
	return &Error{Code: Unavailable, Message: "the journal cannot be read at present; please try again", err: fmt.Errorf("stream %q: %w", stream, err)}
}

func (a *shell) loaded(m loaded) {
	if m.err != nil {
		a.refuseAll(m.err)
		return
	}
	a.core, a.durable, a.based, a.phase = m.core, m.info.Head, m.info.Base, up
	a.out.release(a.durable)
	if a.core.State.WakeAt() != 0 || a.core.State.Turns.Running() != nil {
		a.activate()
	}
	a.out.put(&output{need: a.version(), item: a.core.State.Loaded()})
	a.settle()
	a.touch()
	waiting := a.waiting
	a.waiting = nil
	for _, w := range waiting {
		a.receive(w)
	}
}

// refuseAll answers everything with why the journal cannot be opened, until the
// incarnation is given up; the next message tries again.
func (a *shell) refuseAll(err error) {
	a.phase = failed
	a.slot.fail(err)
	var e *Error
	if errors.As(err, &e) && e.err != nil {
		a.log.Error("agent cannot be opened", "code", e.Code, "error", e.err)
	}
	for _, w := range a.waiting {
		refuse(w, err)
	}
	a.waiting = nil
	a.idle = time.AfterFunc(failedFor, func() { a.tell(idleFired{}) })
}

// failedFor is how long an agent that cannot be opened refuses before it is tried again.
const failedFor = 2 * time.Second

// refuse answers a message that nobody will handle.
func refuse(m any, err error) {
	switch m := m.(type) {
	case ask:
		m.reply(refusal(err))
	case query:
		m.reply(refusal(err))
	case openStream:
		m.reply(nil, ErrTurnOver)
	}
}

func refusal(err error) error {
	var busy chat.Busy
	var e *Error
	switch {
	case errors.As(err, &busy):
		return &Error{Code: Busy, Message: busy.Error()}
	case errors.As(err, &e):
		return e
	}
	return err
}
