package chat

import (
	"bytes"
	"encoding/json"
	"maps"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Transcript is the conversation as clients see it, and what the model said in
// its own words.
//
// Invariant: index[m.ID] is the place of m in Messages.
type Transcript struct {
	Messages    []Message
	index       map[string]int
	steps       map[string][]json.RawMessage // by id of the assistant message, in order
	edited      map[string]bool              // messages whose step records were dropped
	Body        json.RawMessage              // what turns without a client request run with
	ClientTools json.RawMessage
	Aliases     map[string]string // ids of messages that were merged, to what they are now
}

// Message is a stored UI message. JSON is never changed in place.
type Message struct {
	ID   string
	Role string
	JSON []byte
}

func (m Message) parse() uimessage.Message {
	parsed, err := uimessage.ParseMessage(m.JSON)
	if err != nil {
		return uimessage.Message{ID: m.ID, Role: uimessage.Role(m.Role)}
	}
	return parsed
}

// Steps returns the step records of an assistant message, oldest first; nil if
// there are none or a client has edited the message since.
func (tr *Transcript) Steps(messageID string) []json.RawMessage { return tr.steps[messageID] }

// Message returns a stored message, parsed.
func (tr *Transcript) Message(id string) (uimessage.Message, bool) {
	m, ok := tr.message(id)
	if !ok {
		return uimessage.Message{}, false
	}
	return m.parse(), true
}

func (tr *Transcript) message(id string) (Message, bool) {
	i, ok := tr.index[id]
	if !ok {
		return Message{}, false
	}
	return tr.Messages[i], true
}

// AppendJSON appends the conversation as a JSON array. While a stream is open,
// its message shows as it was before: the stream's replay adds the rest.
func (tr *Transcript) AppendJSON(dst []byte) []byte {
	list := make([][]byte, len(tr.Messages))
	for i, m := range tr.Messages {
		list[i] = m.JSON
	}
	return uimessage.AppendList(dst, list)
}

// Wiped reports whether the conversation is empty because it was cleared: whoever
// was away then still shows what is gone.
func (s *State) Wiped() bool { return len(s.Transcript.Messages) == 0 && s.Ledger.Generation > 0 }

// decideSetMessages inserts or replaces; it removes nothing.
func (c *Core) decideSetMessages(cmd SetMessages) []Event {
	tr := &c.State.Transcript
	var put []*pb.StoredMessage
	for _, m := range tr.adoptIDs(tr.withoutAliases(cmd.Messages)) {
		if !c.State.Turns.writes(m.ID) {
			put = tr.appendChanged(put, m)
		}
	}
	if len(put) == 0 {
		return nil
	}
	return []Event{event(&pb.MessagesPut{Messages: put, ByClient: true})}
}

// reconcile compares a client's list with what is stored. What the server has
// written itself is never overwritten by a submit: a client's copy may be older.
// A list of known messages only is a truncation (regenerate, edit): the others go,
// but not those that unfinished turns are about.
func (s *State) reconcile(cmd Submit) (put []*pb.StoredMessage, removed []string) {
	tr := &s.Transcript
	incoming := tr.adoptIDs(tr.withoutAliases(cmd.Messages))
	keep := s.Turns.messages()
	allKnown := len(incoming) > 0
	for _, m := range incoming {
		keep[m.ID] = true
		if s.Turns.writes(m.ID) {
			continue // a copy of an answer that is being written: its turn stores it
		}
		old, known := tr.message(m.ID)
		allKnown = allKnown && known
		if known && (old.Role == string(uimessage.Assistant) || m.Role == uimessage.Assistant) {
			continue
		}
		put = tr.appendChanged(put, m)
	}
	if cmd.Append || !allKnown {
		return put, nil
	}
	for _, m := range tr.Messages {
		if !keep[m.ID] {
			removed = append(removed, m.ID)
		}
	}
	return put, removed
}

// appendChanged appends m to put if it is not what is stored already. Clients
// write some things in another way than the store; that is no change.
func (tr *Transcript) appendChanged(put []*pb.StoredMessage, m uimessage.Message) []*pb.StoredMessage {
	next := stored(uimessage.Sanitize(m))
	if old, ok := tr.message(m.ID); ok && (bytes.Equal(old.JSON, next.GetJson()) || sameMessage(old.parse(), m)) {
		return put
	}
	return append(put, next)
}

func sameMessage(a, b uimessage.Message) bool {
	return a.Role == b.Role && uimessage.SameParts(a, b) && uimessage.SameJSON(a.Metadata, b.Metadata) && maps.EqualFunc(a.Extra, b.Extra, uimessage.SameJSON)
}

func (tr *Transcript) applyPut(e *pb.MessagesPut) {
	if tr.index == nil {
		tr.index = make(map[string]int)
	}
	for _, put := range e.GetMessages() {
		m := Message{ID: put.GetId(), Role: put.GetRole(), JSON: put.GetJson()}
		if i, ok := tr.index[m.ID]; ok {
			tr.Messages[i] = m
			if e.GetByClient() {
				tr.forgetSteps(m.ID)
			}
			continue
		}
		tr.index[m.ID] = len(tr.Messages)
		tr.Messages = append(tr.Messages, m)
	}
}

func (tr *Transcript) applyRemoved(e *pb.MessagesRemoved) {
	gone := make(map[string]bool, len(e.GetIds()))
	for _, id := range e.GetIds() {
		gone[id] = true
		delete(tr.steps, id)
		delete(tr.edited, id)
	}
	kept := make([]Message, 0, len(tr.Messages))
	tr.index = make(map[string]int, len(tr.Messages))
	for _, m := range tr.Messages {
		if !gone[m.ID] {
			tr.index[m.ID] = len(kept)
			kept = append(kept, m)
		}
	}
	tr.Messages = kept
	tr.forgetAliases(gone)
}

// forgetSteps lets the model see a message as clients do from now on: its step
// records no longer tell all of it.
func (tr *Transcript) forgetSteps(messageID string) {
	delete(tr.steps, messageID)
	if tr.edited == nil {
		tr.edited = make(map[string]bool)
	}
	tr.edited[messageID] = true
}

func (tr *Transcript) addStep(messageID string, content json.RawMessage) {
	if tr.edited[messageID] {
		return
	}
	if tr.steps == nil {
		tr.steps = make(map[string][]json.RawMessage)
	}
	tr.steps[messageID] = append(tr.steps[messageID], content)
}
