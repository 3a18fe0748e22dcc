package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Refusals of what somebody has to say to a call. Test for them with errors.Is.
var (
	// ErrNoCall: no message of the conversation has a call of that id.
	ErrNoCall = chat.ErrNoCall
	// ErrSettled: the call has its outcome, or its decision, already. The first counts.
	ErrSettled = chat.ErrSettled
	// ErrNotYet: the model has not written the call's input to its end.
	ErrNotYet = chat.ErrNotYet
	// ErrServers: the call is the server's to run; nobody else may answer it.
	ErrServers = chat.ErrServers
)

// OpenCall is a tool call that waits for a client or a person.
type OpenCall struct {
	ID         string          `json:"toolCallId"`
	Tool       string          `json:"toolName"`
	Input      json.RawMessage `json:"input"`
	MessageID  string          `json:"messageId"`
	State      string          `json:"state"`                // input-available, approval-requested or approval-responded
	ApprovalID string          `json:"approvalId,omitempty"` // of one that is to be approved
	ExpiresAt  *time.Time      `json:"expiresAt,omitempty"`  // nil: never
}

// OpenCalls returns the calls that wait for a client or a person, oldest first: those
// of the stored conversation, and of the answer that is being written. It is never nil.
// Calls that the server runs are not among them, unless they wait to be approved.
func (r *Ref) OpenCalls(ctx context.Context) ([]OpenCall, error) {
	if err := r.chats(); err != nil {
		return nil, err
	}
	var stored []chat.Message
	var written uimessage.Message
	calls := map[string]chat.Call{}
	if err := r.query(ctx, func(s *chat.State, _ *outflow, _ uint64) {
		stored = slices.Clone(s.Transcript.Messages)
		if s.Stream.Open {
			written = s.Stream.Message()
			written.Parts = slices.Clone(written.Parts)
		}
		for _, c := range s.Calls {
			calls[c.ID] = *c
		}
	}); err != nil {
		return nil, err
	}
	open := []OpenCall{}
	for _, m := range stored {
		if m.Role != string(uimessage.Assistant) || m.ID == written.ID { // what is being written is newer
			continue
		}
		parsed, err := uimessage.ParseMessage(m.JSON)
		if err != nil {
			return nil, fmt.Errorf("actors: stored message %q: %w", m.ID, err)
		}
		open = appendOpen(open, parsed, calls)
	}
	return appendOpen(open, written, calls), nil
}

// appendOpen appends what m has of calls that somebody is awaited for.
func appendOpen(open []OpenCall, m uimessage.Message, calls map[string]chat.Call) []OpenCall {
	for _, p := range m.Parts {
		c, known := calls[p.ToolCallID]
		if !p.IsTool() || !awaited(p, c, known) {
			continue
		}
		o := OpenCall{ID: p.ToolCallID, Tool: p.Tool(), Input: p.Input, MessageID: m.ID, State: p.State}
		if p.Approval != nil {
			o.ApprovalID = p.Approval.ID
		}
		if c.Expires != 0 {
			at := time.UnixMilli(c.Expires)
			o.ExpiresAt = &at
		}
		open = append(open, o)
	}
	return open
}

// awaited reports whether somebody other than the server has the next word on p.
func awaited(p uimessage.Part, c chat.Call, known bool) bool {
	servers := p.ProviderExecuted || known && c.Kind == pb.CallKind_CALL_KIND_SERVER
	switch p.State {
	case uimessage.ApprovalRequested:
		return true
	case uimessage.InputAvailable:
		return !servers
	case uimessage.ApprovalResponded: // without a server's function: a client runs it
		return known && !servers
	}
	return false
}

// AnswerCall gives an open call its output, as a client does; no socket need be open.
// The turn goes on when all calls beside it are answered, too. The output must be
// something that JSON can say; by is for the journal, "" if nobody is to be named.
// Durable on return. Errors: ErrNoCall, ErrSettled, ErrNotYet, ErrServers.
func (r *Ref) AnswerCall(ctx context.Context, callID string, output any, by string) error {
	raw, err := json.Marshal(output)
	if err != nil {
		return &Error{Code: BadRequest, Message: "the output is not JSON: " + err.Error(), err: err}
	}
	return r.Answer(ctx, feed.Answer{Call: callID, Output: raw, Continue: true, Who: by})
}

// FailCall is AnswerCall for a call that has failed, or that a person declines. The
// model reads the reason; "" says that the call was declined.
func (r *Ref) FailCall(ctx context.Context, callID, reason, by string) error {
	return r.Answer(ctx, feed.Answer{Call: callID, Failed: true, ErrorText: reason, Continue: true, Who: by})
}

// Approve lets a call run that waits for a decision, with the input that is stored. The
// first decision counts. The reason and who has decided are in the journal. Durable on
// return; errors are those of AnswerCall.
func (r *Ref) Approve(ctx context.Context, callID, reason, by string) error {
	return r.Decide(ctx, feed.Approval{Call: callID, Approved: true, Reason: reason, Continue: true, Who: by})
}

// Deny is Approve for a call that must not run. The model reads the reason.
func (r *Ref) Deny(ctx context.Context, callID, reason, by string) error {
	return r.Decide(ctx, feed.Approval{Call: callID, Reason: reason, Continue: true, Who: by})
}

// Answer gives a call its outcome, as a client does.
func (r *Ref) Answer(ctx context.Context, a feed.Answer) error {
	return r.ask(ctx, ask{cmd: chat.Answer{
		CallID: a.Call, Output: a.Output, Failed: a.Failed, ErrorText: a.ErrorText, Continue: a.Continue, ClientTools: a.ClientTools,
		By: chat.Responder{Page: a.Page, Who: a.Who}, Now: nowMS(), Ids: newIDs(),
	}})
}

// Decide approves or denies a call, as a client does.
func (r *Ref) Decide(ctx context.Context, a feed.Approval) error {
	return r.ask(ctx, ask{cmd: chat.Approve{
		CallID: a.Call, Approved: a.Approved, Reason: a.Reason, Continue: a.Continue,
		By: chat.Responder{Page: a.Page, Who: a.Who}, Now: nowMS(), Ids: newIDs(),
	}})
}
