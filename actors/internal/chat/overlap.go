package chat

import (
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Overlap is what becomes of a client's submit that comes while other turns are
// unfinished.
type Overlap int

const (
	Queue    Overlap = iota // each has its turn
	Latest                  // only the newest has one
	Merge                   // likewise, with the messages of all as one
	Drop                    // it is turned away
	Debounce                // only the newest has one, after a time of quiet
)

// overlap writes into e what the policy makes of a submit; not ok: it is dropped.
// Whatever overlaps is numbered by its turn: a later number supersedes.
func (c *Core) overlap(e *pb.TurnAccepted, now int64) (ok bool) {
	if e.GetKind() != pb.TurnKind_TURN_KIND_SUBMIT || len(c.State.Turns.Queue) == 0 {
		return true
	}
	switch c.policy.Overlap {
	case Queue:
		return true
	case Drop:
		return c.State.Turns.holder() == nil
	case Merge:
		e.MergeAfter = c.State.mergeAfter()
	case Debounce:
		e.UntilMs = now + c.policy.Debounce
	case Latest:
	}
	e.OverlapSeq = e.GetTurn()
	return true
}

// turnAway accepts a request and ends it at once; nothing else comes of it.
func turnAway(e *pb.TurnAccepted) []Event {
	e.MessageId = ""
	return []Event{event(e), event(&pb.TurnEnded{Turn: e.GetTurn(), Outcome: pb.TurnOutcome_TURN_OUTCOME_SKIPPED})}
}

// superseded reports whether t must not run, since a newer one has come. That one
// counts even if it was cancelled.
func (ts *Turns) superseded(t *Turn) bool {
	return t.Status == Queued && t.Overlap < ts.Overlap && t.Overlap > 0
}

// debounces reports whether t waits for quiet. It does so outside the slot.
func (t *Turn) debounces() bool { return t.Status == Queued && t.Overlap > 0 && t.Until > 0 }

// holder is the turn that has the slot: it runs, waits to run again, or is being
// prepared; nil: the slot is free.
func (ts *Turns) holder() *Turn {
	for _, t := range ts.Queue {
		if t.Status == Running || !t.debounces() && !ts.superseded(t) {
			return t
		}
	}
	return nil
}

// startNext gives the slot, if it is free, to the first that does not debounce.
// Who is superseded ends here. One that must wait, or be prepared, holds the slot.
func (c *Core) startNext() []Event {
	ts := &c.State.Turns
	if ts.Running() != nil {
		return nil
	}
	for _, t := range ts.Queue {
		switch {
		case ts.superseded(t):
			return c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_SKIPPED})
		case t.debounces():
		case t.Until > 0 || t.Deferred:
			return nil
		default:
			return c.begin(t)
		}
	}
	return nil
}

// begin starts t, now that it has the slot.
func (c *Core) begin(t *Turn) []Event {
	if t.Kind != pb.TurnKind_TURN_KIND_CONTINUATION || t.MessageID != "" {
		return concat(c.merge(t), c.settleAll(t), []Event{c.start(t, 1)})
	}
	last := c.State.Transcript.lastAnswer()
	if last == "" {
		return c.endTurn(t, &pb.TurnEnded{Outcome: pb.TurnOutcome_TURN_OUTCOME_SKIPPED})
	}
	start := c.start(t, 1)
	start.GetTurnStarted().MessageId = last
	return []Event{start}
}

// mergeAfter is the place behind which messages are merged: the end of the
// conversation when the first of the submits that wait together came.
func (s *State) mergeAfter() string {
	for _, t := range s.Turns.Queue {
		if t.Status == Queued && t.MergeAfter != "" {
			return t.MergeAfter
		}
	}
	if n := len(s.Transcript.Messages); n > 0 {
		return s.Transcript.Messages[n-1].ID
	}
	return ""
}

// merge makes one of the user messages that came behind t.MergeAfter and that no
// other turn answers. It keeps the place, the id and the metadata of the last.
func (c *Core) merge(t *Turn) []Event {
	tr := &c.State.Transcript
	from, ok := tr.index[t.MergeAfter]
	if !ok || c.policy.Overlap != Merge {
		return nil
	}
	answered, waiting := c.State.answered(), c.State.waiting(t)
	var merged uimessage.Message
	var ids []string
	for _, m := range tr.Messages[from+1:] {
		if m.Role != string(uimessage.User) || answered[m.ID] || waiting[m.ID] {
			continue
		}
		next := m.parse()
		next.Parts = joinParts(merged.Parts, next.Parts)
		merged, ids = next, append(ids, m.ID)
	}
	if len(ids) < 2 {
		return nil
	}
	into, _ := c.guardSize(merged)
	return []Event{event(&pb.MessagesMerged{Into: into, FromIds: ids[:len(ids)-1]})}
}

// textJoint is an empty line.
const textJoint = "\n\n"

// joinParts appends b to a. Where text meets text it becomes one, with a textJoint
// between.
func joinParts(a, b []uimessage.Part) []uimessage.Part {
	if len(a) == 0 || len(b) == 0 || a[len(a)-1].Type != uimessage.TextPart || b[0].Type != uimessage.TextPart {
		return slices.Concat(a, b)
	}
	last := a[len(a)-1]
	last.Text += textJoint + b[0].Text
	return slices.Concat(a[:len(a)-1], []uimessage.Part{last}, b[1:])
}
