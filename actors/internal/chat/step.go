package chat

import (
	"fmt"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// Core is a state with the policy that decides on it. It is not safe for
// concurrent use.
type Core struct {
	State  State
	policy Policy

	blobs     map[string][]byte // values that the events of the last Step refer to, by key
	asks      bool              // what the last Step puts is what a turn is asked
	forgeries Forgeries         // left out and not told yet
}

// New returns the core of an agent that has no past yet.
func New(p Policy) *Core { return &Core{policy: p.withDefaults()} }

// Step decides on cmd, applies what follows and lets the other machines react.
// No events and no error means that there is nothing to do: the command was a
// duplicate or came too late. A refusal has changed nothing.
//
// It ends: no reaction accepts or ends a turn, and for each turn that the decision
// accepts or ends at most one is started.
func (c *Core) Step(cmd Command) ([]Event, error) {
	c.blobs, c.asks = nil, false
	events, err := c.decide(cmd)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(events); i++ {
		c.State.Apply(events[i])
		events = append(events, c.react(events[i])...)
	}
	for _, e := range c.orphans(events) {
		c.State.Apply(e)
		events = append(events, e)
	}
	return events, nil
}

func (c *Core) decide(cmd Command) ([]Event, error) {
	if _, activate := cmd.(Activate); c.State.Family.Deleted && !activate {
		return nil, ErrDeleted
	}
	switch cmd := cmd.(type) {
	case Activate:
		return c.decideActivate(cmd), nil
	case Rest:
		return c.decideRest(), nil
	case Submit:
		return c.decideSubmit(cmd)
	case Continue:
		return c.decideContinue(cmd)
	case Prepared:
		return c.decidePrepared(cmd), nil
	case Cancel:
		return c.decideCancel(cmd), nil
	case Interrupt:
		return c.decideInterrupt(), nil
	case Reset:
		return c.decideReset(), nil
	case Clear:
		return c.decideClear(cmd), nil
	case SetMessages:
		return c.decideSetMessages(cmd), nil
	case SetState:
		return c.decideSetState(cmd)
	case Persist:
		return c.decidePersist(cmd), nil
	case Cleaned:
		return c.decideCleaned(cmd), nil
	case OpenStream:
		return c.decideOpenStream(cmd)
	case Keep:
		return c.decideKeep(cmd)
	case Reserve:
		return c.decideReserve(cmd), nil
	case Answer:
		return c.decideAnswer(cmd)
	case Approve:
		return c.decideApprove(cmd)
	case OpenCall:
		return c.decideOpenCall(cmd)
	case ToolReturned:
		return c.decideToolReturned(cmd), nil
	case LoopStopped:
		return c.decideLoopStopped(cmd), nil
	case StartLoop:
		return c.decideStartLoop(cmd)
	case Compacted:
		return c.decideCompacted(cmd), nil
	case StepAnswered:
		return c.decideStepAnswered(cmd), nil
	case StepErred:
		return c.decideStepErred(cmd), nil
	case HandlerEnded:
		return c.decideHandlerEnded(cmd), nil
	case Delivered:
		return c.decideDelivered(cmd), nil
	case DeliveryErred:
		return c.decideDeliveryErred(cmd), nil
	case RegisterSub:
		return c.decideRegisterSub(cmd)
	case RemoveSub:
		return c.decideRemoveSub(cmd), nil
	case SubRemoved:
		return c.decideSubRemoved(cmd), nil
	case Delete:
		return c.decideDelete(cmd), nil
	case Erased:
		return nil, nil // there is nobody left to decide
	case TimerFired:
		return c.decideTimerFired(cmd), nil
	default:
		panic(fmt.Sprintf("chat: unknown command %T", cmd))
	}
}

// react is what other machines conclude from an event that has just been
// applied. The order within a case is the order in which it is told.
func (c *Core) react(e Event) []Event {
	if c.State.Family.Deleted {
		return nil
	}
	switch e := e.GetKind().(type) {
	case *pb.Event_MessagesPut:
		if !c.asks && (e.MessagesPut.GetByClient() || e.MessagesPut.GetByAuthor()) {
			return c.trim()
		}
		return nil // the turn's end trims
	case *pb.Event_TurnAccepted:
		return c.startNext()
	case *pb.Event_TurnStarted:
		return c.beginSteps()
	case *pb.Event_LoopStarted:
		return c.beginLoop(c.State.Turns.Running())
	case *pb.Event_ToolSettled:
		guarded := c.guardCalling(e.ToolSettled.GetMessageId())
		if e.ToolSettled.GetBy() == pb.Settler_SETTLER_REPAIR {
			return guarded // the turn is over, or has not begun
		}
		return append(guarded, c.afterTool()...)
	case *pb.Event_TurnEnded:
		return c.afterTurn(e.TurnEnded)
	default:
		return nil
	}
}

// afterTurn starts what waited for the turn's end. A turn that was handed over
// is followed by its continuation, which the same step has accepted.
func (c *Core) afterTurn(e *pb.TurnEnded) []Event {
	if e.GetOutcome() == pb.TurnOutcome_TURN_OUTCOME_RECOVERING {
		return nil
	}
	return concat(c.settleRecovery(e), c.queueDelivery(e), c.trim(), c.afterAnswers(e), c.startNext())
}

func concat(lists ...[]Event) []Event {
	var all []Event
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
