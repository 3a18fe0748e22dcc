package chat

import (
	"maps"
	"slices"

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
	merged := make(map[string]uimessage.Message)
	for _, m := range list {
		if target, ok := tr.Aliases[m.ID]; ok {
			merged[target], _ = tr.Message(target)
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
