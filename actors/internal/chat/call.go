package chat

import (
	"encoding/json"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Calls are the tool calls that the model loop has opened and that have no outcome
// yet, in the order in which they were opened. Whether a call is settled is said by
// its part, in the stored message or in the one that is being written: this is only
// what the part cannot say. (What a handler writes by itself has no entry here:
// whoever may write to the agent may answer it.)
type Calls []*Call

// Call is one of them.
type Call struct {
	ID, Tool   string
	Kind       pb.CallKind
	MessageID  string
	Turn       uint64 // that has opened it
	Step       uint32
	Input      json.RawMessage
	ApprovalID string // "": it needs none
	Approved   bool
	Repeatable bool   // it may be run again after it was cut off
	Attempt    uint32 // of its last start; 0: it was never started
	CutOff     bool   // an older incarnation was at it
	Expires    int64  // milliseconds since the epoch; 0: never
}

// Call returns an open call, or nil.
func (s *State) Call(id string) *Call {
	for _, c := range s.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// Part returns the newest part of a call, in the message that is being written or in
// a stored one, and that message. Not ok if there is none.
func (s *State) Part(callID string) (m uimessage.Message, p uimessage.Part, ok bool) {
	return m, p, false
}
