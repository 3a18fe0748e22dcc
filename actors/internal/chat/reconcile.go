package chat

import (
	"bytes"
	"maps"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// merged is a message of a list from outside, in the light of what is stored:
// under the id of its row and with the outcomes of calls that the row knows.
type merged struct {
	uimessage.Message
	row   Message // as it is stored; its ID is empty if there is none
	being bool    // an unfinished turn writes the message: its end stores it
}

func (m merged) known() bool { return m.row.ID != "" || m.being }

// reconcile says what is what in a list that a client or an author has made of
// the conversation (protocol.md 7.4): copies of stored messages under other ids,
// calls whose outcome the list has not seen, stale copies. It keeps the order.
func (s *State) reconcile(list []uimessage.Message) []merged {
	tr := &s.Transcript
	incoming := tr.adoptIDs(tr.withoutAliases(list), s.Stream.inFlight()...)
	out := make([]merged, len(incoming))
	for i, m := range incoming {
		row, _ := tr.message(m.ID)
		out[i] = merged{Message: m, row: row, being: s.Turns.writes(m.ID)}
		if row.Role == string(uimessage.Assistant) && m.Role == uimessage.Assistant {
			out[i].Message = overlay(m, row)
		}
	}
	return dropStale(out)
}

// inFlight is the message that the open stream writes; clients may know it
// under another id.
func (st *Stream) inFlight() []uimessage.Message {
	if !st.Open {
		return nil
	}
	return []uimessage.Message{st.Message()}
}

// unsettled reports whether p is a call of which the list has seen no outcome.
func unsettled(p uimessage.Part) bool {
	return p.IsTool() && (p.Pending() || p.State == uimessage.ApprovalResponded)
}

// overlay gives the open calls of m the outcomes that its row knows: the state
// and the one field that belongs to it.
func overlay(m uimessage.Message, row Message) uimessage.Message {
	if !slices.ContainsFunc(m.Parts, unsettled) {
		return m
	}
	settled := settledCalls(row.parse())
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		known, ok := settled[p.ToolCallID]
		if !ok || !unsettled(p) {
			continue
		}
		parts[i].State = known.State
		switch known.State {
		case uimessage.OutputAvailable:
			parts[i].Output = known.Output
		case uimessage.OutputError:
			parts[i].ErrorText = known.ErrorText
		case uimessage.OutputDenied:
			parts[i].Approval = known.Approval
		}
	}
	m.Parts = parts
	return m
}

func settledCalls(m uimessage.Message) map[string]uimessage.Part {
	calls := make(map[string]uimessage.Part)
	for _, p := range m.Parts {
		if p.Settled() {
			calls[p.ToolCallID] = p
		}
	}
	return calls
}

// dropStale removes what a tab made up while it waited, if it consists of
// nothing but open calls that a row of the list has settled. Never the last.
func dropStale(list []merged) []merged {
	stale := func(m merged) bool {
		return !m.known() && m.Role == uimessage.Assistant && slices.ContainsFunc(m.Parts, unsettled) &&
			!slices.ContainsFunc(m.Parts, func(p uimessage.Part) bool { return p.Type != uimessage.StepStart && !unsettled(p) })
	}
	if !slices.ContainsFunc(list, stale) {
		return list
	}
	settled := make(map[string]uimessage.Part)
	for _, m := range list {
		if m.row.Role == string(uimessage.Assistant) {
			maps.Copy(settled, settledCalls(m.row.parse()))
		}
	}
	open := func(p uimessage.Part) bool {
		known, ok := settled[p.ToolCallID]
		return p.IsTool() && !(ok && known.Tool() == p.Tool() && uimessage.SameJSON(known.Input, p.Input))
	}
	last := len(list) - 1
	var kept []merged
	for i, m := range list {
		if i == last || !stale(m) || slices.ContainsFunc(m.Parts, open) {
			kept = append(kept, m)
		}
	}
	return kept
}

// without the messages at the head that are not known although later ones are: a
// tab still shows what was trimmed, and it must not come back.
func (c *Core) withoutTrimmed(list []merged) []merged {
	if c.policy.MaxMessages == 0 {
		return list
	}
	return list[max(slices.IndexFunc(list, merged.known), 0):]
}

// takeIn takes in the list of a client's Submit. What the server has written itself is
// never overwritten: a client's copy may be older. A list of known messages only
// is a truncation (regenerate, edit): the others go, but not those that
// unfinished turns are about.
func (c *Core) takeIn(cmd Submit) (put []*pb.StoredMessage, removed []string) {
	s := &c.State
	incoming := c.withoutTrimmed(s.reconcile(cmd.Messages))
	fresh, refused := false, false
	for _, m := range incoming {
		if c.forged(m) {
			refused = refused || !m.known()
			continue
		}
		fresh = fresh || !m.known()
		if m.Role == uimessage.User {
			m.Message = c.withoutCalls(m.Message)
		}
		if !m.being && (m.row.ID == "" || m.row.Role == string(uimessage.User) && m.Role == uimessage.User) {
			put = c.appendChanged(put, m, Message{})
		}
	}
	switch {
	case cmd.Append, fresh:
		return put, nil
	case !refused:
		return put, s.behind(incoming, 0)
	case cmd.Regenerate:
		return put, s.behind(incoming, s.lastOf(incoming))
	}
	return put, nil
}

