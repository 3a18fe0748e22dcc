package kill

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/test/client"
)

// history is what one agent's journal has been seen to hold. It is read anew
// after each kill; what is found must go on from what was there.
type history struct {
	agent string
	head  uint64
	sums  map[uint64][32]byte // of the records, by number
	lost  bool                // records came and went between two looks, at the last one

	accepted map[string]bool                    // requests
	turns    map[uint64]*turn                   // by id
	ends     map[string][]end                   // by request
	order    []string                           // requests as they ended
	over     map[string]bool                    // they have ended before a base, unseen
	based    map[string]*journalv1.EndedRequest // how they have in the end, as a base tells of them
	put      map[string]bool                    // ids of messages that have ever been stored
	writing  map[string]bool                    // ids of answers that whose question is dropped are shown to before they are stored
	list     []*journalv1.StoredMessage
	queue    queue
	follows  follows
	tally    tally
	family   map[string]childState // of sub-agents, by class/name
	clears   int                   // generation
	cleared  batch                 // the append with the last clear
	open     uint64                // turn whose stream is open
	faults   []string
}

// turn is one run for a request.
type turn struct {
	request, message string
	kind             journalv1.TurnKind
	next             uint64            // the turn that goes on with it; 0: none
	reserved         uint64            // positions below it may have been used
	chunks           map[uint64]string // kept, by position
}

// end is how a turn has ended.
type end struct {
	outcome journalv1.TurnOutcome
	text    []string // of its message then; nil if it has none
	cleared bool     // by the clear of the same append, or only known from a base
	checked bool
}

type batch struct{ incarnation, n uint64 }

func newHistory(agent string) *history {
	return &history{
		agent: agent, sums: map[uint64][32]byte{}, accepted: map[string]bool{}, turns: map[uint64]*turn{},
		ends: map[string][]end{}, put: map[string]bool{}, writing: map[string]bool{}, family: map[string]childState{},
		over: map[string]bool{}, based: map[string]*journalv1.EndedRequest{}, queue: newQueue(), follows: newFollows(),
	}
}

func (h *history) fault(format string, args ...any) {
	h.faults = append(h.faults, h.agent+": "+fmt.Sprintf(format, args...))
}

// overlap is how many records are read again to see that they have not changed.
const overlap = 300

// read takes in what has been added since the last time. all reads from the start.
func (h *history) read(ctx context.Context, store persistence.Store, all bool) error {
	info, _, err := store.Find(ctx, h.agent, persistence.Batch{})
	if err != nil {
		return err
	}
	if info.Head < h.head {
		h.fault("the journal ended with record %d and ends now with %d", h.head, info.Head)
	}
	from := uint64(1)
	if h.head > overlap && !all {
		from = h.head - overlap
	}
	h.lost = info.Base > h.head+1
	next := max(from, info.Base)
	for r, err := range store.Read(ctx, h.agent, from) {
		if err != nil {
			return err
		}
		if r.Seq != next && info.Head > 0 {
			h.fault("record %d follows %d", r.Seq, next-1)
		}
		next = r.Seq + 1
		h.record(r, info.Base)
	}
	h.head = info.Head
	return nil
}

// record checks a record that is known and applies one that is new.
func (h *history) record(r persistence.Record, base uint64) {
	sum := sha256.Sum256(r.Data)
	if r.Seq <= h.head {
		if h.sums[r.Seq] != sum && r.Seq != base {
			h.fault("record %d has changed", r.Seq)
		}
		h.sums[r.Seq] = sum
		return
	}
	h.sums[r.Seq] = sum
	var rec journalv1.Record
	if err := proto.Unmarshal(r.Data, &rec); err != nil {
		h.fault("record %d: %v", r.Seq, err)
		return
	}
	h.apply(rec.GetEvent(), batch{rec.GetIncarnation(), rec.GetBatch()})
}

