package chat

import (
	"encoding/json"
	"slices"
)

// Entry is a message as the model loop gets to see it.
type Entry struct {
	ID    string
	Role  string
	JSON  []byte            // the UI message
	Steps []json.RawMessage // what the model said, in its own words; nil: only the UI message exists
}

// PromptFor returns the conversation that the running turn answers: without
// messages that wait for turns of their own, and with its own question last, so
// that an answer which came in between does not look like the start of this one.
// A turn that goes on with a partial answer has that answer last instead.
func (s *State) PromptFor(t *Turn) []Entry {
	waiting := make(map[string]bool)
	for _, other := range s.Turns.Queue {
		if other != t {
			for _, id := range other.OriginIDs {
				waiting[id] = !slices.Contains(t.OriginIDs, id)
			}
		}
	}
	var before, own, partial []Entry
	for _, m := range s.Transcript.Messages {
		e := Entry{ID: m.ID, Role: m.Role, JSON: m.JSON, Steps: s.Transcript.Steps(m.ID)}
		switch {
		case waiting[m.ID]:
		case t.Continues && m.ID == t.MessageID:
			partial = append(partial, e)
		case slices.Contains(t.OriginIDs, m.ID):
			own = append(own, e)
		default:
			before = append(before, e)
		}
	}
	return slices.Concat(before, own, partial)
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
