package chat

import (
	"encoding/json"
	"fmt"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// positionBlock is how many positions are reserved at a time. A gap after a
// crash is harmless for clients; a number used twice is not.
const positionBlock = 4096

// Turns is the queue. Invariant: only Queue[0] may be Running.
type Turns struct {
	Queue   []*Turn
	Last    uint64 // id of the newest turn
	Overlap uint64 // number of the newest that overlapped, while any turn is unfinished
}

// Turn is one request for an answer.
type Turn struct {
	ID            uint64
	Request       string
	Kind          pb.TurnKind
	Generation    uint64
	OriginIDs     []string // trailing user messages of the request
	Body          json.RawMessage
	ClientTools   json.RawMessage
	MessageID     string // of the assistant message that it writes
	Continues     bool   // which exists already
	ContinuesTurn uint64 // the cut-off turn that this one goes on with
	Until         int64  // does not start before
	Overlap       uint64 // its number among overlapping submits; 0: it is none
	MergeAfter    string // id of the message behind which they are merged
	Deferred      bool   // its messages are not there yet
	Readonly      bool   // who has asked may not change the author's state
	Page          string // of the client whose answer it goes on with
	Before        int    // step records of its message that are older than the turn, and than those it recovers

	Status  Status
	Attempt uint32
	CutOff  bool   // an older incarnation was at it
	Next    uint64 // first position that no attempt may have used
}

// Status of a turn that is not over.
type Status int

const (
	Queued Status = iota
	Running
)

// Continuation reports whether clients see the turn as one.
func (t *Turn) Continuation() bool {
	return t.Kind == pb.TurnKind_TURN_KIND_CONTINUATION || t.Kind == pb.TurnKind_TURN_KIND_RECOVERY
}

// Own are those of the step records of its message that the turn, and those that it
// recovers, have made.
func (t *Turn) Own(records []Record) []Record { return records[min(t.Before, len(records)):] }

// byServer reports whether no client has asked for the turn.
func (t *Turn) byServer() bool {
	return t.Kind == pb.TurnKind_TURN_KIND_CONTINUATION || t.Kind == pb.TurnKind_TURN_KIND_PROGRAMMATIC
}

func (t *Turn) waitKey() string { return fmt.Sprintf("turn/%d", t.ID) }

func (ts *Turns) head() *Turn {
	if len(ts.Queue) == 0 {
		return nil
	}
	return ts.Queue[0]
}

// Running returns the turn that runs, or nil.
func (ts *Turns) Running() *Turn {
	if t := ts.head(); t != nil && t.Status == Running {
		return t
	}
	return nil
}

// Request returns the unfinished turn of a request, or nil.
func (ts *Turns) Request(request string) *Turn {
	for _, t := range ts.Queue {
		if t.Request == request {
			return t
		}
	}
	return nil
}

// writes reports whether an unfinished turn writes the message of that id.
func (ts *Turns) writes(id string) bool {
	return slices.ContainsFunc(ts.Queue, func(t *Turn) bool { return t.MessageID == id })
}

func (ts *Turns) byID(id uint64) *Turn {
	for _, t := range ts.Queue {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// toFront has t, which runs now, before those that debounce.
func (ts *Turns) toFront(t *Turn) {
	i := slices.Index(ts.Queue, t)
	ts.Queue = slices.Insert(slices.Delete(ts.Queue, i, i+1), 0, t)
}

func (ts *Turns) remove(t *Turn) {
	ts.Queue = slices.DeleteFunc(ts.Queue, func(other *Turn) bool { return other == t })
	if len(ts.Queue) == 0 {
		ts.Queue, ts.Overlap = nil, 0
	}
}

// attempt returns the running turn if it is at that attempt, else nil: the
// outcome comes from an attempt that is over.
func (ts *Turns) attempt(turn uint64, attempt uint32) *Turn {
	if t := ts.Running(); t != nil && t.ID == turn && t.Attempt == attempt && !t.CutOff {
		return t
	}
	return nil
}

// Busy refuses a submit when too many wait.
type Busy struct{ Limit int }

func (e Busy) Error() string {
	return fmt.Sprintf("too many requests are waiting for this agent (limit %d)", e.Limit)
}

func (c *Core) decideSubmit(cmd Submit) ([]Event, error) {
	s := &c.State
	if known, err := s.Ledger.Keys.asked(cmd.Request, cmd.Fingerprint); known || err != nil {
		return nil, err // asked again after a lost reply
	}
	kind := pb.TurnKind_TURN_KIND_SUBMIT
	switch {
	case cmd.Programmatic:
		kind = pb.TurnKind_TURN_KIND_PROGRAMMATIC
	case cmd.Regenerate:
		kind = pb.TurnKind_TURN_KIND_REGENERATE
	}
	turn := &pb.TurnAccepted{
		Turn: s.Turns.Last + 1, RequestId: cmd.Request, Fingerprint: cmd.Fingerprint, Kind: kind, Generation: s.Ledger.Generation,
		OriginIds: uimessage.TrailingUsers(cmd.Messages), BodyJson: cmd.Body, ClientToolsJson: cmd.ClientTools, MessageId: cmd.Ids.Message,
		Deferred: cmd.Deferred, Readonly: cmd.Readonly,
	}
	if !c.overlap(turn, cmd.Now) {
		return turnAway(turn), nil
	}
	if len(s.Turns.Queue) >= c.policy.MaxQueuedTurns {
		return nil, Busy{Limit: c.policy.MaxQueuedTurns}
	}
	if cmd.Programmatic {
		c.asks = true
		return append(c.put(cmd.Messages), event(turn)), nil
	}
	put, removed := c.takeIn(cmd)
	var events []Event
	if len(removed) > 0 {
		events = append(events, event(&pb.MessagesRemoved{Ids: removed, Reason: pb.RemovalReason_REMOVAL_REASON_TRUNCATED}))
	}
	if len(put) > 0 {
		events = append(events, event(&pb.MessagesPut{Messages: put}))
	}
	return append(events, event(turn)), nil
}

func (c *Core) start(t *Turn, attempt uint32) Event {
	return event(&pb.TurnStarted{Turn: t.ID, Attempt: attempt, First: t.Next, Reserved: t.Next + positionBlock})
}

func (c *Core) decideCancel(cmd Cancel) []Event {
	t, _, _ := c.State.Answer(cmd.Request)
	if t == nil {
		return nil
	}
	return c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_ABORTED})
}

func (c *Core) decideHandlerEnded(cmd HandlerEnded) []Event {
	t := c.State.Turns.attempt(cmd.Turn, cmd.Attempt)
	if t == nil {
		return nil
	}
	end := &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_COMPLETED, FinishReason: valid(cmd.Reason)}
	switch cmd.Result {
	case Answered, Empty:
	case Silent:
		end.NoResponse = true
	case Failed, FailedInBand:
		end.Outcome, end.ErrorText = pb.TurnOutcome_TURN_OUTCOME_ERROR, valid(cmd.Text)
		end.InBand = cmd.Result == FailedInBand
	case CutShort:
		end.Outcome = pb.TurnOutcome_TURN_OUTCOME_ABORTED
	}
	return c.endWith(t, end, cmd.Cleaned)
}

