package actors

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// sanitize is m as it is to be stored. If the author's hook panics, it is m with
// what Holdfast itself leaves out, and an error.
func (a *Agent) sanitize(m uimessage.Message) (uimessage.Message, error) {
	m = uimessage.Sanitize(m)
	if a.SanitizeMessage == nil {
		return m, nil
	}
	out := m
	if err := guard(func() { out = a.SanitizeMessage(m) }); err != nil {
		return m, fmt.Errorf("SanitizeMessage: %w", err)
	}
	out.ID, out.Role = m.ID, m.Role
	if _, err := uimessage.ParseMessage(out.AppendJSON(nil)); err != nil {
		return m, fmt.Errorf("SanitizeMessage returned what is no message: %w", err)
	}
	return out, nil
}

func (a *Agent) sanitizeAll(messages []uimessage.Message) ([]uimessage.Message, error) {
	out := make([]uimessage.Message, len(messages))
	for i, m := range messages {
		var err error
		if out[i], err = a.sanitize(m); err != nil {
			return nil, fmt.Errorf("actors: messages[%d]: %w", i, err)
		}
	}
	return out, nil
}

// sanitized is a command whose messages have been through the author's hook, on
// the caller's goroutine.
func (r *Ref) sanitized(cmd chat.Command) (chat.Command, error) {
	class := r.rt.classes[r.addr.Class]
	if class == nil || class.SanitizeMessage == nil {
		return cmd, nil
	}
	all := class.sanitizeAll
	var err error
	if c, ok := cmd.(chat.Submit); ok {
		c.Messages, err = all(c.Messages)
		return c, err
	}
	if c, ok := cmd.(chat.SetMessages); ok {
		c.Messages, err = all(c.Messages)
		return c, err
	}
	if c, ok := cmd.(chat.Persist); ok {
		c.Messages, err = all(c.Messages)
		return c, err
	}
	return cmd, nil
}

// readAnswer asks for the message that a running attempt has written. reply is
// called once; not ok if there is none.
type readAnswer struct {
	turn    uint64
	attempt uint32
	reply   func(m uimessage.Message, ok bool)
}

// readAnswer takes what is still on its way first, so that the message is whole.
func (a *shell) readAnswer(m readAnswer) {
	a.store()
	t, st := a.core.State.Turns.Running(), &a.core.State.Stream
	if t == nil || t.ID != m.turn || t.Attempt != m.attempt || !st.Open {
		m.reply(uimessage.Message{}, false)
		return
	}
	m.reply(st.Message(), true)
}

// cleaned is the answer as the author's hook leaves it, when all of it has been
// written; nil if there is no hook, or nothing was written. If the hook fails it
// is the answer without the hook, and an error.
func (s *Stream) cleaned(ctx context.Context) (*uimessage.Message, error) {
	class := s.shell.class
	s.mu.Lock()
	silent := s.live == nil
	s.mu.Unlock()
	if class.SanitizeMessage == nil || silent {
		return nil, nil
	}
	written := make(chan uimessage.Message, 1)
	s.shell.tell(readAnswer{turn: s.turn, attempt: s.attempt, reply: func(m uimessage.Message, ok bool) {
		if ok {
			written <- m
		}
		close(written)
	}})
	select {
	case m, ok := <-written:
		if !ok {
			return nil, nil
		}
		m, err := class.sanitize(m)
		return &m, err
	case <-ctx.Done():
		return nil, nil // the turn is over, and Clean will be due
	}
}

// prepareClean runs the author's hook on a message that it has not seen.
func (a *shell) prepareClean(e chat.Clean) func(context.Context) chat.Command {
	stored, _ := a.core.State.Transcript.Stored(e.ID)
	ref := &Ref{rt: a.rt, addr: a.addr}
	class, log := a.class, a.log.With("message", e.ID)
	return func(ctx context.Context) chat.Command {
		m, err := ref.whole(ctx, stored)
		if err == nil {
			m, err = class.sanitize(m)
		}
		if err != nil {
			log.Error("a message could not be sanitized; it is stored as it is", "error", err)
			return chat.Cleaned{Clean: e, Failed: true}
		}
		return chat.Cleaned{Clean: e, Message: m}
	}
}
