package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Answers to tool calls, as frames (protocol §10). They have no reply of their own:
// what comes of them is told to everybody.

// toolResult takes the outcome of a call that a client has run. Any state but
// output-error is an output.
func (s *session) toolResult(in inbound) func() {
	a, err := parseResult(in.field)
	if err != nil {
		s.report("tool result", err)
		return nil
	}
	a.By, a.Page, a.Who = s.seat.id, s.seat.pk, s.seat.terms.Who
	return func() {
		if s.mayAnswer("tool result") {
			s.report("tool result", s.h.cfg.Host.Answer(s.h.ctx, s.room.address, a))
		}
	}
}

// toolApproval takes a person's decision on a call.
func (s *session) toolApproval(in inbound) func() {
	a, err := parseApproval(in.field)
	if err != nil {
		s.report("tool approval", err)
		return nil
	}
	a.By, a.Page, a.Who = s.seat.id, s.seat.pk, s.seat.terms.Who
	return func() {
		if s.mayAnswer("tool approval") {
			s.report("tool approval", s.h.cfg.Host.Approve(s.h.ctx, s.room.address, a))
		}
	}
}

func (s *session) mayAnswer(what string) bool {
	if s.seat.terms.Readonly {
		s.report(what, &Error{Code: Denied, Message: "this connection is readonly"})
		return false
	}
	return true
}

func parseResult(field map[string]json.RawMessage) (a feed.Answer, err error) {
	if a.Call, err = callID(field); err != nil {
		return a, err
	}
	state, _ := text(field["state"])
	a.Failed = state == "output-error"
	if a.Failed {
		a.ErrorText, _ = text(field["errorText"])
	} else if a.Output = field["output"]; a.Output == nil {
		a.Output = json.RawMessage("null")
	}
	if raw := field["clientTools"]; raw != nil && string(raw) != "null" {
		if raw[0] != '[' {
			return a, invalid(fmt.Sprintf("clientTools is %s, must be a list", shown(raw)))
		}
		a.ClientTools = raw
	}
	a.Continue, err = truth(field, "autoContinue")
	return a, err
}

func parseApproval(field map[string]json.RawMessage) (a feed.Approval, err error) {
	if a.Call, err = callID(field); err != nil {
		return a, err
	}
	if field["approved"] == nil {
		return a, invalid("approved is missing, must be true or false")
	}
	if a.Approved, err = truth(field, "approved"); err != nil {
		return a, err
	}
	a.Reason, _ = text(field["reason"])
	a.Continue, err = truth(field, "autoContinue")
	return a, err
}

func callID(field map[string]json.RawMessage) (string, error) {
	id, ok := text(field["toolCallId"])
	switch {
	case !ok || id == "":
		return "", invalid(fmt.Sprintf("toolCallId is %s, must be a text that is not empty", shown(field["toolCallId"])))
	case len(id) > maxID:
		return "", invalid(fmt.Sprintf("toolCallId has %d bytes, the limit is %d", len(id), maxID))
	}
	return id, nil
}

// truth reads a boolean; missing and null are false.
func truth(field map[string]json.RawMessage, name string) (bool, error) {
	switch raw := field[name]; string(raw) {
	case "true":
		return true, nil
	case "", "null", "false":
		return false, nil
	default:
		return false, invalid(fmt.Sprintf("%s is %s, must be true or false", name, shown(raw)))
	}
}