// endTurn ends a turn whose message the author's sanitizer has not seen.
func (c *Core) endTurn(t *Turn, end *pb.TurnEnded) []Event { return c.endWith(t, end, nil) }

// endWith is the only way out of a turn but a clear: what it has written is
// stored, its stream closed and its end told, all in one append. cleaned is what
// the author's sanitizer has made of the message; nil: it has not seen it.
func (c *Core) endWith(t *Turn, end *pb.TurnEnded, cleaned *uimessage.Message) []Event {
	s := &c.State
	end.Turn, end.MessageId = t.ID, s.Writing(t)
	var events, settled []Event
	if s.Stream.Open && s.Stream.Turn == t.ID {
		m, ok := s.Stream.written()
		if m, settled = c.settleCalls(t, m, false); len(settled) > 0 {
			cleaned = nil // it has seen another answer
		}
		if ok {
			events = puts(&pb.MessagesPut{Messages: c.answer(m, cleaned)})
		}
		events = append(events, event(&pb.StreamClosed{Turn: t.ID}))
	} else {
		events = puts(&pb.MessagesPut{Messages: c.leftover(t)})
		settled = c.settleStored(t, false)
	}
	return append(append(events, settled...), event(end))
}

func (s *State) applyTurnAccepted(e *pb.TurnAccepted) {
	t := &Turn{
		ID: e.GetTurn(), Request: e.GetRequestId(), Kind: e.GetKind(), Generation: e.GetGeneration(),
		OriginIDs: e.GetOriginIds(), Body: e.GetBodyJson(), ClientTools: e.GetClientToolsJson(),
		MessageID: e.GetMessageId(), Continues: e.GetContinuesMessage(), ContinuesTurn: e.GetContinuesTurn(), Until: e.GetUntilMs(),
		Overlap: e.GetOverlapSeq(), MergeAfter: e.GetMergeAfter(), Deferred: e.GetDeferred(), Readonly: e.GetReadonly(),
		Page: e.GetPage(), Before: int(e.GetSteps()),
	}
	s.Answers.follow(e)
	s.Turns.Last = t.ID
	s.Turns.Overlap = max(s.Turns.Overlap, t.Overlap)
	if e.GetFront() {
		s.Turns.Queue = append([]*Turn{t}, s.Turns.Queue...)
	} else {
		s.Turns.Queue = append(s.Turns.Queue, t)
	}
	if t.ContinuesTurn != 0 {
		s.Ledger.Keys.follow(t.ContinuesTurn, t.ID)
	}
	s.Ledger.Keys.add(requestKey(t.Request), accepted{turn: t.ID, fingerprint: e.GetFingerprint()})
	s.Ledger.Failed = nil
	s.Ledger.forget()
	if t.ContinuesTurn != 0 && t.ContinuesTurn == s.Recovery.Turn {
		s.Recovery.Turn = t.ID
	}
}

