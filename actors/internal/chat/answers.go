package chat

import (
	"cmp"
	"encoding/json"
	"errors"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// declinedText is what the model reads of a call that a client failed without a word.
const declinedText = "Tool execution denied by user"

// Answers are what people and clients have to say to open calls, and the
// continuation that goes on with it (the barrier of chat.md 4.4).
type Answers struct {
	Pending  *Continuation // armed, or its turn is not over yet
	Deferred *Continuation // follows the one that runs
	Arms     uint64        // counts, so that no wait is used twice
}

// Continuation is a turn to come.
type Continuation struct {
	Request     string
	Arm         uint64
	FireAt      int64  // not before
	Page        string // of the client that has answered last
	Body        json.RawMessage
	ClientTools json.RawMessage
	Turn        uint64 // it has fired: this is its turn; 0: it has not
}

// Responder is who answers a call.
type Responder struct {
	Page string // of the socket, "" if there is none: it owns the continuation
	Who  string // whom it speaks for, if the author's program knows; for the record
}

type (
	// Answer is the outcome of a call by a client or a person. The first one counts:
	// a second one is ErrSettled, one for a call that nobody has made ErrNoCall.
	Answer struct {
		CallID      string
		Output      json.RawMessage
		Failed      bool
		ErrorText   string          // of Failed; "": it was declined
		Continue    bool            // the turn goes on when all siblings are answered
		ClientTools json.RawMessage // nil: as they were
		By          Responder
		Now         int64
		Ids         Ids
	}

	// Approve is a person's decision on a call that waits for one.
	Approve struct {
		CallID   string
		Approved bool
		Reason   string
		Continue bool
		By       Responder
		Now      int64
		Ids      Ids
	}

	// OpenCall: the model has asked for a call. It is stepped before the chunk that
	// shows the call.
	OpenCall struct {
		Turn    uint64
		Step    uint32
		Attempt uint32
		Call    Call // ID, Tool, Kind, Input, ApprovalID, Repeatable, Expires
	}

	// ToolReturned is the outcome of RunTool. A call that was settled meanwhile, also by
	// the stream's chunks, stays as it is.
	ToolReturned struct {
		Turn    uint64
		CallID  string
		Attempt uint32
		Output  json.RawMessage
		Failed  bool
		Text    string // of Failed, as the model and visitors may see it
		Now     int64
	}

	// LoopStopped is an outcome of CallModel: the loop is over before the model was
	// asked again.
	LoopStopped struct {
		Turn    uint64
		Step    uint32
		Attempt uint32
		Reason  string // finish reason
		Failed  string // if not "", the turn ends as an error with this text, fit for a visitor
		Cleaned *uimessage.Message
	}

	// StartLoop: the author's handler asks the model loop. Refused with ErrTurnOver.
	StartLoop struct {
		Turn    uint64
		Attempt uint32
		Loop    uint32 // from 1, in the order in which this run of the handler asks
	}

	// Compacted is the outcome of Compact. Failed ends the turn as an error.
	Compacted struct {
		Turn    uint64
		Attempt uint32
		UptoID  string
		Summary string
		Model   string
		Usage   *pb.Usage
		Failed  string // text fit for a visitor
	}
)

func (Answer) command()       {}
func (Approve) command()      {}
func (OpenCall) command()     {}
func (ToolReturned) command() {}
func (LoopStopped) command()  {}
func (StartLoop) command()    {}
func (Compacted) command()    {}

type (
	// RunTool runs a call of the server's. Turn tells calls of one id apart: a provider
	// may use an id again in another answer.
	RunTool struct {
		Turn    uint64
		CallID  string
		Attempt uint32
	}

	// Compact has the conversation summed up for models, because it did not fit.
	Compact struct {
		Turn    uint64
		Attempt uint32
	}
)

func (RunTool) effect() {}
func (Compact) effect() {}

// Refusals of what concerns a call.
var (
	ErrNoCall  = errors.New("no message has a call of that id")
	ErrSettled = errors.New("the call has an outcome already")
	ErrNotYet  = errors.New("the input of the call is not complete yet")
	ErrServers = errors.New("the call is the server's to run")
)

// asked is a call that somebody has something to say to; call is nil if a handler has
// written it.
func (s *State) asked(callID string) (messageID string, p uimessage.Part, call *Call, err error) {
	messageID, p, ok := s.Part(callID)
	switch {
	case !ok:
		err = ErrNoCall
	case p.State == uimessage.InputStreaming:
		err = ErrNotYet
	case p.Final():
		err = ErrSettled
	}
	return messageID, p, s.Call(callID), err
}

func (c *Core) decideAnswer(cmd Answer) ([]Event, error) {
	id, p, call, err := c.State.asked(cmd.CallID)
	switch {
	case err != nil:
		return nil, err
	case call != nil && call.Kind == pb.CallKind_CALL_KIND_SERVER && !(cmd.Failed && p.State == uimessage.ApprovalRequested):
		return nil, ErrServers
	}
	settled := &pb.ToolSettled{
		CallId: cmd.CallID, MessageId: id, State: pb.ToolState_TOOL_STATE_OUTPUT, OutputJson: cmd.Output,
		By: pb.Settler_SETTLER_CLIENT, Who: valid(cmd.By.Who), AtMs: cmd.Now, Raw: c.raw(),
	}
	if cmd.Failed {
		settled.State, settled.OutputJson = pb.ToolState_TOOL_STATE_ERROR, nil
		settled.ErrorText = cmp.Or(valid(cmd.ErrorText), declinedText)
	}
	var events []Event
	if cmd.ClientTools != nil {
		events = append(events, event(&pb.ContextSet{ClientToolsJson: cmd.ClientTools}))
	}
	events = append(events, event(settled))
	return append(events, c.arm(cmd.Continue, cmd.By, cmd.ClientTools, cmd.Now, cmd.Ids)...), nil
}

// decideApprove: what the decision is bound to is the call as it is stored.
func (c *Core) decideApprove(cmd Approve) ([]Event, error) {
	id, p, call, err := c.State.asked(cmd.CallID)
	switch {
	case err != nil:
		return nil, err
	case !p.Pending():
		return nil, ErrSettled
	case call != nil && call.ApprovalID == "":
		return nil, ErrServers // nobody has asked for a decision
	}
	decided := &pb.ApprovalDecided{
		CallId: cmd.CallID, MessageId: id, Approved: cmd.Approved, Reason: valid(cmd.Reason), Who: valid(cmd.By.Who), AtMs: cmd.Now,
		Raw: c.raw(), Page: cmd.By.Page, Now: !cmd.Continue,
	}
	if p.Approval != nil {
		decided.ApprovalId = p.Approval.ID
	}
	events := []Event{event(decided)}
	if cmd.Approved && call != nil && call.Kind == pb.CallKind_CALL_KIND_CLIENT {
		return events, nil // a client runs it first
	}
	return append(events, c.arm(cmd.Continue, cmd.By, nil, cmd.Now, cmd.Ids)...), nil
}

// guardCalling keeps a stored message below its limit that an outcome has made larger.
func (c *Core) guardCalling(messageID string) []Event {
	m, ok := c.State.Transcript.message(messageID)
	if !ok || m.FullRef != "" || len(m.JSON) <= c.policy.MaxBytes || c.State.Turns.writes(messageID) {
		return nil
	}
	out, _ := c.guardSize(m.parse())
	out.Raw = m.Raw
	if out.GetFullRef() == "" {
		return nil
	}
	return []Event{event(&pb.MessagesPut{Messages: []*pb.StoredMessage{out}})}
}

func (s *State) applyApprovalDecided(e *pb.ApprovalDecided) {
	s.progress()
	if c := s.Call(e.GetCallId()); c != nil && e.GetApproved() {
		c.Approved, c.Expires = true, 0
	} else {
		s.forgetCall(e.GetCallId())
	}
	s.changeCall(e.GetCallId(), e.GetMessageId(), e.GetRaw(), func(p *uimessage.Part) {
		if p.Pending() {
			p.Decide(e.GetApproved(), e.GetReason())
		}
	})
}