func (h *history) apply(e *journalv1.Event, b batch) {
	switch e := e.GetKind().(type) {
	case *journalv1.Event_Cleared:
		h.list, h.clears, h.cleared = nil, int(e.Cleared.GetGeneration()), b
		h.queue.clear()
		h.follows.clear()
	case *journalv1.Event_MessagesPut:
		h.store(e.MessagesPut.GetMessages())
	case *journalv1.Event_MessagesRemoved:
		h.remove(e.MessagesRemoved.GetIds())
	case *journalv1.Event_MessagesMerged:
		h.remove(e.MessagesMerged.GetFromIds())
		h.store([]*journalv1.StoredMessage{e.MessagesMerged.GetInto()})
	case *journalv1.Event_TurnAccepted:
		h.accept(e.TurnAccepted)
		h.queued(e.TurnAccepted, b)
		h.followed(e.TurnAccepted)
	case *journalv1.Event_TurnStarted:
		h.start(e.TurnStarted)
		h.begun(e.TurnStarted)
	case *journalv1.Event_PositionsReserved:
		h.turn(e.PositionsReserved.GetTurn()).reserved = e.PositionsReserved.GetReserved()
	case *journalv1.Event_StreamOpened:
		h.open = e.StreamOpened.GetTurn()
	case *journalv1.Event_ChunksKept:
		h.keep(e.ChunksKept)
	case *journalv1.Event_TurnEnded:
		h.end(e.TurnEnded, b)
		h.dequeued(e.TurnEnded, b)
	case *journalv1.Event_DeliveryQueued, *journalv1.Event_DeliveryDone, *journalv1.Event_DeliveryDropped:
		h.delivery(e)
	case *journalv1.Event_StateSet:
		h.stateSet(e.StateSet.GetJson())
	case *journalv1.Event_SubAgentRegistered:
		h.family[e.SubAgentRegistered.GetClass()+"/"+e.SubAgentRegistered.GetName()] = registered
	case *journalv1.Event_SubAgentRemoving:
		h.family[e.SubAgentRemoving.GetClass()+"/"+e.SubAgentRemoving.GetName()] = removing
	case *journalv1.Event_SubAgentRemoved:
		delete(h.family, e.SubAgentRemoved.GetClass()+"/"+e.SubAgentRemoved.GetName())
	case *journalv1.Event_Base:
		h.base(e.Base)
	}
}

func (h *history) store(messages []*journalv1.StoredMessage) {
next:
	for _, m := range messages {
		h.put[m.GetId()] = true
		for i := range h.list {
			if h.list[i].GetId() == m.GetId() {
				h.list[i] = m
				continue next
			}
		}
		h.list = append(h.list, m)
	}
}

func (h *history) remove(ids []string) {
	var kept []*journalv1.StoredMessage
	for _, m := range h.list {
		gone := false
		for _, id := range ids {
			gone = gone || m.GetId() == id
		}
		if !gone {
			kept = append(kept, m)
		}
	}
	h.list = kept
}

// turn returns a turn; one whose acceptance was rebased away is known by number only.
func (h *history) turn(id uint64) *turn {
	if h.turns[id] == nil {
		h.turns[id] = &turn{chunks: map[uint64]string{}}
	}
	return h.turns[id]
}

func (h *history) accept(e *journalv1.TurnAccepted) {
	if h.accepted[e.GetRequestId()] {
		h.fault("request %s is accepted twice", e.GetRequestId())
	}
	h.accepted[e.GetRequestId()] = true
	t := h.turn(e.GetTurn())
	t.request, t.message, t.kind = e.GetRequestId(), e.GetMessageId(), e.GetKind()
	if policies[class(h.agent)] == "drop" {
		h.writing[t.message] = true
	}
	if from := e.GetContinuesTurn(); from != 0 {
		h.turn(from).next = e.GetTurn()
	}
}

