package chat

import (
	"fmt"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// ChunkRun and Usage are the journal's own.
type (
	ChunkRun = pb.ChunkRun
	Usage    = pb.Usage
)

// State is all that a conversation remembers. Only Apply changes it.
type State struct {
	Version    uint64 // number of the last event applied
	Ledger     Ledger
	Transcript Transcript
	Turns      Turns
	Steps      Steps
	Calls      Calls
	Answers    Answers
	Stream     Stream
	Recovery   Recovery
	Outbox     Outbox
	Desk       Desk
	Usage      *Usage // of all calls of models; never changed in place; nil: none has told
	Family     Family
}

// Policy is what the author has chosen. It is no part of the state: a new
// version of the program may choose otherwise.
type Policy struct {
	Handler        bool   // the author's handler answers, not the model loop
	NoRecovery     bool   // a cut-off turn ends as aborted
	Hook           bool   // OnChatResponse is set
	MaxCrashes     uint32 // starts in a row without progress before a turn is given up; 0: 5
	MaxFailures    uint32 // failures of a step in a row without progress; 0: 5
	MaxDeliveries  uint32 // attempts at a hook; 0: 8
	MaxQueuedTurns int    // submits waiting; 0: 64
	Overlap        Overlap
	Debounce       int64 // milliseconds
	MaxMessages    int   // stored messages; 0: no limit
	MaxBytes       int   // of a message's JSON before it is compacted; 0: 1.8 MB
	Sanitizes      bool  // SanitizeMessage is set
}

func (p Policy) withDefaults() Policy {
	orDefault := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	orDefault(&p.MaxCrashes, 5)
	orDefault(&p.MaxFailures, 5)
	orDefault(&p.MaxDeliveries, 8)
	if p.MaxQueuedTurns == 0 {
		p.MaxQueuedTurns = 64
	}
	if p.MaxBytes == 0 {
		p.MaxBytes = 1_800_000
	}
	return p
}

// Apply folds e into s. It cannot fail, looks at no clock and starts nothing,
// since it runs the same when e happens and when e is replayed. Unknown kinds
// are the caller's business: see Known.
func (s *State) Apply(e Event) {
	s.Version++
	switch e := e.GetKind().(type) {
	case *pb.Event_AgentCreated:
		s.applyCreated(e.AgentCreated)
	case *pb.Event_Activated:
		s.Ledger.applyActivated(e.Activated)
		s.applyActivated()
	case *pb.Event_Deactivated:
		s.Ledger.Rested = true
	case *pb.Event_Cleared:
		s.applyCleared(e.Cleared)
	case *pb.Event_TurnsReset:
		s.applyReset(e.TurnsReset)
	case *pb.Event_AgentDeleted:
		s.applyDeleted()
	case *pb.Event_MessagesPut:
		s.Transcript.applyPut(e.MessagesPut)
	case *pb.Event_MessagesRemoved:
		s.Transcript.applyRemoved(e.MessagesRemoved)
	case *pb.Event_MessagesMerged:
		s.Transcript.applyMerged(e.MessagesMerged)
	case *pb.Event_TurnAccepted:
		s.applyTurnAccepted(e.TurnAccepted)
	case *pb.Event_TurnStarted:
		s.applyTurnStarted(e.TurnStarted)
	case *pb.Event_TurnEnded:
		s.applyTurnEnded(e.TurnEnded)
	case *pb.Event_StepStarted:
		s.Steps.applyStarted(e.StepStarted)
	case *pb.Event_StepFinished:
		s.applyStepFinished(e.StepFinished)
	case *pb.Event_StepFailed:
		s.applyStepFailed(e.StepFailed)
	case *pb.Event_StreamOpened:
		s.applyStreamOpened(e.StreamOpened)
	case *pb.Event_ChunksKept:
		s.applyChunksKept(e.ChunksKept)
	case *pb.Event_PositionsReserved:
		s.applyPositionsReserved(e.PositionsReserved)
	case *pb.Event_StreamClosed:
		s.Stream = Stream{}
	case *pb.Event_RecoveryDetected:
		s.Recovery.applyDetected(e.RecoveryDetected)
	case *pb.Event_RecoveryDecided:
		s.Recovery.applyDecided(e.RecoveryDecided)
	case *pb.Event_RecoverySettled:
		s.Recovery = Recovery{}
	case *pb.Event_DeliveryQueued:
		s.applyDeliveryQueued(e.DeliveryQueued)
	case *pb.Event_DeliveryStarted:
		s.Outbox.applyStarted(e.DeliveryStarted)
	case *pb.Event_DeliveryDone:
		s.Outbox.remove(e.DeliveryDone.GetId())
	case *pb.Event_DeliveryFailed:
		s.Outbox.applyFailed(e.DeliveryFailed)
	case *pb.Event_DeliveryDropped:
		s.Outbox.remove(e.DeliveryDropped.GetId())
	case *pb.Event_StateSet:
		s.Desk.applyStateSet(e.StateSet)
	case *pb.Event_McpServerSet:
		s.Desk.applyMCPSet(e.McpServerSet)
	case *pb.Event_McpServerRemoved:
		s.Desk.applyMCPRemoved(e.McpServerRemoved)
	case *pb.Event_SubAgentRegistered:
		s.Family.applyRegistered(e.SubAgentRegistered)
	case *pb.Event_SubAgentRemoving:
		s.Family.applyRemoving(e.SubAgentRemoving)
	case *pb.Event_SubAgentRemoved:
		s.Family.applyRemoved(e.SubAgentRemoved)
	case *pb.Event_Base:
		s.applyBase(e.Base)
	default:
		if !s.applyCalling(e) {
			panic(fmt.Sprintf("chat: unknown event %T", e))
		}
	}
}

// applyCalling is Apply for the events of the loop, its calls and their answers.
func (s *State) applyCalling(kind any) bool {
	switch e := kind.(type) {
	case *pb.Event_ToolCallOpened:
		s.applyCallOpened(e.ToolCallOpened)
	case *pb.Event_ToolStarted:
		s.applyToolStarted(e.ToolStarted)
	case *pb.Event_ToolSettled:
		s.applyToolSettled(e.ToolSettled)
	case *pb.Event_LoopStarted:
		s.applyLoopStarted(e.LoopStarted)
	case *pb.Event_LoopEnded:
		s.applyLoopEnded()
	case *pb.Event_CompactionStarted:
		s.Steps.Compacting, s.Steps.Compacted = true, true
	case *pb.Event_ContextSet:
		s.Transcript.ClientTools = e.ContextSet.GetClientToolsJson()
	case *pb.Event_ContextCompacted:
		s.applyCompacted(e.ContextCompacted)
	case *pb.Event_ApprovalDecided:
		s.applyApprovalDecided(e.ApprovalDecided)
	case *pb.Event_ContinuationArmed:
		s.Answers.applyArmed(e.ContinuationArmed)
	case *pb.Event_ContinuationDeferred:
		s.Answers.applyDeferred(e.ContinuationDeferred)
	case *pb.Event_ContinuationDropped:
		s.Answers.applyDropped(e.ContinuationDropped)
	default:
		return false
	}
	return true
}

// Known reports whether this version of the program knows e's kind. A journal
// with an unknown one was written by a newer version and must not be touched.
func Known(e Event) bool {
	return e.GetKind() != nil && e.GetBase().GetVersion() <= baseVersion
}
