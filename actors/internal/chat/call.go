package chat

import (
	"bytes"
	"encoding/json"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// What models and visitors read of calls that nobody will finish any more.
const (
	outcomeUnknownText = "The call was interrupted; its outcome is unknown."
	notAnsweredText    = "The call was not answered before the user went on."
	notRunText         = "The tool call was approved but did not run before the next turn started."
	expiredText        = "Nobody answered in time."
)

// Calls are the tool calls that the model loop has opened and that have no outcome
// yet, in the order in which they were opened. Whether a call is settled is said by
// its part, in the stored message or in the one that is being written: this is only
// what the part cannot say. (What a handler writes by itself has no entry here:
// whoever may write to the agent may answer it.)
type Calls []*Call

// Call is one of them.
type Call struct {
	ID, Tool   string
	Kind       pb.CallKind
	MessageID  string
	Turn       uint64 // that has opened it, or has started it last
	Step       uint32
	Input      json.RawMessage
	ApprovalID string // "": it needs none
	Approved   bool
	Repeatable bool   // it may be run again after it was cut off
	Attempt    uint32 // of its last start; 0: it was never started
	CutOff     bool   // an older incarnation was at it
	Expires    int64  // milliseconds since the epoch; 0: never
}

// servers reports whether the server is to run the call, without asking anybody.
func (c *Call) servers() bool {
	return c.Kind == pb.CallKind_CALL_KIND_SERVER && (c.ApprovalID == "" || c.Approved)
}

// startable reports whether it may be started: it never was, or it was cut off and
// may be run again.
func (c *Call) startable() bool {
	return c.servers() && (c.Attempt == 0 || c.CutOff && c.Repeatable)
}

// runs reports whether it was started in this incarnation.
func (c *Call) runs() bool { return c.Attempt > 0 && !c.CutOff }

// Call returns an open call, or nil.
func (s *State) Call(id string) *Call {
	for _, c := range s.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// Part returns the newest part of a call, in the message that is being written or in
// a stored one, and the id of that message. Not ok if there is none.
func (s *State) Part(callID string) (messageID string, p uimessage.Part, ok bool) {
	if s.Stream.Open {
		if p, ok = s.Stream.fold.Call(callID); ok {
			return s.Stream.fold.ID(), p, true
		}
	}
	id := s.Transcript.Calling(callID)
	if id == "" {
		return "", p, false
	}
	m, _ := s.Transcript.Message(id)
	return id, callIn(m, callID), true
}

func callIn(m uimessage.Message, callID string) (found uimessage.Part) {
	for _, p := range m.Parts {
		if p.IsTool() && p.ToolCallID == callID {
			found = p
		}
	}
	return found
}

// startable are the calls that the running turn t runs before its model is asked: of
// the message that it writes.
func (s *State) startable(t *Turn) []*Call {
	var calls []*Call
	for _, c := range s.Calls {
		if c.MessageID != s.Writing(t) || !c.startable() {
			continue
		}
		if _, p, ok := s.Part(c.ID); ok && !p.Final() {
			calls = append(calls, c)
		}
	}
	return calls
}

// toolsRun reports whether a call runs for that turn.
func (s *State) toolsRun(turn uint64) bool {
	return slices.ContainsFunc(s.Calls, func(c *Call) bool { return c.Turn == turn && c.runs() })
}

func startCalls(calls []*Call) []Event {
	var events []Event
	for _, c := range calls {
		events = append(events, event(&pb.ToolStarted{CallId: c.ID, Attempt: c.Attempt + 1}))
	}
	return events
}

// settleCalls ends what nobody will go on with when t ends, or is cut off: the calls
// of the server's, and those whose part was never shown. If t goes on those stay that
// may be started. m is the message as it will be stored; the events come when it is.
func (c *Core) settleCalls(t *Turn, m uimessage.Message, goesOn bool) (uimessage.Message, []Event) {
	s := &c.State
	var events []Event
	parts := slices.Clone(m.Parts)
	for _, call := range s.Calls {
		if call.Turn != t.ID && call.MessageID != m.ID {
			continue
		}
		i := slices.IndexFunc(parts, func(p uimessage.Part) bool { return p.IsTool() && p.ToolCallID == call.ID })
		settled := &pb.ToolSettled{CallId: call.ID, MessageId: m.ID, By: pb.Settler_SETTLER_REPAIR, Chunked: true}
		if i < 0 || parts[i].State == uimessage.InputStreaming || parts[i].Final() {
			events = append(events, event(settled))
			continue
		}
		if !call.servers() || goesOn && (call.Attempt == 0 || call.Repeatable) || call.Approved && call.Attempt == 0 {
			continue // somebody will answer, or a turn that goes on runs it
		}
		text := callCutOffText
		if call.Attempt > 0 {
			text = outcomeUnknownText
		}
		parts[i].Settle(uimessage.OutputError, nil, text)
		settled.State, settled.ErrorText = pb.ToolState_TOOL_STATE_ERROR, text
		events = append(events, event(settled))
	}
	m.Parts = parts
	return m, events
}

// settleAll settles every call that the user has not answered before going on.
func (c *Core) settleAll(t *Turn) []Event {
	if t.Kind != pb.TurnKind_TURN_KIND_SUBMIT && t.Kind != pb.TurnKind_TURN_KIND_REGENERATE {
		return nil
	}
	s := &c.State
	var events []Event
	for _, m := range s.Transcript.Messages {
		if m.Role != string(uimessage.Assistant) || m.Foreign || !mayWait(m.JSON) {
			continue
		}
		for _, p := range m.parse().Parts {
			if !unsettled(p) || p.ProviderExecuted {
				continue
			}
			text := notAnsweredText
			if call := s.Call(p.ToolCallID); call != nil && call.servers() {
				text = callCutOffText
			}
			if p.State == uimessage.ApprovalResponded {
				text = notRunText
			}
			events = append(events, event(&pb.ToolSettled{
				CallId: p.ToolCallID, MessageId: m.ID, State: pb.ToolState_TOOL_STATE_ERROR, ErrorText: text,
				By: pb.Settler_SETTLER_REPAIR, Raw: c.raw(),
			}))
		}
	}
	return events
}

// mayWait is a quick look for a call that waits.
func mayWait(json []byte) bool {
	return bytes.Contains(json, []byte(uimessage.InputAvailable)) || bytes.Contains(json, []byte(`"approval-re`))
}

// raw marks a stored message that the author's sanitizer has not seen as it is now. Each
// change has its own mark: what became of an older one must not replace a newer.
func (c *Core) raw() uint64 {
	if !c.policy.Sanitizes {
		return 0
	}
	return c.State.Version + 1
}

func (s *State) applyCallOpened(e *pb.ToolCallOpened) {
	s.Recovery.Work++
	s.Calls = append(slices.Clip(s.Calls), callFrom(e))
}

func callFrom(e *pb.ToolCallOpened) *Call {
	return &Call{
		ID: e.GetCallId(), Tool: e.GetTool(), Kind: e.GetKind(), MessageID: e.GetMessageId(), Turn: e.GetTurn(), Step: e.GetStep(),
		Input: e.GetInputJson(), ApprovalID: e.GetApprovalId(), Repeatable: e.GetRepeatable(), Expires: e.GetExpiresMs(),
	}
}

func (c *Call) proto() *pb.OpenCall {
	return &pb.OpenCall{
		Opened: &pb.ToolCallOpened{
			CallId: c.ID, Tool: c.Tool, Kind: c.Kind, MessageId: c.MessageID, Turn: c.Turn, Step: c.Step, InputJson: c.Input,
			ApprovalId: c.ApprovalID, Repeatable: c.Repeatable, ExpiresMs: c.Expires,
		},
		Attempt: c.Attempt, Approved: c.Approved,
	}
}

// applyToolStarted: if the model was not asked yet, the turn begins with its calls.
func (s *State) applyToolStarted(e *pb.ToolStarted) {
	c, t := s.Call(e.GetCallId()), s.Turns.Running()
	if c == nil || t == nil {
		return
	}
	c.Attempt, c.CutOff, c.Turn = e.GetAttempt(), false, t.ID
	s.Steps.Turn, s.Steps.Answered = t.ID, true
}

func (s *State) applyToolSettled(e *pb.ToolSettled) {
	s.progress()
	s.forgetCall(e.GetCallId())
	if e.GetChunked() {
		return
	}
	state := map[pb.ToolState]string{
		pb.ToolState_TOOL_STATE_OUTPUT: uimessage.OutputAvailable, pb.ToolState_TOOL_STATE_DENIED: uimessage.OutputDenied,
	}[e.GetState()]
	if state == "" {
		state = uimessage.OutputError
	}
	s.changeCall(e.GetCallId(), e.GetMessageId(), e.GetRaw(), func(p *uimessage.Part) {
		if !p.Final() {
			p.Settle(state, e.GetOutputJson(), e.GetErrorText())
		}
	})
}

func (s *State) forgetCall(id string) {
	s.Calls = slices.DeleteFunc(slices.Clone(s.Calls), func(c *Call) bool { return c.ID == id })
	if len(s.Calls) == 0 {
		s.Calls = nil
	}
}

// changeCall alters a call's part wherever it is: an outcome outlives the stream that it
// came into.
func (s *State) changeCall(callID, messageID string, raw uint64, change func(*uimessage.Part)) {
	if s.Stream.Open && s.Stream.fold.ID() == messageID {
		s.Stream.fold.Change(callID, change)
	}
	i, ok := s.Transcript.index[messageID]
	if !ok {
		return
	}
	m := s.Transcript.Messages[i]
	parsed, found := m.parse(), false
	for j := range parsed.Parts {
		if p := &parsed.Parts[j]; p.IsTool() && p.ToolCallID == callID {
			change(p)
			found = true
		}
	}
	if !found {
		return
	}
	m.JSON = parsed.AppendJSON(nil)
	if raw > 0 {
		m.Raw = raw
		s.Transcript.noteRaw(m)
	}
	s.Transcript.Messages[i] = m
}

// shown is a message as it stands, for everybody.
func (s *State) shown(messageID string) []byte {
	if s.Stream.Open && s.Stream.fold.ID() == messageID {
		return s.Stream.Message().AppendJSON(nil)
	}
	m, _ := s.Transcript.message(messageID)
	return m.JSON
}

// orphans ends the open calls of stored messages that nobody can answer any more: the
// message is gone, or was written anew without the call or with an outcome.
func (c *Core) orphans(events []Event) []Event {
	s := &c.State
	if len(s.Calls) == 0 || s.Family.Deleted || !slices.ContainsFunc(events, rewrites) {
		return nil
	}
	var ends []Event
	for _, call := range s.Calls {
		if s.Turns.writes(call.MessageID) {
			continue // the turn's end settles it
		}
		m, _ := s.Transcript.Message(call.MessageID)
		if p := callIn(m, call.ID); !p.IsTool() || p.Final() {
			ends = append(ends, event(&pb.ToolSettled{CallId: call.ID, MessageId: call.MessageID, By: pb.Settler_SETTLER_REPAIR, Chunked: true}))
		}
	}
	return ends
}

// rewrites reports whether e may have taken a call out of a stored message.
func rewrites(e Event) bool {
	return e.GetMessagesPut() != nil || e.GetMessagesRemoved() != nil || e.GetTurnEnded() != nil
}
