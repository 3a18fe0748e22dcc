package chat

import (
	"encoding/json"
	"maps"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// Entry is a message as the model loop gets to see it.
type Entry struct {
	ID    string
	Role  string
	JSON  []byte   // the UI message
	Steps []Record // what the model said, in its own words; nil: only the UI message exists
	// Summary stands for all that was before: then nothing else is set.
	Summary string
}

// Record is what the model said in one step. Its calls' outcomes are in the parts of
// the message.
type Record struct {
	Content json.RawMessage
	Segment uint32 // its place in the message: behind so many step-start parts; 0: unknown
	Loop    uint32 // the handler's loop that it belongs to; 0: the turn's own
	Last    bool   // the loop ended with it
}

// PromptFor returns the conversation that the running turn answers: without
// messages that wait for turns of their own, and with its own question last, so
// that an answer which came in between does not look like the start of this one.
// A turn that goes on with a partial answer has that answer last instead.
func (s *State) PromptFor(t *Turn) []Entry {
	question := s.question(t)
	waiting := s.waiting(t)
	var before, own, partial []Entry
	summed := s.Transcript.summed()
	for _, m := range s.Transcript.Vouched() {
		e := Entry{ID: m.ID, Role: m.Role, JSON: m.JSON, Steps: s.Transcript.Steps(m.ID)}
		switch {
		case t.Continues && m.ID == t.MessageID:
			partial = append(partial, e)
		case question[m.ID]:
			own = append(own, e)
		case waiting[m.ID] || summed[m.ID]:
		default:
			before = append(before, e)
		}
	}
	if len(summed) > 0 {
		before = append([]Entry{{Summary: s.Transcript.Compaction.Summary}}, before...)
	}
	return slices.Concat(before, own, partial)
}

// summed are the messages that a summary stands for.
func (tr *Transcript) summed() map[string]bool {
	last, ok := tr.index[tr.known(tr.Compaction.UptoID)]
	if !ok {
		return nil
	}
	ids := make(map[string]bool)
	for _, m := range tr.Messages[:last+1] {
		ids[m.ID] = true
	}
	return ids
}

// waiting are the messages that other turns will answer.
func (s *State) waiting(t *Turn) map[string]bool {
	ids := make(map[string]bool)
	for _, other := range s.Turns.Queue {
		if other != t {
			maps.Copy(ids, s.Asked(other))
		}
	}
	for id := range s.Asked(t) {
		delete(ids, id)
	}
	return ids
}

// unfinished are the messages that unfinished turns answer or write.
func (s *State) unfinished() map[string]bool {
	ids := make(map[string]bool)
	for _, t := range s.Turns.Queue {
		ids[t.MessageID] = true
		maps.Copy(ids, s.Asked(t))
	}
	return ids
}

// Asked are the ids of the user messages of t's request, as they are stored.
func (s *State) Asked(t *Turn) map[string]bool {
	ids := make(map[string]bool, len(t.OriginIDs))
	s.Transcript.add(ids, t.OriginIDs)
	return ids
}

// answered are the messages that have had a turn of their own.
func (s *State) answered() map[string]bool {
	ids := make(map[string]bool)
	for _, e := range s.Ledger.Recent {
		switch e.Outcome {
		case pb.TurnOutcome_TURN_OUTCOME_COMPLETED, pb.TurnOutcome_TURN_OUTCOME_ERROR, pb.TurnOutcome_TURN_OUTCOME_ABORTED:
			s.Transcript.add(ids, e.OriginIDs)
		default: // skipped, or goes on in another turn
		}
	}
	return ids
}

// question is what t has to answer. A client that has not seen an answer yet
// sends its question along with the next one: what has had a turn of its own is
// not asked again, unless it is all there is (regenerate).
func (s *State) question(t *Turn) map[string]bool {
	asked, answered := s.Asked(t), s.answered()
	ids := maps.Clone(asked)
	maps.DeleteFunc(ids, func(id string, _ bool) bool { return answered[id] })
	if len(ids) == 0 {
		return asked
	}
	return ids
}

// Idle reports whether the agent has nothing to do at present: no turn, no hook.
// Waits do not count.
func (s *State) Idle() bool {
	work, _ := s.Outstanding()
	return len(work) == 0 && !s.Stream.Open
}

// WakeAt is when the agent has work though nobody calls: 0 never, 1 at once,
// else milliseconds since the epoch.
func (s *State) WakeAt() int64 {
	work, waits := s.Outstanding()
	if len(work) > 0 {
		return 1
	}
	var at int64
	for _, w := range waits {
		if at == 0 || w.Until < at {
			at = max(w.Until, 2)
		}
	}
	return at
}
