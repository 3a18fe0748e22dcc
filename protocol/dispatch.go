package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// inbound is a frame of a client. Its fields are decoded by the reader of its type.
type inbound struct {
	frame []byte
	field map[string]json.RawMessage
}

// frames are those that a client may send. read runs on the goroutine that reads
// the socket, parses and checks, and returns what to do, or nil. All other frames
// are the author's (protocol §14), among them those that a node sends.
var frames = map[string]struct {
	chat bool // means something to chat agents only
	read func(*session, inbound) func()
}{
	"cf_agent_state": {read: (*session).setState},
	"rpc":            {read: (*session).callMethod},

	"cf_agent_use_chat_request":      {chat: true, read: (*session).chatRequest},
	"cf_agent_chat_request_cancel":   {chat: true, read: (*session).cancelRequest},
	"cf_agent_chat_clear":            {chat: true, read: (*session).clear},
	"cf_agent_chat_messages":         {chat: true, read: (*session).setMessages},
	"cf_agent_stream_resume_request": {chat: true, read: (*session).resumeRequest},
	"cf_agent_stream_resume_ack":     {chat: true, read: (*session).resumeAck},
	"cf_agent_tool_result":           {chat: true, read: (*session).toolResult},
	"cf_agent_tool_approval":         {chat: true, read: (*session).toolApproval},
}

func (s *session) decode(frame []byte, binary bool) func() {
	in := inbound{frame: frame}
	if !binary && json.Unmarshal(frame, &in.field) == nil {
		kind, _ := text(in.field["type"])
		if f, known := frames[kind]; known && (s.chats || !f.chat) {
			return f.read(s, in)
		}
	}
	return s.authors(frame, binary)
}

func (s *session) authors(frame []byte, binary bool) func() {
	return func() { s.message(frame, binary) }
}

// chatRequest (protocol §7.1). One that cannot be read at all gets no reply, as
// nobody knows whether it was one; one that can but is wrong gets an error
// frame, and nothing is stored.
func (s *session) chatRequest(in inbound) func() {
	var init struct {
		Method string `json:"method"`
		Body   string `json:"body"`
	}
	// What is decoded before an error stays: a POST with an odd body is one.
	if _ = json.Unmarshal(in.field["init"], &init); init.Method != "POST" {
		return s.authors(in.frame, false)
	}
	id, ok := text(in.field["id"])
	if !ok || id == "" {
		s.log.Warn("ignored a chat request without an id")
		return nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal([]byte(init.Body), &body); err != nil || body["messages"] == nil {
		s.log.Warn("ignored a chat request whose body has no messages", "request", shown(in.field["id"]))
		return nil
	}
	submit, err := parseSubmit(id, body)
	return func() { s.submit(id, submit, err) }
}

// parseSubmit takes the body of a chat request apart.
func parseSubmit(id string, body map[string]json.RawMessage) (s feed.Submit, err error) {
	if len(id) > maxID {
		return s, invalid(fmt.Sprintf("id has %d bytes, the limit is %d", len(id), maxID))
	}
	s.Request = id
	if s.Messages, err = checkMessages(body["messages"]); err != nil {
		return s, err
	}
	if raw, ok := body["trigger"]; ok {
		trigger, _ := text(raw)
		if trigger != "submit-message" && trigger != "regenerate-message" {
			return s, invalid(fmt.Sprintf("trigger is %s, must be submit-message or regenerate-message", shown(raw)))
		}
		s.Regenerate = trigger == "regenerate-message"
	}
	if s.ClientTools, err = toolList(body["clientTools"]); err != nil {
		return s, err
	}
	delete(body, "messages")
	delete(body, "trigger")
	delete(body, "clientTools")
	if len(body) > 0 {
		s.Body, err = json.Marshal(body)
	}
	return s, err
}

func (s *session) submit(id string, submit feed.Submit, err error) {
	if err == nil {
		s.room.sent(s.seat, id)
		submit.By, submit.Readonly = s.seat.id, s.seat.terms.Readonly
		err = s.h.cfg.Host.Submit(s.h.ctx, s.room.address, submit)
	}
	if err == nil {
		return
	}
	e, hidden := public(err)
	if hidden {
		s.log.Error("chat request failed", "request", id, "error", err)
	}
	s.room.refused(s.seat, id, e.Message)
}

func (s *session) cancelRequest(in inbound) func() {
	id, ok := text(in.field["id"])
	if !ok || id == "" {
		return nil
	}
	return func() {
		s.report("cancel", s.h.cfg.Host.Cancel(s.h.ctx, s.room.address, id))
	}
}

func (s *session) clear(inbound) func() {
	key := newID()
	return func() {
		s.report("clear", s.h.cfg.Host.Clear(s.h.ctx, s.room.address, s.seat.id, key))
	}
}

func (s *session) setMessages(in inbound) func() {
	if len(bytes.TrimSpace(in.field["messages"])) == 0 {
		return nil
	}
	messages, err := checkMessages(in.field["messages"])
	if err != nil {
		s.report("set messages", err)
		return nil
	}
	return func() {
		s.report("set messages", s.h.cfg.Host.SetMessages(s.h.ctx, s.room.address, s.seat.id, messages))
	}
}

// report logs the failure of a command that has no reply in the protocol.
func (s *session) report(what string, err error) {
	if err == nil || s.h.ctx.Err() != nil {
		return
	}
	if _, hidden := public(err); hidden {
		s.log.Error(what+" failed", "error", err)
	} else {
		s.log.Warn(what+" refused", "error", err)
	}
}

// probeTimeout: the clients wait 5 s for an answer.
const probeTimeout = 3 * time.Second

func (s *session) resumeRequest(in inbound) func() {
	var p probe
	p.id, p.given = text(in.field["probeId"])
	return func() {
		a := s.room.resume(s.seat, p)
		if a == nil {
			return
		}
		ctx, cancel := context.WithTimeout(s.ctx, probeTimeout)
		defer cancel()
		if err := s.view(ctx, a); err != nil && s.ctx.Err() == nil {
			s.log.Warn("agent did not tell its transcript, answering without", "error", err)
			s.room.settle(a)
		}
	}
}

func (s *session) resumeAck(in inbound) func() {
	id, _ := text(in.field["id"])
	return func() { s.room.ack(s.seat, id) }
}
