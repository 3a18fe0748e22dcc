package chat

import "fmt"

// An Effect is work due outside the core. Key names it for ever; another
// attempt has another key.
//
//sumtype:decl
type Effect interface {
	Key() string
	effect()
}

type (
	// CallModel runs one step of the model loop.
	CallModel struct {
		Turn    uint64
		Step    uint32
		Attempt uint32
	}
	// Handle runs the author's handler.
	Handle struct {
		Turn    uint64
		Attempt uint32
	}
	// Clean runs the author's sanitizer on a stored message that it has not seen.
	Clean struct {
		ID   string
		Mark uint64 // Message.Raw
	}
	// Deliver runs an author's hook from the outbox.
	Deliver struct {
		ID      uint64
		Attempt uint32
	}
	// DeleteSub deletes a sub-agent for good.
	DeleteSub struct {
		Class, Name string
		CreatedMS   int64
	}
	// Erase takes what is stored of the agent off the store, and all below it.
	Erase struct{}
)

func (CallModel) effect() {}
func (Handle) effect()    {}
func (Clean) effect()     {}
func (Deliver) effect()   {}
func (DeleteSub) effect() {}
func (Erase) effect()     {}

func (e CallModel) Key() string { return fmt.Sprintf("model/%d/%d/%d", e.Turn, e.Step, e.Attempt) }
func (e Handle) Key() string    { return fmt.Sprintf("handle/%d/%d", e.Turn, e.Attempt) }
func (e RunTool) Key() string   { return fmt.Sprintf("tool/%d/%s/%d", e.Turn, e.CallID, e.Attempt) }
func (e Compact) Key() string   { return fmt.Sprintf("compact/%d/%d", e.Turn, e.Attempt) }
func (e Prepare) Key() string   { return fmt.Sprintf("prepare/%d", e.Turn) }
func (e Clean) Key() string     { return fmt.Sprintf("clean/%s/%d", e.ID, e.Mark) }
func (e Deliver) Key() string   { return fmt.Sprintf("deliver/%d/%d", e.ID, e.Attempt) }
func (e DeleteSub) Key() string { return fmt.Sprintf("delete/%s/%s/%d", e.Class, e.Name, e.CreatedMS) }
func (Erase) Key() string       { return "erase" }

// A Wait is a time at which a TimerFired with its key is due. Until is in
// milliseconds since the epoch; it was computed when the wait began and stored.
type Wait struct {
	Key   string
	Until int64
}

// Outstanding names every effect whose outcome is not in the journal yet, and
// every wait. It depends on s alone; the shell knows which it has started.
func (s *State) Outstanding() (work []Effect, waits []Wait) {
	if s.Family.Deleted {
		return []Effect{Erase{}}, nil
	}
	if t := s.Turns.holder(); t != nil {
		e, w := s.turnDue(t)
		work = append(work, e...)
		if w.Key != "" {
			waits = append(waits, w)
		}
	} else {
		for _, t := range s.Turns.Queue { // debounces, and the slot is free
			waits = append(waits, Wait{Key: t.waitKey(), Until: t.Until})
		}
		waits = append(waits, s.barrier()...)
	}
	waits = append(waits, s.expiries()...)
	if e := s.dirty(); e != nil {
		work = append(work, e)
	}
	if e, w := s.Outbox.due(); e != nil {
		work = append(work, e)
	} else if w.Key != "" {
		waits = append(waits, w)
	}
	return append(work, s.Family.due()...), waits
}

// turnDue are the effects or the wait of the turn that has the slot.
func (s *State) turnDue(t *Turn) ([]Effect, Wait) {
	switch {
	case t.CutOff:
		return nil, Wait{} // Activate decides
	case t.Status == Queued && t.Deferred:
		return []Effect{Prepare{Turn: t.ID}}, Wait{}
	case t.Status == Queued:
		return nil, Wait{Key: t.waitKey(), Until: t.Until}
	}
	var work []Effect
	if s.Steps.Turn != t.ID || s.Steps.Loop > 0 {
		work = append(work, Handle{Turn: t.ID, Attempt: t.Attempt})
	}
	switch {
	case s.Steps.Turn != t.ID:
	case s.Steps.RetryAt > 0:
		return work, Wait{Key: s.Steps.waitKey(), Until: s.Steps.RetryAt}
	case s.Steps.Compacting:
		work = append(work, Compact{Turn: t.ID, Attempt: s.Steps.Attempt})
	case !s.Steps.Answered && s.Steps.Step > 0:
		work = append(work, CallModel{Turn: t.ID, Step: s.Steps.Step, Attempt: s.Steps.Attempt})
	default:
		for _, c := range s.Calls {
			if c.Turn == t.ID && c.runs() {
				work = append(work, RunTool{Turn: c.Turn, CallID: c.ID, Attempt: c.Attempt})
			}
		}
	}
	return work, Wait{}
}
