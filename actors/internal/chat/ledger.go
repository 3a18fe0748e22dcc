package chat

import (
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

const maxRecent = 32 // ended requests that are remembered for late ACKs, see forget

// Ledger is who the agent is and what it has promised.
type Ledger struct {
	Class, Name string
	CreatedMS   int64
	Created     bool
	Incarnation uint64 // the newest one that had work
	Rested      bool   // that one has said goodbye
	Generation  uint64 // raised by each clear

	Keys   Keyring
	Recent []Ended // oldest first; survives a clear
	Failed *Ended  // remembered terminal error
}

// Ended is a request that is over.
type Ended struct {
	Turn         uint64
	Generation   uint64
	Request      string
	Outcome      pb.TurnOutcome
	Text         string
	InBand       bool
	NoResponse   bool
	Continuation bool
	ByServer     bool // no client has asked for it
	OriginIDs    []string
	MessageID    string
}

// decideActivate begins an incarnation and decides what becomes of the turn
// that an older one has left behind.
func (c *Core) decideActivate(cmd Activate) []Event {
	l := &c.State.Ledger
	if l.Created && l.Incarnation == cmd.Incarnation {
		return nil
	}
	cause := pb.ActivationCause_ACTIVATION_CAUSE_CRASH
	var events []Event
	switch {
	case !l.Created:
		cause = pb.ActivationCause_ACTIVATION_CAUSE_FIRST
		events = append(events, event(&pb.AgentCreated{Class: cmd.Class, Name: valid(cmd.Name), CreatedMs: cmd.Now, Parent: cmd.Parent}))
	case l.Rested:
		cause = pb.ActivationCause_ACTIVATION_CAUSE_WAKE
	}
	events = append(events, event(&pb.Activated{Incarnation: cmd.Incarnation, Node: valid(cmd.Node), Cause: cause}))
	return concat(events, c.skipUnprepared(), c.recoverTurn(cmd, cause), c.recoverDelivery(cause))
}

func (c *Core) decideRest() []Event {
	l := &c.State.Ledger
	if !l.Created || l.Rested {
		return nil
	}
	return []Event{event(&pb.Deactivated{Incarnation: l.Incarnation})}
}

// decideClear wipes first, so that nothing that a killed turn had written is
// stored, and then ends every turn, the running one last: no other may start.
func (c *Core) decideClear(cmd Clear) []Event {
	s := &c.State
	if _, known := s.Ledger.Keys.Turn(clearKey(cmd.Key)); known && cmd.Key != "" {
		return nil
	}
	var events []Event
	if s.Stream.Open {
		events = append(events, event(&pb.StreamClosed{Turn: s.Stream.Turn}))
	}
	events = append(events, c.dropAnswers("cleared")...)
	events = append(events, event(&pb.Cleared{Generation: s.Ledger.Generation + 1, Key: cmd.Key}))
	return append(events, c.killTurns()...)
}

// applyCreated begins from nothing: a snapshot of a deleted agent of that name
// may have come before.
func (s *State) applyCreated(e *pb.AgentCreated) {
	*s = State{Version: s.Version}
	s.Ledger = Ledger{Created: true, Class: e.GetClass(), Name: e.GetName(), CreatedMS: e.GetCreatedMs()}
	s.Family.Parent = e.GetParent()
}

func (l *Ledger) applyActivated(e *pb.Activated) {
	l.Incarnation, l.Rested = e.GetIncarnation(), false
}

// applyCleared keeps what must outlive the conversation: accepted keys, else a
// request that is sent again would bring its messages back.
func (s *State) applyCleared(e *pb.Cleared) {
	s.Ledger.Generation = e.GetGeneration()
	s.Ledger.Failed = nil
	if e.GetKey() != "" {
		s.Ledger.Keys.add(clearKey(e.GetKey()), accepted{})
	}
	s.Transcript, s.Calls = Transcript{}, nil
	s.Outbox = Outbox{}
}

// forget drops ends that nobody will ask for. It is called when a turn is
// accepted: one step may end more turns than are remembered (a clear), and each
// of those ends is still to be told.
func (l *Ledger) forget() {
	if n := len(l.Recent) - maxRecent; n > 0 {
		l.Recent = slices.Clone(l.Recent[n:])
	}
}

// remember keeps a request's end for clients that ask late.
func (l *Ledger) remember(e Ended) {
	l.Recent = append(l.Recent, e)
	switch e.Outcome {
	case pb.TurnOutcome_TURN_OUTCOME_ERROR:
		l.Failed = &e
	case pb.TurnOutcome_TURN_OUTCOME_COMPLETED, pb.TurnOutcome_TURN_OUTCOME_ABORTED:
		l.Failed = nil
	default: // says nothing about the conversation
	}
}