// start: no attempt may use positions that an earlier one may have used.
func (h *history) start(e *journalv1.TurnStarted) {
	t := h.turn(e.GetTurn())
	if e.GetFirst() < t.reserved {
		h.fault("request %s: attempt %d begins at position %d, those below %d may have been used", t.request, e.GetAttempt(), e.GetFirst(), t.reserved)
	}
	t.reserved = e.GetReserved()
}

func (h *history) keep(e *journalv1.ChunksKept) {
	t := h.turn(h.open)
	at := e.GetFirst()
	for _, run := range e.GetRuns() {
		for _, body := range unpack(run) {
			if old, known := t.chunks[at]; known {
				h.fault("request %s: position %d is kept twice: %s and %s", t.request, at, old, body)
			}
			if at >= t.reserved {
				h.fault("request %s: position %d is used, only those below %d are reserved", t.request, at, t.reserved)
			}
			t.chunks[at] = body
			at++
		}
	}
}

// unpack returns the chunks of a run as they went over the wire.
func unpack(run *journalv1.ChunkRun) []string {
	if run.GetBody() != nil {
		return []string{string(run.GetBody())}
	}
	bodies := make([]string, len(run.GetLengths()))
	text := run.GetText()
	for i, n := range run.GetLengths() {
		c := map[string]string{"type": "text-delta", "id": run.GetPartId(), "delta": text[:n]}
		bodies[i], text = string(mustJSON(c)), text[n:]
	}
	return bodies
}

func (h *history) end(e *journalv1.TurnEnded, b batch) {
	t := h.turn(e.GetTurn())
	ended := end{outcome: e.GetOutcome(), cleared: h.cleared == b && h.clears > 0}
	message := t.message
	if e.GetMessageId() != "" {
		message = e.GetMessageId()
	}
	for _, m := range h.list {
		if m.GetId() == message {
			ended.text = storedTexts(m)
		}
	}
	h.ends[t.request] = append(h.ends[t.request], ended)
	h.order = append(h.order, t.request)
	if n := len(h.ends[t.request]); n > 1 && t.request != "" {
		h.fault("request %s ends %d times", t.request, n)
	}
	if h.open == e.GetTurn() {
		h.open = 0
	}
}

// base replaces what came before. What it says of requests whose own records
// were never seen counts like those.
func (h *history) base(b *journalv1.Base) {
	h.queue.base(int(b.GetGeneration()) != h.clears)
	h.list = nil
	h.store(b.GetMessages())
	h.clears = int(b.GetGeneration())
	h.followsBase(b.GetDeliveries())
	h.desk(b)
	for _, key := range b.GetAccepted() {
		if request, ok := strings.CutPrefix(key.GetKey(), "request/"); ok {
			h.accepted[request], h.over[request] = true, true // no turn is under way when a base is written
			if key.GetEnded() != nil {
				h.based[request] = key.GetEnded()
			}
		}
	}
	for _, t := range h.turns {
		t.reserved = math.MaxUint64 // they are over; what they had reserved may have gone unseen
	}
	h.order = nil
	for _, e := range b.GetEnded() {
		if h.based[e.GetRequestId()] == nil {
			h.based[e.GetRequestId()] = e
		}
		h.order = append(h.order, e.GetRequestId())
		if h.ends[e.GetRequestId()] == nil {
			h.ends[e.GetRequestId()] = []end{{outcome: e.GetOutcome(), cleared: true}}
		}
	}
}

func storedTexts(m *journalv1.StoredMessage) []string {
	var parsed client.Message
	if json.Unmarshal(m.GetJson(), &parsed) != nil {
		return nil
	}
	return texts(parsed)
}

// transcript is the stored conversation as HTTP tells it.
func (h *history) transcript() []byte {
	rows := make([][]byte, len(h.list))
	for i, m := range h.list {
		rows[i] = m.GetJson()
	}
	return append(append([]byte("["), bytes.Join(rows, []byte(","))...), ']')
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
