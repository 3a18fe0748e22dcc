package chat

import (
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// baseVersion rises when the meaning of a Base changes.
const baseVersion = 1

// CanRebase reports whether the state can be written as a base: nothing is
// under way and everything that a later turn may need is in it.
func (s *State) CanRebase() bool {
	return s.Ledger.Created && len(s.Turns.Queue) == 0 && !s.Family.Deleted
}

// Base returns the event that may replace all records up to Version.
func (s *State) Base() Event {
	l, tr := &s.Ledger, &s.Transcript
	b := &pb.Base{
		Version: baseVersion, Class: l.Class, Name: l.Name, CreatedMs: l.CreatedMS, Incarnation: l.Incarnation, Rested: l.Rested,
		Generation: l.Generation, BodyJson: tr.Body, ClientToolsJson: tr.ClientTools, LastTurn: s.Turns.Last,
		StateJson: s.Desk.State, McpServers: s.Desk.MCP, Usage: s.Usage,
	}
	for _, m := range tr.unreadable {
		if _, replaced := tr.index[m.ID]; !replaced {
			b.Messages = append(b.Messages, m.proto())
		}
	}
	s.Family.base(b)
	for _, m := range tr.Messages {
		b.Messages = append(b.Messages, m.proto())
		for _, r := range tr.Steps(m.ID) {
			b.Steps = append(b.Steps, &pb.StepRecord{MessageId: m.ID, ContentJson: r.Content, Segment: r.Segment, Loop: r.Loop, Last: r.Last})
		}
		if tr.edited[m.ID] {
			b.Edited = append(b.Edited, m.ID)
		}
	}
	b.Accepted, b.Aliases = l.Keys.proto(), tr.aliases()
	for i := range l.Recent {
		b.Ended = append(b.Ended, l.Recent[i].proto())
	}
	for _, c := range s.Calls {
		b.Calls = append(b.Calls, c.proto())
	}
	s.Answers.base(b)
	if tr.Compaction.UptoID != "" {
		b.Compaction = &pb.ContextCompacted{UptoId: tr.Compaction.UptoID, Summary: tr.Compaction.Summary}
	}
	if l.Failed != nil {
		b.Failed = l.Failed.proto()
	}
	for _, d := range s.Outbox.Entries {
		b.Deliveries = append(b.Deliveries, &pb.DeliveryEntry{Id: d.ID, Kind: d.Kind, Attempts: d.Attempt, NextMs: d.RetryAt, Ended: d.Ended.proto()})
	}
	return event(b)
}

func (s *State) applyBase(b *pb.Base) {
	*s = State{Version: s.Version}
	s.Ledger = Ledger{
		Class: b.GetClass(), Name: b.GetName(), CreatedMS: b.GetCreatedMs(), Created: true, Incarnation: b.GetIncarnation(),
		Rested: b.GetRested(), Generation: b.GetGeneration(),
	}
	s.Family = familyFrom(b)
	s.Transcript.Body, s.Transcript.ClientTools = b.GetBodyJson(), b.GetClientToolsJson()
	s.Desk.State, s.Desk.MCP, s.Usage = b.GetStateJson(), b.GetMcpServers(), b.GetUsage()
	s.Transcript.applyPut(&pb.MessagesPut{Messages: b.GetMessages()})
	for _, step := range b.GetSteps() {
		s.Transcript.addStep(step.GetMessageId(), Record{
			Content: step.GetContentJson(), Segment: step.GetSegment(), Loop: step.GetLoop(), Last: step.GetLast(),
		})
	}
	for _, id := range b.GetEdited() {
		s.Transcript.forgetSteps(id)
	}
	for _, a := range b.GetAliases() {
		s.Transcript.alias(a.GetId(), a.GetMessageId())
	}
	s.Ledger.Keys.restore(b.GetAccepted())
	for _, e := range b.GetEnded() {
		s.Ledger.Recent = append(s.Ledger.Recent, endedFrom(e))
	}
	if f := b.GetFailed(); f != nil {
		failed := endedFrom(f)
		s.Ledger.Failed = &failed
	}
	for _, c := range b.GetCalls() {
		call := callFrom(c.GetOpened())
		call.Attempt, call.Approved = c.GetAttempt(), c.GetApproved()
		s.Calls = append(s.Calls, call)
	}
	if p := b.GetContinuation(); p != nil {
		s.Answers.applyArmed(p)
	}
	s.Transcript.Compaction = Compaction{UptoID: b.GetCompaction().GetUptoId(), Summary: b.GetCompaction().GetSummary()}
	s.Turns.Last = b.GetLastTurn()
	for _, d := range b.GetDeliveries() {
		s.Outbox.Entries = append(s.Outbox.Entries, Delivery{
			ID: d.GetId(), Kind: d.GetKind(), Attempt: d.GetAttempts(), RetryAt: d.GetNextMs(), Ended: endedFrom(d.GetEnded()),
		})
	}
}

func (e *Ended) proto() *pb.EndedRequest {
	return &pb.EndedRequest{
		Turn: e.Turn, Generation: e.Generation, RequestId: e.Request, Outcome: e.Outcome, Text: e.Text, InBand: e.InBand, NoResponse: e.NoResponse,
		Continuation: e.Continuation, ByServer: e.ByServer, OriginIds: slices.Clone(e.OriginIDs), MessageId: e.MessageID,
	}
}

func endedFrom(e *pb.EndedRequest) Ended {
	return Ended{
		Turn: e.GetTurn(), Generation: e.GetGeneration(), Request: e.GetRequestId(), Outcome: e.GetOutcome(), Text: e.GetText(), InBand: e.GetInBand(),
		NoResponse: e.GetNoResponse(), Continuation: e.GetContinuation(), ByServer: e.GetByServer(), OriginIDs: e.GetOriginIds(), MessageID: e.GetMessageId(),
	}
}
