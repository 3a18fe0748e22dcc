package protocol

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// The frames with which a page answers the calls of a model (protocol §10). They have
// no reply: what changes is shown to all sockets, and what changes nothing is logged.

const (
	maxCallID = 1 << 10  // bytes of a call's id, which a provider has chosen
	maxReason = 64 << 10 // bytes of the text of a failure or a decision
)

// toolResult (cf_agent_tool_result). The tool's name in it says nothing: the call has one.
func (s *session) toolResult(in inbound) func() {
	a, err := parseAnswer(in.field["toolCallId"], in.field)
	a.By, a.Page = s.seat.id, s.seat.pk
	return func() {
		s.answers("answer", a.Call, err, func() error {
			a.Who = s.seat.terms.Who
			return s.h.cfg.Host.Answer(s.h.ctx, s.room.address, a)
		})
	}
}

// toolApproval (cf_agent_tool_approval).
func (s *session) toolApproval(in inbound) func() {
	a, err := parseApproval(in.field["toolCallId"], in.field)
	a.By, a.Page = s.seat.id, s.seat.pk
	return func() {
		s.answers("decision", a.Call, err, func() error {
			a.Who = s.seat.terms.Who
			return s.h.cfg.Host.Approve(s.h.ctx, s.room.address, a)
		})
	}
}

// answers hands an answer in. A page that is late with one is usual: several may show
// the same call, and the first counts.
func (s *session) answers(what, call string, err error, do func() error) {
	if err == nil {
		err = do()
	}
	if err == nil || s.h.ctx.Err() != nil {
		return
	}
	log := s.log.With("call", cut(call, min(len(call), maxID)), "error", err, "so_far", s.h.declined.Add(1))
	var e *Error
	switch _, hidden := public(err); {
	case hidden:
		log.Error(what + " failed")
	case errors.As(err, &e) && e.Code == Conflict:
		log.Debug(what + " changes nothing")
	default:
		log.Warn(what + " refused")
	}
}

// parseAnswer reads the outcome of a call. Whatever is no error is an output.
func parseAnswer(id json.RawMessage, field map[string]json.RawMessage) (a feed.Answer, err error) {
	if a.Call, err = callID(id); err != nil {
		return a, err
	}
	state, _ := text(field["state"])
	if a.Failed = state == "output-error"; a.Failed {
		if a.ErrorText, err = words("errorText", field["errorText"]); err != nil {
			return a, err
		}
	} else if a.Output = field["output"]; a.Output == nil {
		a.Output = json.RawMessage("null")
	}
	a.Continue = string(field["autoContinue"]) == "true"
	a.ClientTools, err = toolList(field["clientTools"])
	return a, err
}

func parseApproval(id json.RawMessage, field map[string]json.RawMessage) (a feed.Approval, err error) {
	if a.Call, err = callID(id); err != nil {
		return a, err
	}
	switch raw := field["approved"]; string(raw) {
	case "true", "false":
		a.Approved = string(raw) == "true"
	default:
		return a, invalid(fmt.Sprintf("approved is %s, must be true or false", shown(raw)))
	}
	a.Reason, err = words("reason", field["reason"])
	a.Continue = string(field["autoContinue"]) == "true"
	return a, err
}

func callID(raw json.RawMessage) (string, error) {
	id, ok := text(raw)
	switch {
	case !ok || id == "":
		return "", invalid(fmt.Sprintf("toolCallId is %s, must be a text that is not empty", shown(raw)))
	case len(id) > maxCallID:
		return "", invalid(fmt.Sprintf("toolCallId has %d bytes, the limit is %d", len(id), maxCallID))
	}
	return id, nil
}

// words is a text that need not be there.
func words(name string, raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	t, ok := text(raw)
	switch {
	case !ok:
		return "", invalid(fmt.Sprintf("%s is %s, must be a text", name, shown(raw)))
	case len(t) > maxReason:
		return "", invalid(fmt.Sprintf("%s has %d bytes, the limit is %d", name, len(t), maxReason))
	}
	return t, nil
}

// toolList is the schemas of a client's tools; nil: as they were.
func toolList(raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] != '[' {
		return nil, invalid(fmt.Sprintf("clientTools is %s, must be a list", shown(raw)))
	}
	return raw, nil
}
