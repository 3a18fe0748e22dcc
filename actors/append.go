package actors

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// lookAgainAfter is how long an append whose fate is unknown waits between two looks.
const lookAgainAfter = 200 * time.Millisecond

// enter puts events that the core has applied into the tail.
func (a *shell) enter(events []chat.Event, class persistence.Class) {
	at := nowMS()
	for _, e := range events {
		c := class
		if e.GetStreamOpened() != nil {
			c = persistence.Streamed // says nothing that its chunks do not
		}
		size, blobs := proto.Size(e), a.blobsOf(e)
		for _, b := range blobs {
			size += len(b.Data)
		}
		a.tail = append(a.tail, entry{event: e, blobs: blobs, size: size, class: c, atMS: at})
		a.bytes += size
	}
	a.used = at
}

// flush starts an append of the whole tail unless one is under way. A tail of
// chunks alone waits for the grid's tick, or for now.
func (a *shell) flush(now bool) {
	defer func() { a.behind.Store(len(a.tail) > a.flying) }()
	if a.flying > 0 || len(a.tail) == 0 || !now && !a.hasFact() {
		return
	}
	a.flying, a.again = len(a.tail), false
	a.batch.N++
	a.sealedDue, a.sealedWake = a.due(), persistence.Wake(a.wakeAt())
	a.append()
}

func (a *shell) hasFact() bool {
	for _, e := range a.tail {
		if e.class == persistence.Durable {
			return true
		}
	}
	return false
}

// append sends the tail's first flying entries to the store.
func (a *shell) append() {
	batch, records := a.batch, make([]persistence.Record, a.flying)
	var blobs []persistence.Blob
	for i, e := range a.tail[:a.flying] {
		data, err := proto.Marshal(&journalv1.Record{AtMs: e.atMS, Incarnation: batch.Incarnation, Batch: batch.N, Event: e.event})
		if err != nil {
			panic(err) // strings of events are UTF-8: they come from JSON, or through valid
		}
		records[i] = persistence.Record{Class: e.class, Data: data}
		blobs = append(blobs, e.blobs...)
	}
	req := persistence.Append{
		Stream: a.slot.stream, Expected: a.durable, Batch: batch, Records: records, Wake: a.sealedWake, Blobs: blobs,
	}
	a.rt.cfg.Store.Append(req, func(err error) { a.tell(appended{batch, err}) })
}

// appended is the commit point. A crash before it: nobody has seen the events.
// A crash after it: the journal has them, and whoever connects is told.
func (a *shell) appended(m appended) {
	switch {
	case m.batch != a.batch || a.flying == 0: // answered twice
	case m.err == nil:
		a.commit()
	case errors.Is(m.err, persistence.ErrUnknown):
		a.log.Warn("outcome of an append is unknown; looking it up", "batch", m.batch.N, "error", m.err)
		a.lookUp()
	case errors.Is(m.err, persistence.ErrConflict) && a.again:
		a.lookUp() // the first sending may have come through after all
	case errors.Is(m.err, persistence.ErrConflict):
		a.lost("another writer has appended to the journal", m.err)
	default:
		a.lost("the journal refused an append", m.err)
	}
}

func (a *shell) commit() {
	flown := a.tail[:a.flying]
	a.durable += uint64(a.flying)
	var chunks int64
	var positions uint64
	for _, e := range flown {
		chunks = max(chunks, e.upto)
		positions = max(positions, e.event.GetPositionsReserved().GetReserved())
		a.wiped = a.wiped || e.event.GetCleared() != nil
		a.shed = a.shed || e.event.GetMessagesRemoved() != nil
		a.bytes -= e.size
	}
	a.tail, a.flying = append([]entry(nil), a.tail[a.flying:]...), 0
	a.storedDue, a.storedWake = a.sealedDue, a.sealedWake
	a.out.release(a.durable)
	if a.live != nil { // its handler began after all of former turns was stored
		a.live.durable(chunks, positions)
	}
	if a.wiped {
		a.rebase()
	}
	a.dismantle()
	if a.phase == resting && len(a.tail) == 0 {
		a.depart()
		return
	}
	a.settle()
}

// lookUp settles an append whose fate is unknown without ending the turn: model
// and handler go on, only nothing more is let out.
func (a *shell) lookUp() {
	batch := a.batch
	a.rt.background(func() {
		info, yes, err := a.rt.cfg.Store.Find(a.ctx, a.slot.stream, batch)
		a.tell(found{batch, yes, info.Head, err})
	})
}

func (a *shell) found(m found) {
	switch {
	case m.batch != a.batch || a.flying == 0:
	case errors.Is(m.err, persistence.ErrClosed):
		a.lost("the store was closed before an append was settled", m.err)
	case m.err != nil:
		batch := a.batch
		time.AfterFunc(lookAgainAfter, func() { a.tell(lookAgain{batch}) })
	case m.yes:
		a.commit()
	case m.head == a.durable:
		a.again = true
		a.append() // was not stored: the same batch again
	default:
		a.lost("another writer has appended to the journal", persistence.ErrConflict)
	}
}

// rebase lets the store drop what came before, if the state can be written as a
// base now. It is safe beside appends, since what is replaced is history.
func (a *shell) rebase() {
	s := &a.core.State
	if !s.CanRebase() || len(a.tail) > 0 || a.durable == 0 {
		return
	}
	data, upto, blobs := a.base(), a.durable, a.core.State.Transcript.Blobs()
	a.wiped, a.shed, a.covered, a.based = false, false, upto, upto
	a.rt.background(func() {
		if err := a.rt.cfg.Store.Rebase(a.rt.ctx, a.slot.stream, upto, data, blobs); err != nil {
			a.log.Warn("journal could not be rebased; it stays longer than it need be", "upto", upto, "error", err)
		}
	})
}

// base is the state as one record. Only while the tail is empty: a base must not
// hold what is not stored.
func (a *shell) base() []byte {
	data, err := proto.Marshal(&journalv1.Record{
		AtMs: a.used, Incarnation: a.batch.Incarnation, Batch: a.batch.N, Event: a.core.State.Base(),
	})
	if err != nil {
		panic(err) // it is made of what was stored
	}
	return data
}
