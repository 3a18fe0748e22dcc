package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// PersistMessages inserts or replaces messages by id, in any role, and starts no
// turn. A message that is there already under another id (the same tool calls, or
// the same text) is replaced under that one; an open call of the list takes the
// outcome that is stored. What a client has set in the assistant's name stays hidden
// from models where the list repeats it. Nothing is removed but by MaxPersistedMessages; what an
// unfinished turn writes is left to it. All sockets are shown the conversation
// if it has changed. Durable on return.
//
// Instructions do not become the model's by a system message: see
// Agent.Instructions. At most 12 MiB of JSON at once, else an *Error of code
// BadRequest and nothing is stored.
func (r *Ref) PersistMessages(ctx context.Context, messages []uimessage.Message) error {
	if err := valids(messages); err != nil {
		return err
	}
	return r.ask(ctx, ask{cmd: chat.Persist{Messages: messages}})
}

// SetMessages inserts or replaces messages by id for a client, and removes none.
// A message in the assistant's name is stored and shown, but no model is shown it;
// what a client cannot know, such as the outcome of a tool call, is left out. All
// sockets but by are shown what is stored of the list. Durable on return.
func (r *Ref) SetMessages(ctx context.Context, by string, messages []uimessage.Message) error {
	if err := fits(messages); err != nil {
		return err
	}
	return r.ask(ctx, ask{cmd: chat.SetMessages{Messages: messages}, by: by, items: func(s *chat.State) []feed.Item {
		return []feed.Item{feed.Transcript{Messages: s.Shown(messages), By: by}}
	}})
}

// Message returns a stored message whole, also where the conversation has it
// compacted (see Agent.MaxMessageBytes). An *Error of code NotFound if there is
// none of that id; what a turn is writing is not stored yet.
func (r *Ref) Message(ctx context.Context, id string) (uimessage.Message, error) {
	for seen := ""; ; {
		var found chat.Message
		if err := r.query(ctx, func(s *chat.State, _ *outflow, _ uint64) { found, _ = s.Transcript.Stored(id) }); err != nil {
			return uimessage.Message{}, err
		}
		if found.ID == "" {
			return uimessage.Message{}, &Error{Code: NotFound, Message: fmt.Sprintf("there is no message %.100q", id)}
		}
		m, err := r.whole(ctx, found)
		if !errors.Is(err, persistence.ErrNotFound) || found.FullRef == seen {
			return m, err
		}
		seen = found.FullRef // it may have been replaced while we looked
	}
}

// whole reads a stored message, from the blob beside it if it is compacted.
func (r *Ref) whole(ctx context.Context, m chat.Message) (uimessage.Message, error) {
	if m.FullRef == "" {
		return uimessage.ParseMessage(m.JSON)
	}
	data, err := r.rt.cfg.Store.Blob(ctx, r.addr.Path(), m.FullRef)
	if err != nil {
		return uimessage.Message{}, unreadable(r.addr.Path(), err)
	}
	return uimessage.ParseMessage(data)
}

// valids refuses what an author must not store: no agent could read it again.
func valids(messages []uimessage.Message) error {
	for i, m := range messages {
		if _, err := uimessage.ParseMessage(m.AppendJSON(nil)); err != nil {
			return &Error{Code: BadRequest, Message: fmt.Sprintf("messages[%d]: %v", i, err)}
		}
	}
	return fits(messages)
}

// blobsOf are the values that e refers to and that are not stored yet.
func (a *shell) blobsOf(e chat.Event) []persistence.Blob {
	var blobs []persistence.Blob
	put := e.GetMessagesPut().GetMessages()
	if into := e.GetMessagesMerged().GetInto(); into != nil {
		put = []*journalv1.StoredMessage{into}
	}
	for _, m := range put {
		if data := a.core.Blob(m.GetFullRef()); data != nil {
			blobs = append(blobs, persistence.Blob{Key: m.GetFullRef(), Data: data})
		}
	}
	return blobs
}

// countForgeries tells of what was left out of a client's list.
func (a *shell) countForgeries() {
	left := a.core.TakeForgeries()
	for kind, n := range left {
		a.log.Warn("a client's list has what it cannot have got from here; it was left out", "kind", kind, "count", n)
	}
	a.rt.forged(left)
}

func (rt *Runtime) forged(left chat.Forgeries) {
	if len(left) == 0 {
		return
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.forgeries == nil {
		rt.forgeries = make(chat.Forgeries)
	}
	rt.forgeries.Add(left)
}

// Forgeries counts, by kind, what clients' lists have claimed since the start and
// cannot have got from here: "system-message", "assistant-answer" (a request that
// brings an answer), "edited-message", and "tool-state" (an outcome or approval
// that is not recorded). None of it was believed.
func (rt *Runtime) Forgeries() map[string]int {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	counts := make(map[string]int, len(rt.forgeries))
	for kind, n := range rt.forgeries {
		counts[string(kind)] = n
	}
	return counts
}
