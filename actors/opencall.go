package actors

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/feed"
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

// OpenCalls returns the calls that wait for a client or a person, oldest first.
func (r *Ref) OpenCalls(ctx context.Context) ([]OpenCall, error) { return nil, errors.ErrUnsupported }

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
