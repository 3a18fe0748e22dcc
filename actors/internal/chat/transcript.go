package chat

import (
	"bytes"
	"encoding/json"
	"slices"

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
	raw         map[string]bool     // messages that the author's sanitizer has not seen, see clean.go
	unreadable  []Message           // rows that Hydrate has taken out; kept for whoever can read them
	steps       map[string][]Record // by id of the assistant message, in order
	edited      map[string]bool     // messages whose step records were dropped
	Body        json.RawMessage     // what turns without a client request run with
	ClientTools json.RawMessage
	Compaction  Compaction        // what models are shown in place of the beginning
	Aliases     map[string]string // ids of messages that were merged, to what they are now
}

// Compaction is the sum of the conversation up to a message.
type Compaction struct{ UptoID, Summary string }

// Message is a stored UI message. JSON is never changed in place.
type Message struct {
	ID      string
	Role    string
	JSON    []byte // compacted if FullRef is set
	FullRef string // key of the blob that holds it whole
	Foreign bool   // a client has written it in the assistant's name: no model is shown it
	Raw     uint64 // marks what the author's sanitizer has not seen, each change in its own way; 0: it has
}

func messageFrom(m *pb.StoredMessage) Message {
	return Message{ID: m.GetId(), Role: m.GetRole(), JSON: m.GetJson(), FullRef: m.GetFullRef(), Foreign: m.GetForeign(), Raw: m.GetRaw()}
}

func (m Message) proto() *pb.StoredMessage {
	return &pb.StoredMessage{Id: m.ID, Role: m.Role, Json: m.JSON, FullRef: m.FullRef, Foreign: m.Foreign, Raw: m.Raw}
}

func (m Message) parse() uimessage.Message {
	parsed, err := uimessage.ParseMessage(m.JSON)
	if err != nil {
		return uimessage.Message{ID: m.ID, Role: uimessage.Role(m.Role)}
	}
	return parsed
}

// Steps returns the step records of an assistant message, oldest first; nil if
// there are none, or the message has been compacted or edited since.
func (tr *Transcript) Steps(messageID string) []Record { return tr.steps[messageID] }

// Message returns a stored message, parsed.
func (tr *Transcript) Message(id string) (uimessage.Message, bool) {
	m, ok := tr.message(id)
	if !ok {
		return uimessage.Message{}, false
	}
	return m.parse(), true
}

// Stored returns a stored message as it is stored.
func (tr *Transcript) Stored(id string) (Message, bool) { return tr.message(id) }

func (tr *Transcript) message(id string) (Message, bool) {
	i, ok := tr.index[id]
	if !ok {
		return Message{}, false
	}
	return tr.Messages[i], true
}

// Calling is the id of the newest answer that has made a call; "" if there is none.
func (tr *Transcript) Calling(callID string) string {
	quoted := uimessage.AppendString(nil, callID)
	for _, m := range slices.Backward(tr.Messages) {
		if m.Role != string(uimessage.Assistant) || m.Foreign || !bytes.Contains(m.JSON, quoted) {
			continue
		}
		if slices.ContainsFunc(m.parse().Parts, func(p uimessage.Part) bool { return p.IsTool() && p.ToolCallID == callID }) {
			return m.ID
		}
	}
	return ""
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

// Hydrate takes out the rows that nobody can read, so that they stop nothing, and
// brings what older programs have written up to date. It returns the ids of the
// former, which stay in the journal.
func (tr *Transcript) Hydrate() (unreadable []string) {
	kept := make([]Message, 0, len(tr.Messages))
	for _, m := range tr.Messages {
		parsed, err := uimessage.Heal(m.JSON)
		if err != nil || parsed.ID != m.ID {
			unreadable = append(unreadable, m.ID)
			tr.unreadable = append(tr.unreadable, m)
			continue
		}
		m.Role, m.JSON = string(parsed.Role), parsed.AppendJSON(nil)
		kept = append(kept, m)
	}
	tr.replaceAll(kept)
	return unreadable
}

func (tr *Transcript) replaceAll(messages []Message) {
	tr.Messages, tr.index = messages, make(map[string]int, len(messages))
	for i, m := range messages {
		tr.index[m.ID] = i
	}
}

// Blobs are the keys of all values that the conversation refers to.
func (tr *Transcript) Blobs() []string {
	var keys []string
	for _, m := range slices.Concat(tr.Messages, tr.unreadable) {
		if m.FullRef != "" && !slices.Contains(keys, m.FullRef) {
			keys = append(keys, m.FullRef)
		}
	}
	return keys
}

// Wiped reports whether the conversation is empty because it was cleared: whoever
// was away then still shows what is gone.
func (s *State) Wiped() bool { return len(s.Transcript.Messages) == 0 && s.Ledger.Generation > 0 }

func (tr *Transcript) applyPut(e *pb.MessagesPut) {
	if tr.index == nil {
		tr.index = make(map[string]int)
	}
	for _, put := range e.GetMessages() {
		m := messageFrom(put)
		tr.noteRaw(m)
		i, known := tr.index[m.ID]
		if known && (e.GetByClient() || e.GetByAuthor()) || m.FullRef != "" {
			tr.forgetSteps(m.ID)
		}
		if known {
			tr.Messages[i] = m
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
		delete(tr.raw, id)
	}
	tr.replaceAll(slices.DeleteFunc(slices.Clone(tr.Messages), func(m Message) bool { return gone[m.ID] }))
	tr.forgetAliases(gone)
}

// forgetSteps lets the model see a message as clients do from now on: its step
// records tell something else.
func (tr *Transcript) forgetSteps(messageID string) {
	delete(tr.steps, messageID)
	if tr.edited == nil {
		tr.edited = make(map[string]bool)
	}
	tr.edited[messageID] = true
}

func (tr *Transcript) addStep(messageID string, r Record) {
	if tr.edited[messageID] {
		return
	}
	if tr.steps == nil {
		tr.steps = make(map[string][]Record)
	}
	tr.steps[messageID] = append(tr.steps[messageID], r)
}
