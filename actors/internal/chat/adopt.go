package chat

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// adoptIDs gives each assistant message that a client knows under another id the
// id of the stored row that it is a copy of (protocol.md 7.4, step 1), or of one
// of those that are being written. Each row is claimed once.
func (tr *Transcript) adoptIDs(list []uimessage.Message, writing ...uimessage.Message) []uimessage.Message {
	incoming := distinct(list)
	unknown := func(m uimessage.Message) bool {
		_, known := tr.message(m.ID)
		return !known && m.Role == uimessage.Assistant
	}
	if !slices.ContainsFunc(incoming, unknown) {
		return incoming
	}
	rows := tr.unclaimed(incoming, writing)
	for i, m := range incoming {
		if !unknown(m) {
			continue
		}
		a := newCandidate(m)
		if row := slices.IndexFunc(rows, a.isCopy); row >= 0 {
			incoming[i].ID = rows[row].ID
			rows = slices.Delete(rows, row, row+1)
		}
	}
	return incoming
}

// distinct copies list; of messages with one id the last counts, at the first one's place.
func distinct(list []uimessage.Message) []uimessage.Message {
	out := make([]uimessage.Message, 0, len(list))
	at := make(map[string]int, len(list))
	for _, m := range list {
		if i, ok := at[m.ID]; ok {
			out[i] = m
			continue
		}
		at[m.ID] = len(out)
		out = append(out, m)
	}
	return out
}

// unclaimed are the stored answers that incoming does not name by id.
func (tr *Transcript) unclaimed(incoming, writing []uimessage.Message) []candidate {
	claimed := make(map[string]bool, len(incoming))
	for _, m := range incoming {
		claimed[m.ID] = true
	}
	var rows []candidate
	for _, row := range tr.Messages {
		if row.Role == string(uimessage.Assistant) && !claimed[row.ID] {
			rows = append(rows, newCandidate(row.parse()))
		}
	}
	for _, m := range writing {
		if _, stored := tr.index[m.ID]; !stored && !claimed[m.ID] {
			rows = append(rows, newCandidate(m))
		}
	}
	return rows
}

// candidate is an assistant message prepared for comparison: a long list is compared
// with a long conversation, and most pairs must be told apart at a glance.
type candidate struct {
	uimessage.Message
	calls map[string]uimessage.Part // tool parts by call id
	prose string                    // its text; copies have the same
}

func newCandidate(m uimessage.Message) candidate {
	a := candidate{Message: m, calls: make(map[string]uimessage.Part)}
	var prose strings.Builder
	for _, p := range uimessage.Sanitize(m).Parts {
		if p.IsTool() {
			a.calls[p.ToolCallID] = p
		}
		prose.WriteString(p.Text)
	}
	a.prose = prose.String()
	return a
}

// isCopy reports whether a and b are the same answer: the same calls with the
// same inputs, or, without calls, the same parts.
func (a candidate) isCopy(b candidate) bool {
	if len(a.calls) == 0 && len(b.calls) == 0 {
		return a.prose == b.prose && uimessage.SameParts(a.Message, b.Message)
	}
	shared := 0
	for id, call := range a.calls {
		stored, ok := b.calls[id]
		if !ok {
			continue
		}
		if call.Tool() != stored.Tool() || !uimessage.SameJSON(call.Input, stored.Input) {
			return false
		}
		shared++
	}
	return shared > 0
}
