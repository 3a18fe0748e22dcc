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

// withoutAliases replaces what a client has of messages that were merged by what
// they were merged into: its copies are older, also that of the last of them. That
// one has the id of the whole: it is told by a copy of another beside it, or by what
// it says.
func (tr *Transcript) withoutAliases(list []uimessage.Message) []uimessage.Message {
	if len(tr.Aliases) == 0 {
		return list
	}
	targets := make(map[string]bool)
	for _, target := range tr.Aliases {
		targets[target] = true
	}
	older := make(map[string]uimessage.Message)
	for _, m := range list {
		target := tr.known(m.ID)
		if !targets[target] {
			continue
		}
		if whole, _ := tr.Message(target); m.ID != target || endsWith(whole.Parts, m.Parts) {
			older[target] = whole
		}
	}
	out := slices.Clone(list)
	for i, m := range out {
		if now, ok := older[tr.known(m.ID)]; ok {
			out[i] = now
		}
	}
	return out
}

// endsWith reports whether whole is joinParts of something and last.
func endsWith(whole, last []uimessage.Part) bool {
	from := len(whole) - len(last)
	if from < 0 {
		return false
	}
	tail := slices.Clone(whole[from:])
	if len(last) > 0 && strings.HasSuffix(tail[0].Text, textJoint+last[0].Text) {
		tail[0].Text = last[0].Text
	}
	return uimessage.SameParts(uimessage.Message{Parts: tail}, uimessage.Message{Parts: last})
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
