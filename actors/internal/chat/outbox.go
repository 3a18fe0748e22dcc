package chat

import (
	"fmt"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// Outbox is one lane of author hooks that run at least once each, in order.
// Only the head is tried.
type Outbox struct{ Entries []Delivery }

// Delivery is one call of a hook.
type Delivery struct {
	ID      uint64
	Kind    pb.DeliveryKind
	Attempt uint32 // from 1
	RetryAt int64  // waits; 0: due
	Ended   Ended  // what it tells
}

func (o *Outbox) head() *Delivery {
	if len(o.Entries) == 0 {
		return nil
	}
	return &o.Entries[0]
}

func (d *Delivery) waitKey() string { return fmt.Sprintf("outbox/%d/%d", d.ID, d.Attempt) }

func (o *Outbox) due() (Effect, Wait) {
	switch d := o.head(); {
	case d == nil:
		return nil, Wait{}
	case d.RetryAt > 0:
		return nil, Wait{Key: d.waitKey(), Until: d.RetryAt}
	default:
		return Deliver{ID: d.ID, Attempt: d.Attempt}, Wait{}
	}
}

// queueDelivery tells the author of every turn that has ended, but not of those
// that were skipped or gave no answer.
func (c *Core) queueDelivery(e *pb.TurnEnded) []Event {
	if !c.policy.Hook || e.GetNoResponse() {
		return nil
	}
	switch e.GetOutcome() {
	case pb.TurnOutcome_TURN_OUTCOME_COMPLETED, pb.TurnOutcome_TURN_OUTCOME_ERROR, pb.TurnOutcome_TURN_OUTCOME_ABORTED:
	default:
		return nil
	}
	if l := &c.State.Ledger; l.Recent[len(l.Recent)-1].Generation != l.Generation {
		return nil // cleared: there is nothing left to tell of
	}
	return []Event{event(&pb.DeliveryQueued{Id: e.GetTurn(), Kind: pb.DeliveryKind_DELIVERY_KIND_CHAT_RESPONSE, Turn: e.GetTurn()})}
}

func (c *Core) decideDelivered(cmd Delivered) []Event {
	if d := c.State.Outbox.head(); d == nil || d.ID != cmd.ID {
		return nil
	}
	return []Event{event(&pb.DeliveryDone{Id: cmd.ID})}
}

func (c *Core) decideDeliveryErred(cmd DeliveryErred) []Event {
	d := c.State.Outbox.head()
	if d == nil || d.ID != cmd.ID || d.Attempt != cmd.Attempt || d.RetryAt > 0 {
		return nil
	}
	if d.Attempt >= c.policy.MaxDeliveries {
		return []Event{event(&pb.DeliveryDropped{Id: d.ID, Why: valid(cmd.Text)})}
	}
	return []Event{event(&pb.DeliveryFailed{Id: d.ID, Attempt: d.Attempt, Error: valid(cmd.Text), NextMs: cmd.Now + backoff(d.Attempt, 0)})}
}

// recoverDelivery counts a hook that was under way when the process died.
func (c *Core) recoverDelivery(cause pb.ActivationCause) []Event {
	d := c.State.Outbox.head()
	if d == nil || d.RetryAt > 0 || cause != pb.ActivationCause_ACTIVATION_CAUSE_CRASH {
		return nil
	}
	if d.Attempt >= c.policy.MaxDeliveries {
		return []Event{event(&pb.DeliveryDropped{Id: d.ID, Why: "cut off each time"})}
	}
	return []Event{event(&pb.DeliveryStarted{Id: d.ID, Attempt: d.Attempt + 1})}
}

func (s *State) applyDeliveryQueued(e *pb.DeliveryQueued) {
	d := Delivery{ID: e.GetId(), Kind: e.GetKind(), Attempt: 1}
	for _, ended := range s.Ledger.Recent {
		if ended.Turn == e.GetTurn() {
			d.Ended = ended
		}
	}
	s.Outbox.Entries = append(s.Outbox.Entries, d)
}

func (o *Outbox) applyStarted(e *pb.DeliveryStarted) {
	if d := o.head(); d != nil && d.ID == e.GetId() {
		d.Attempt, d.RetryAt = e.GetAttempt(), 0
	}
}

func (o *Outbox) applyFailed(e *pb.DeliveryFailed) {
	if d := o.head(); d != nil && d.ID == e.GetId() {
		d.RetryAt = e.GetNextMs()
	}
}

func (o *Outbox) remove(id uint64) {
	if d := o.head(); d != nil && d.ID == id {
		o.Entries = append([]Delivery(nil), o.Entries[1:]...)
	}
}
