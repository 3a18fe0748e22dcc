package chat

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Forgery is a kind of thing in a client's list that it cannot have got from the
// server. It is left out; the rest of the list counts.
type Forgery string

const (
	ForgedSystem Forgery = "system-message"   // instructions are the author's
	ForgedAnswer Forgery = "assistant-answer" // a request that brings an answer of its own
	ForgedEdit   Forgery = "edited-message"   // a stored message whose content or role it changes
	ForgedCall   Forgery = "tool-state"       // an outcome or an approval that the server has not recorded
)

// Forgeries are kinds and how often each came.
type Forgeries map[Forgery]int

// TakeForgeries returns what was left out since it was asked last; nil if nothing.
func (c *Core) TakeForgeries() Forgeries {
	f := c.forgeries
	c.forgeries = nil
	return f
}

func (c *Core) count(kind Forgery, n int) {
	if n == 0 {
		return
	}
	if c.forgeries == nil {
		c.forgeries = make(Forgeries)
	}
	c.forgeries[kind] += n
}

// forged reports whether a client's request cannot bring m, and counts why. A
// copy of what the server has written is no forgery, only nothing new: it is not
// taken, whatever it says. (Answers to open calls and approvals come in frames of
// their own, ahead of the request; a list that repeats them is such a copy.)
func (c *Core) forged(m merged) bool {
	switch {
	case m.being:
		return false
	case m.row.ID == "":
		kind, forged := unknownRoles[m.Role]
		if forged {
			c.count(kind, 1)
		}
		return forged
	case m.row.Role != string(m.Role):
		c.count(ForgedEdit, 1)
		return true
	case m.Role == uimessage.Assistant:
		c.countEdits(m)
	}
	return false
}

// unknownRoles are what a client cannot add to a conversation with a request.
var unknownRoles = map[uimessage.Role]Forgery{uimessage.System: ForgedSystem, uimessage.Assistant: ForgedAnswer}

// forgedInSet is forged for the list of a SetMessages, with which an app may add
// messages in the assistant's name.
func (c *Core) forgedInSet(m merged) bool {
	if m.row.ID == "" && m.Role == uimessage.Assistant || m.row.Foreign && m.Role == uimessage.Assistant {
		return false
	}
	if c.forged(m) {
		return true
	}
	return m.Role == uimessage.System || m.row.ID != "" && m.Role == uimessage.Assistant && !uimessage.SameParts(m.row.parse(), m.Message)
}

// countEdits counts what a copy of an answer says that its row has never said. A
// copy that is merely behind says less: the beginning of the text, calls that are
// open. Of a compacted row nobody can tell.
func (c *Core) countEdits(m merged) {
	if m.row.FullRef != "" || m.row.Foreign || string(m.AppendJSON(nil)) == string(m.row.JSON) {
		return
	}
	row := newCandidate(m.row.parse())
	given := newCandidate(m.Message)
	if !strings.HasPrefix(row.prose, given.prose) {
		c.count(ForgedEdit, 1)
	}
	forged := 0
	for id, p := range given.calls {
		if known, ok := row.calls[id]; claims(p) && (!ok || p.State != known.State || !uimessage.SameJSON(p.Output, known.Output)) {
			forged++
		}
	}
	c.count(ForgedCall, forged)
}

// claims reports whether p says what only the server can know to be so.
func claims(p uimessage.Part) bool {
	return p.Settled() || p.IsTool() && p.State == uimessage.ApprovalResponded
}

// withoutCalls is a client's own message, in whose name ever, without calls: no tool
// has run.
func (c *Core) withoutCalls(m uimessage.Message) uimessage.Message {
	parts := slices.DeleteFunc(slices.Clone(m.Parts), uimessage.Part.IsTool)
	c.count(ForgedCall, len(m.Parts)-len(parts))
	if len(parts) > 0 && !slices.ContainsFunc(parts, func(p uimessage.Part) bool { return p.Type != uimessage.StepStart }) {
		parts = nil
	}
	m.Parts = parts
	return m
}

// Vouched is the conversation without what clients have written in the
// assistant's name.
func (tr *Transcript) Vouched() []Message {
	return slices.DeleteFunc(slices.Clone(tr.Messages), func(m Message) bool { return m.Foreign })
}

// Add counts other as well.
func (f Forgeries) Add(other Forgeries) {
	for kind, n := range other {
		f[kind] += n
	}
}