// lastOf is the place after the last stored message of list.
func (s *State) lastOf(list []merged) int {
	for _, m := range slices.Backward(list) {
		if i, ok := s.Transcript.index[m.row.ID]; ok {
			return i + 1
		}
	}
	return len(s.Transcript.Messages)
}

// behind are the messages from a place on that are not in list, which knows
// some, and that no unfinished turn is about.
func (s *State) behind(list []merged, from int) []string {
	if !slices.ContainsFunc(list, merged.known) {
		return nil
	}
	keep := s.unfinished()
	for _, m := range list {
		keep[m.ID] = true
	}
	var ids []string
	for _, m := range s.Transcript.Messages[from:] {
		if !keep[m.ID] {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// decideSetMessages takes in the list of a client: it inserts and replaces, and
// removes nothing. A message in the assistant's name is shown to people and to no
// model; what the server has written keeps its parts.
func (c *Core) decideSetMessages(cmd SetMessages) []Event {
	var written, noted []*pb.StoredMessage
	for _, m := range c.withoutTrimmed(c.State.reconcile(cmd.Messages)) {
		switch {
		case c.forgedInSet(m) || m.being:
		case m.Role == uimessage.User:
			m.Message = c.withoutCalls(m.Message)
			written = c.appendChanged(written, m, Message{})
		case m.row.ID == "" || m.row.Foreign:
			if m.Message = c.withoutCalls(m.Message); len(m.Parts) > 0 {
				written = c.appendChanged(written, m, Message{Foreign: true})
			}
		default:
			noted = c.appendNoted(noted, m)
		}
	}
	return puts(&pb.MessagesPut{Messages: written, ByClient: true}, &pb.MessagesPut{Messages: noted})
}

// decidePersist takes in the list of the author, who may write in any role.
func (c *Core) decidePersist(cmd Persist) []Event { return c.put(cmd.Messages) }

// put inserts or replaces the author's messages, except those that a turn is
// writing. One that is there already stays a client's if it is.
func (c *Core) put(messages []uimessage.Message) []Event {
	var written, noted []*pb.StoredMessage
	for _, m := range c.State.reconcile(messages) {
		switch {
		case m.being:
		case m.row.ID != "" && (!m.row.Foreign || m.Role == uimessage.Assistant) && uimessage.SameParts(m.row.parse(), m.Message):
			noted = c.appendNoted(noted, m)
		default:
			written = c.appendChanged(written, m, Message{})
		}
	}
	return puts(&pb.MessagesPut{Messages: written, ByAuthor: true}, &pb.MessagesPut{Messages: noted})
}

func puts(list ...*pb.MessagesPut) []Event {
	var events []Event
	for _, put := range list {
		if len(put.GetMessages()) > 0 {
			events = append(events, event(put))
		}
	}
	return events
}

// appendChanged appends m to put, with the marks of as, if it is not what is
// stored already. Clients write some things in another way than the store; that
// is no change.
func (c *Core) appendChanged(put []*pb.StoredMessage, m merged, as Message) []*pb.StoredMessage {
	next, shown := c.guardSize(uimessage.Sanitize(m.Message))
	next.Foreign = as.Foreign
	if m.row.ID != "" && m.row.Foreign == as.Foreign && (bytes.Equal(m.row.JSON, next.GetJson()) || sameMessage(m.row.parse(), shown)) {
		return put
	}
	return append(put, next)
}

// appendNoted appends the row of m if what is around its parts has changed: the
// parts stay, and so do the model's own words.
func (c *Core) appendNoted(put []*pb.StoredMessage, m merged) []*pb.StoredMessage {
	old := m.row.parse()
	next := old
	next.Role, next.Metadata, next.Extra = m.Role, m.Metadata, m.Extra
	if sameMessage(old, next) {
		return put
	}
	row := m.row
	row.Role, row.JSON = string(next.Role), next.AppendJSON(nil)
	return append(put, row.proto())
}

func sameMessage(a, b uimessage.Message) bool {
	return a.Role == b.Role && uimessage.SameParts(a, b) && uimessage.SameJSON(a.Metadata, b.Metadata) && maps.EqualFunc(a.Extra, b.Extra, uimessage.SameJSON)
}

// Shown is a client's list as the others are shown it: what is stored of it, in
// its order.
func (s *State) Shown(list []uimessage.Message) []byte {
	var shown [][]byte
	for _, m := range s.reconcile(list) {
		if m.row.ID != "" {
			shown = append(shown, m.row.JSON)
		}
	}
	return uimessage.AppendList(nil, shown)
}

// trim removes the oldest messages beyond the author's limit, but none that an
// unfinished turn is about, and none with a call that somebody may still answer:
// that would take one half of it away. Those stay as long as they must, above the
// limit.
func (c *Core) trim() []Event {
	tr, most := &c.State.Transcript, c.policy.MaxMessages
	excess := len(tr.Messages) - most
	if most == 0 || excess <= 0 {
		return nil
	}
	keep := c.State.unfinished()
	var ids []string
	for _, m := range tr.Messages[:excess] {
		if !keep[m.ID] && !m.waits() {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return []Event{event(&pb.MessagesRemoved{Ids: ids, Reason: pb.RemovalReason_REMOVAL_REASON_TRIMMED})}
}

// waits reports whether m has an open call.
func (m Message) waits() bool {
	return m.Role == string(uimessage.Assistant) && !m.Foreign && slices.ContainsFunc(m.parse().Parts, unsettled)
}
