package chat

import (
	"maps"
	"slices"
	"strings"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// applyMerged puts one message in the place of several. The ids of the others
// become its aliases: clients that were away still name them.
func (tr *Transcript) applyMerged(e *pb.MessagesMerged) {
	into := e.GetInto().GetId()
	tr.applyPut(&pb.MessagesPut{Messages: []*pb.StoredMessage{e.GetInto()}})
	for id, target := range tr.Aliases {
		if slices.Contains(e.GetFromIds(), target) {
			tr.Aliases[id] = into
		}
	}
	tr.applyRemoved(&pb.MessagesRemoved{Ids: e.GetFromIds()})
	for _, id := range e.GetFromIds() {
		tr.alias(id, into)
	}
}

func (tr *Transcript) alias(id, messageID string) {
	if tr.Aliases == nil {
		tr.Aliases = make(map[string]string)
	}
	tr.Aliases[id] = messageID
}

// known returns the id under which a message is stored.
func (tr *Transcript) known(id string) string {
	if target, ok := tr.Aliases[id]; ok {
		return target
	}
	return id
}

// add puts the ids under which messages are stored into set.
func (tr *Transcript) add(set map[string]bool, ids []string) {
	for _, id := range ids {
		set[tr.known(id)] = true
	}
}

// withoutAliases replaces what a client has of messages that were merged by what
// they were merged into: its copies are older, also that of the last of them.
func (tr *Transcript) withoutAliases(list []uimessage.Message) []uimessage.Message {
	if len(tr.Aliases) == 0 {
		return list
	}
	targets := make(map[string]bool, len(tr.Aliases))
	for _, id := range tr.Aliases {
		targets[id] = true
	}
	merged := make(map[string]uimessage.Message)
	for _, m := range list {
		id := tr.known(m.ID)
		if !targets[id] {
			continue
		}
		if now, ok := tr.Message(id); ok && (id != m.ID || isEndOf(m, now)) {
			merged[id] = now
		}
	}
	if len(merged) == 0 {
		return list
	}
	out := slices.Clone(list)
	for i, m := range out {
		if now, ok := merged[tr.known(m.ID)]; ok {
			out[i] = now
		}
	}
	return out
}

// isEndOf reports whether m is what whole was before others were merged into it,
// see joinParts: somebody may know that one alone.
func isEndOf(m, whole uimessage.Message) bool {
	n := len(whole.Parts) - len(m.Parts)
	if n < 0 || len(m.Parts) == 0 {
		return false
	}
	tail := slices.Clone(whole.Parts[n:])
	if strings.HasSuffix(tail[0].Text, textJoint+m.Parts[0].Text) {
		tail[0].Text = m.Parts[0].Text
	}
	whole.Parts = tail
	return uimessage.SameParts(whole, m)
}

// forgetAliases drops those of messages that are gone.
func (tr *Transcript) forgetAliases(gone map[string]bool) {
	maps.DeleteFunc(tr.Aliases, func(_, target string) bool { return gone[target] })
}

func (tr *Transcript) aliases() []*pb.Alias {
	var list []*pb.Alias
	for _, id := range slices.Sorted(maps.Keys(tr.Aliases)) {
		list = append(list, &pb.Alias{Id: id, MessageId: tr.Aliases[id]})
	}
	return list
}