func (s *State) applyTurnStarted(e *pb.TurnStarted) {
	t := s.Turns.byID(e.GetTurn())
	if t == nil {
		return
	}
	t.Status, t.Attempt, t.CutOff, t.Until, t.Deferred, t.Next = Running, e.GetAttempt(), false, 0, false, e.GetReserved()
	if len(e.GetOriginIds()) > 0 {
		t.OriginIDs = e.GetOriginIds()
	}
	if e.GetMessageId() != "" {
		t.MessageID = e.GetMessageId()
	}
	s.Turns.toFront(t)
	s.Steps = Steps{Attempt: s.Steps.Attempt} // goes on counting, so that no key is used twice
	s.Stream = Stream{First: e.GetFirst(), Reserved: e.GetReserved()}
	switch t.Kind {
	case pb.TurnKind_TURN_KIND_SUBMIT, pb.TurnKind_TURN_KIND_REGENERATE:
		s.Transcript.Body, s.Transcript.ClientTools = t.Body, t.ClientTools
	case pb.TurnKind_TURN_KIND_PROGRAMMATIC:
		t.Body, t.ClientTools = s.Transcript.Body, s.Transcript.ClientTools
	case pb.TurnKind_TURN_KIND_CONTINUATION:
		t.ClientTools = s.Transcript.ClientTools
		t.Before = len(s.Transcript.Steps(t.MessageID))
		if len(t.Body) == 0 {
			t.Body = s.Transcript.Body
		}
	default: // goes on with what its predecessor had
	}
}

func (s *State) applyTurnEnded(e *pb.TurnEnded) {
	t := s.Turns.byID(e.GetTurn())
	if t == nil {
		return
	}
	s.Turns.remove(t)
	s.Answers.ended(e)
	if t.Status == Running {
		s.Steps, s.Stream = Steps{}, Stream{}
		if s.Recovery.Turn == 0 {
			s.Recovery = Recovery{} // else RecoverySettled does it
		}
	}
	ended := Ended{
		Turn: t.ID, Generation: t.Generation, Request: t.Request, Outcome: e.GetOutcome(), Text: e.GetErrorText(), InBand: e.GetInBand(), NoResponse: e.GetNoResponse(),
		Continuation: t.Continuation(), ByServer: t.byServer(), OriginIDs: t.OriginIDs, MessageID: e.GetMessageId(),
	}
	s.Ledger.remember(ended)
	s.Ledger.Keys.end(ended, requestKey(t.Request))
	if _, ok := s.Transcript.message(e.GetMessageId()); !ok {
		delete(s.Transcript.steps, e.GetMessageId()) // of an answer without parts
	}
}

// applyActivated marks what the former incarnation was at. A turn that waits to
// try again was at nothing.
func (s *State) applyActivated() {
	if t := s.Turns.Running(); t != nil && (s.Steps.RetryAt == 0 || s.Steps.Loop > 0) {
		t.CutOff = true
	}
	for _, c := range s.Calls {
		c.CutOff = c.Attempt > 0
	}
}
