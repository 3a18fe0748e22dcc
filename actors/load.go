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
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// load replays the journal on a goroutine of its own. What comes meanwhile waits.
func (a *shell) load() {
	store, stream, policy := a.rt.cfg.Store, a.slot.stream, a.class.policy()
	a.rt.background(func() {
		var m loaded
		if err := guard(func() { m.history, m.err = replay(a.ctx, store, stream, policy) }); err != nil {
			m.err = quarantined(fmt.Errorf("stream %q: %w", stream, err))
		}
		a.tell(m)
	})
}

// history is what a journal adds up to.
type history struct {
	core    *chat.Core
	info    persistence.Info
	covered uint64   // number of the last record that a base or snapshot has in it
	wiped   bool     // a clear came after that: what it wiped is still stored
	shed    bool     // so did a removal of messages
	bad     []string // ids of stored messages that cannot be read
	used    int64    // time of the last record, in milliseconds; 0: there is none
}

// replay builds the core that the journal adds up to, with the snapshot's help.
// A journal that this program cannot read gives an error of code Quarantined.
func replay(ctx context.Context, store persistence.Store, stream string, policy chat.Policy) (h history, err error) {
	h.info, _, err = store.Find(ctx, stream, persistence.Batch{})
	if err != nil {
		return h, unreadable(stream, err)
	}
	h.core = chat.New(policy)
	at, when := restore(ctx, store, stream, h.info, h.core)
	if h.used = when; at == 0 {
		h.core = chat.New(policy)
	}
	h.covered = max(at, h.info.Base)
	for r, err := range store.Read(ctx, stream, at+1) {
		if err != nil {
			return h, unreadable(stream, err)
		}
		rec, err := apply(h.core, r)
		if err != nil {
			return h, quarantined(fmt.Errorf("stream %q: record %d: %w", stream, r.Seq, err))
		}
		h.wiped = h.wiped || rec.GetEvent().GetCleared() != nil
		h.shed = h.shed || rec.GetEvent().GetMessagesRemoved() != nil
		at, h.used = r.Seq, rec.GetAtMs()
	}
	h.info.Head = max(at, h.info.Head)
	h.core.State.Version = h.info.Head
	h.bad = h.core.State.Transcript.Hydrate()
	return h, nil
}

// restore applies the snapshot, if it is there, readable and not ahead of what
// the journal holds. It returns the number of the last record that it covers, and
// when it was made.
func restore(ctx context.Context, store persistence.Store, stream string, info persistence.Info, core *chat.Core) (covers uint64, atMS int64) {
	snap, ok, err := store.LoadSnapshot(ctx, stream)
	if err != nil || !ok || snap.Seq > info.Head || snap.Seq < info.Base || info.Deleted {
		return 0, 0
	}
	rec, err := apply(core, persistence.Record{Seq: snap.Seq, Data: snap.Data})
	if err != nil {
		return 0, 0
	}
	return snap.Seq, rec.GetAtMs()
}

func apply(core *chat.Core, r persistence.Record) (rec *journalv1.Record, err error) {
	rec = &journalv1.Record{}
	if err := proto.Unmarshal(r.Data, rec); err != nil {
		return nil, err
	}
	if !chat.Known(rec.GetEvent()) {
		return nil, errors.New("an event of a kind that this version does not know: it was written by a newer one")
	}
	err = guard(func() {
		core.State.Version = r.Seq - 1
		core.State.Apply(rec.GetEvent())
	})
	return rec, err
}

func quarantined(err error) error {
	return &Error{Code: Quarantined, Message: "this conversation cannot be opened by this version of the program; nothing is lost", err: err}
}

func unreadable(stream string, err error) error {
	err = fmt.Errorf("stream %q: %w", stream, err)
	if errors.Is(err, persistence.ErrCorrupt) {
		return &Error{Code: Quarantined, Message: "this conversation's journal is damaged and cannot be opened; an operator must look", err: err}
	}
	return &Error{Code: Unavailable, Message: "the journal cannot be read at present; please try again", err: err}
}

func (a *shell) loaded(m loaded) {
	if m.err != nil {
		a.failed(m.err)
		return
	}
	a.core, a.phase = m.core, up
	a.durable, a.based, a.covered, a.wiped = m.info.Head, m.info.Base, m.covered, m.wiped
	a.shed = m.shed
	for _, id := range m.bad {
		a.log.Warn("a stored message cannot be read; it is left out, and stays in the journal", "message", id)
	}
	a.used, a.storedWake = m.used, m.info.Wake
	a.out.release(a.durable)
	if a.core.State.WakeAt() != 0 || a.core.State.Turns.Running() != nil {
		a.activate()
	}
	a.out.put(output{need: a.version(), item: a.core.State.Loaded()})
	waiting := a.waiting
	a.waiting = nil
	if a.core.State.Family.Deleted { // an incarnation was cut off while it went
		a.phase = erasing
		a.slot.later(waiting)
		a.settle()
		return
	}
	a.settle()
	a.touch()
	for _, w := range waiting {
		a.route(w)
	}
}

// failed answers everything with why the journal cannot be opened, for a while;
// the next message after that tries again.
func (a *shell) failed(err error) {
	a.phase, a.refusal = failed, err
	var e *Error
	if errors.As(err, &e) {
		a.fault = e.Code == Quarantined // the waker need not hurry to try again
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
	case visit:
		m.reply(refusal(err))
	case deletion:
		m.reply(refusal(err))
	case awaitRemoval:
		m.reply(refusal(err))
	case openStream:
		m.reply(nil, ErrTurnOver)
	case readAnswer:
		m.reply(uimessage.Message{}, false)
	}
}

func refusal(err error) error {
	var busy chat.Busy
	var conflict chat.Conflict
	var e *Error
	switch {
	case errors.As(err, &conflict):
		return &Error{Code: Conflict, Message: conflict.Error()}
	case errors.As(err, &busy):
		return &Error{Code: Busy, Message: busy.Error()}
	case errors.Is(err, chat.ErrDeleted):
		return &Error{Code: Unavailable, Message: "the agent is being deleted; please try again", err: ErrInterrupted}
	case errors.Is(err, chat.ErrNoCall):
		return &Error{Code: NotFound, Message: err.Error(), err: err}
	case errors.Is(err, chat.ErrSettled), errors.Is(err, chat.ErrNotYet), errors.Is(err, chat.ErrServers):
		return &Error{Code: Conflict, Message: err.Error(), err: err}
	case errors.Is(err, chat.ErrTooMany):
		return &Error{Code: BadRequest, Message: err.Error()}
	case errors.As(err, &e):
		return e
	}
	return err
}
