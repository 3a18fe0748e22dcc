package chat

import (
	"errors"
	"fmt"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Family is an agent's place among others: whose sub-agent it is, which it has,
// and whether it is to go for good.
type Family struct {
	Parent   string  // path of the parent; "" for a root
	Children []Child // in the order of their registration
	Deleted  bool    // nothing is decided any more; what is stored is to be erased

	removing int // of Children
}

// Child is a registered sub-agent.
type Child struct {
	Class, Name string
	CreatedMS   int64
	Removing    bool // is to be deleted for good
}

var (
	// ErrDeleted refuses what comes for an agent that is deleted for good.
	ErrDeleted = errors.New("the agent is being deleted")
	// ErrRemoving refuses to register a sub-agent whose predecessor is not gone yet.
	ErrRemoving = errors.New("a sub-agent of that name is being deleted")
	// ErrTooMany refuses to register one more sub-agent.
	ErrTooMany = fmt.Errorf("the agent has %d sub-agents; more are not allowed", maxChildren)
)

// maxChildren bounds the sub-agents of one agent, which are all in its state.
const maxChildren = 10_000

// Child returns the sub-agent of that class and name, or nil.
func (f *Family) Child(class, name string) *Child {
	for i := range f.Children {
		if c := &f.Children[i]; c.Name == name && c.Class == class {
			return c
		}
	}
	return nil
}

func (c *Core) decideRegisterSub(cmd RegisterSub) ([]Event, error) {
	f := &c.State.Family
	switch child := f.Child(cmd.Class, cmd.Name); {
	case child != nil && child.Removing:
		return nil, ErrRemoving
	case child != nil:
		return nil, nil
	case len(f.Children) >= maxChildren:
		return nil, ErrTooMany
	}
	return []Event{event(&pb.SubAgentRegistered{Class: cmd.Class, Name: cmd.Name, CreatedMs: cmd.Now})}, nil
}

func (c *Core) decideRemoveSub(cmd RemoveSub) []Event {
	if child := c.State.Family.Child(cmd.Class, cmd.Name); child == nil || child.Removing {
		return nil
	}
	return []Event{event(&pb.SubAgentRemoving{Class: cmd.Class, Name: cmd.Name})}
}

func (c *Core) decideSubRemoved(cmd SubRemoved) []Event {
	child := c.State.Family.Child(cmd.Class, cmd.Name)
	if child == nil || !child.Removing || child.CreatedMS != cmd.CreatedMS {
		return nil
	}
	return []Event{event(&pb.SubAgentRemoved{Class: cmd.Class, Name: cmd.Name})}
}

// decideDelete ends every turn, as a clear does, and with them the agent.
func (c *Core) decideDelete(cmd Delete) []Event {
	s := &c.State
	if !s.Ledger.Created || cmd.IfUnused && !s.Unused() {
		return nil
	}
	var events []Event
	if s.Stream.Open {
		events = append(events, event(&pb.StreamClosed{Turn: s.Stream.Turn}))
	}
	events = append(events, event(&pb.AgentDeleted{Reason: valid(cmd.Reason)}))
	return append(events, c.killTurns()...)
}

// killTurns ends every turn without a word of what it has said, the running one
// last.
func (c *Core) killTurns() []Event {
	var events []Event
	for _, t := range slices.Backward(c.State.Turns.Queue) {
		events = append(events, event(&pb.TurnEnded{Turn: t.ID, Outcome: killed(t), MessageId: c.State.Writing(t)}))
	}
	return events
}

// Unused reports whether nothing is under way and nobody is awaited. It reads the
// whole conversation.
func (s *State) Unused() bool { return s.AtRest() && !s.awaitsPerson() }

// AtRest reports whether nothing is under way, not even a wait for a time.
func (s *State) AtRest() bool {
	return s.Ledger.Created && len(s.Turns.Queue) == 0 && len(s.Outbox.Entries) == 0 && s.Answers.Pending == nil && s.Family.removing == 0 && !s.Family.Deleted
}

// awaitsPerson reports whether a call of a tool waits for somebody's answer.
func (s *State) awaitsPerson() bool {
	for _, m := range s.Transcript.Messages {
		if m.Role == string(uimessage.Assistant) && slices.ContainsFunc(m.parse().Parts, s.awaits) {
			return true
		}
	}
	return false
}

// awaits reports whether a call waits for an answer, a decision, or a client that runs
// it now that it is approved.
func (s *State) awaits(p uimessage.Part) bool { return unanswered(p) || s.waits(p) }

func unanswered(p uimessage.Part) bool {
	return p.IsTool() && (p.State == uimessage.InputAvailable || p.State == uimessage.ApprovalRequested)
}

// due are the sub-agents that are to be deleted.
func (f *Family) due() []Effect {
	if f.removing == 0 {
		return nil
	}
	var work []Effect
	for _, c := range f.Children {
		if c.Removing {
			work = append(work, DeleteSub{Class: c.Class, Name: c.Name, CreatedMS: c.CreatedMS})
		}
	}
	return work
}

// Closing is what the sockets of a deleted agent are told. parent is the path of its
// parent, if it is a sub-agent.
func Closing(parent string) feed.Closing {
	if parent != "" {
		return feed.Closing{Code: 1001, Reason: "Sub-agent deleted"}
	}
	return feed.Closing{Code: 1001, Reason: "Agent deleted"}
}

func (f *Family) applyRegistered(e *pb.SubAgentRegistered) {
	f.Children = append(f.Children, Child{Class: e.GetClass(), Name: e.GetName(), CreatedMS: e.GetCreatedMs()})
}

func (f *Family) applyRemoving(e *pb.SubAgentRemoving) {
	if c := f.Child(e.GetClass(), e.GetName()); c != nil && !c.Removing {
		c.Removing = true
		f.removing++
	}
}

func (f *Family) applyRemoved(e *pb.SubAgentRemoved) {
	f.Children = slices.DeleteFunc(slices.Clone(f.Children), func(c Child) bool {
		return c.Class == e.GetClass() && c.Name == e.GetName()
	})
	f.removing--
}

// applyDeleted drops what only an end that is told would drop.
func (s *State) applyDeleted() {
	s.Family.Deleted = true
	s.Recovery, s.Outbox = Recovery{}, Outbox{}
}

func (f *Family) base(b *pb.Base) {
	b.Parent = f.Parent
	for _, c := range f.Children {
		b.SubAgents = append(b.SubAgents, &pb.SubAgent{Class: c.Class, Name: c.Name, CreatedMs: c.CreatedMS, Removing: c.Removing})
	}
}

func familyFrom(b *pb.Base) Family {
	f := Family{Parent: b.GetParent()}
	for _, c := range b.GetSubAgents() {
		f.Children = append(f.Children, Child{Class: c.GetClass(), Name: c.GetName(), CreatedMS: c.GetCreatedMs(), Removing: c.GetRemoving()})
		if c.GetRemoving() {
			f.removing++
		}
	}
	return f
}
