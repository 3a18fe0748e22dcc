package chat

import (
	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// An answer is seen by the author's sanitizer before its turn ends, on the
// effect's goroutine. One whose turn ends without its effect (a cancel, a crash)
// is stored raw, and Clean is due.

// answer is the message of a turn as it is stored.
func (c *Core) answer(m uimessage.Message, cleaned *uimessage.Message) []*pb.StoredMessage {
	if cleaned != nil {
		id, role := m.ID, m.Role
		m = *cleaned
		m.ID, m.Role = id, role
	}
	if len(m.Parts) == 0 {
		return nil
	}
	out, _ := c.guardSize(m)
	if cleaned == nil {
		out.Raw = c.raw()
	}
	return []*pb.StoredMessage{out}
}

// unfinished is a message that another turn will go on with: whole, whatever its size.
func (c *Core) unfinished(m uimessage.Message) *pb.StoredMessage {
	out := stored(m)
	out.Raw = c.raw()
	return out
}

// leftover is the message of a turn that was to go on with it and has not begun.
func (c *Core) leftover(t *Turn) []*pb.StoredMessage {
	m, ok := c.State.Transcript.message(t.MessageID)
	if !ok || !t.Continues || m.FullRef != "" || len(m.JSON) <= c.policy.MaxBytes {
		return nil
	}
	out, _ := c.guardSize(m.parse())
	out.Raw = m.Raw
	return []*pb.StoredMessage{out}
}

// dirty is the cleaning of the first message that needs it.
func (s *State) dirty() Effect {
	if len(s.Transcript.raw) == 0 {
		return nil
	}
	for _, m := range s.Transcript.Messages {
		if m.Raw > 0 {
			return Clean{ID: m.ID, Mark: m.Raw}
		}
	}
	return nil
}

// Raw reports whether the author's sanitizer has not seen a message.
func (tr *Transcript) Raw(id string) bool { return tr.raw[id] }

func (tr *Transcript) noteRaw(m Message) {
	if m.Raw == 0 {
		delete(tr.raw, m.ID)
		return
	}
	if tr.raw == nil {
		tr.raw = make(map[string]bool)
	}
	tr.raw[m.ID] = true
}

// decideCleaned stores the message, or removes it if nothing is left of it.
func (c *Core) decideCleaned(cmd Cleaned) []Event {
	s := &c.State
	if s.dirty() != Effect(cmd.Clean) {
		return nil // there is another message under that id by now, or none
	}
	if cmd.Failed {
		m, _ := s.Transcript.message(cmd.Clean.ID)
		m.Raw = 0
		return puts(&pb.MessagesPut{Messages: []*pb.StoredMessage{m.proto()}})
	}
	was, _ := s.Transcript.Message(cmd.Clean.ID)
	if list := c.answer(was, &cmd.Message); len(list) > 0 {
		return puts(&pb.MessagesPut{Messages: list})
	}
	return []Event{event(&pb.MessagesRemoved{Ids: []string{was.ID}, Reason: pb.RemovalReason_REMOVAL_REASON_EMPTIED})}
}
