package actors

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Erase deletes an agent for good without running it, as Ref.Delete does: its
// journal, which need not be readable, and those of all below it. It is for
// programs that look after the store of a stopped node; on a running one an
// incarnation of the agent ends by a fault at its next append. A sub-agent is also
// forgotten by its parent, whose journal must be readable for it.
//
// On return nothing is left of it. If Erase is cut off, the next start of a node
// finishes it, or another Erase. An agent that there never was is no error.
func Erase(ctx context.Context, store persistence.Store, a feed.Address) error {
	if err := disown(ctx, store, a); err != nil {
		return fmt.Errorf("its parent %s cannot be told: %w", a.Parent, err)
	}
	return erase(ctx, store, a.Path())
}

func erase(ctx context.Context, store persistence.Store, stream string) error {
	if err := fence(ctx, store, stream, persistence.Now); err != nil {
		return err
	}
	if err := eraseBelow(ctx, store, stream); err != nil {
		return err
	}
	return remove(ctx, store, stream)
}

// disown has the parent of a sub-agent forget it: at its next stay in memory, which
// the next start of a node brings.
func disown(ctx context.Context, store persistence.Store, a feed.Address) error {
	up, ok := a.Up()
	if !ok {
		return nil
	}
	h, err := replay(ctx, store, up.Path(), new(Agent).policy())
	if err != nil || h.core.State.Family.Deleted {
		return err
	}
	events, err := h.core.Step(chat.RemoveSub{Class: a.Class, Name: a.Name})
	if err != nil || len(events) == 0 {
		return err
	}
	return write(ctx, store, h.info, persistence.Now, events...)
}

// eraseBelow erases every stream below one, the deepest first, each behind a fence:
// an append that is under way must not come behind the deletion, whose head it
// would find as it expects.
func eraseBelow(ctx context.Context, store persistence.Store, stream string) error {
	streams, err := below(ctx, store, stream)
	for _, info := range slices.Backward(streams) {
		if err != nil || info.Deleted {
			continue
		}
		if err = fence(ctx, store, info.Stream, persistence.Never); err == nil {
			err = remove(ctx, store, info.Stream)
		}
	}
	return err
}

// below lists the streams of an agent's sub-agents, and of theirs. A parent stands
// before its children.
func below(ctx context.Context, store persistence.Store, stream string) (list []persistence.Info, err error) {
	const page = 500
	prefix, after := feed.Below(stream), ""
	for {
		infos, err := store.List(ctx, prefix, after, page)
		if err != nil || len(infos) == 0 {
			return list, err
		}
		list = append(list, infos...)
		after = infos[len(infos)-1].Stream
	}
}

func remove(ctx context.Context, store persistence.Store, stream string) error {
	info, _, err := store.Find(ctx, stream, persistence.Batch{})
	if err != nil || info.Deleted {
		return err
	}
	return store.Delete(ctx, stream, info.Head)
}

// fence appends to a stream, if there is one, that its agent is deleted.
func fence(ctx context.Context, store persistence.Store, stream string, wake persistence.Wake) error {
	info, _, err := store.Find(ctx, stream, persistence.Batch{})
	if err != nil || info.Head == 0 || info.Deleted {
		return err
	}
	return write(ctx, store, info, wake, &journalv1.Event{
		Kind: &journalv1.Event_AgentDeleted{AgentDeleted: &journalv1.AgentDeleted{Reason: "erased from outside"}},
	})
}

// write appends to a stream as nobody's incarnation; durable on return.
func write(ctx context.Context, store persistence.Store, to persistence.Info, wake persistence.Wake, events ...*journalv1.Event) error {
	records := make([]persistence.Record, len(events))
	for i, e := range events {
		data, err := proto.Marshal(&journalv1.Record{AtMs: nowMS(), Event: e})
		if err != nil {
			return err
		}
		records[i].Data = data
	}
	var id [8]byte
	_, _ = rand.Read(id[:])
	batch := persistence.Batch{Incarnation: binary.BigEndian.Uint64(id[:]), N: 1}
	done := make(chan error, 1)
	store.Append(persistence.Append{
		Stream: to.Stream, Expected: to.Head, Batch: batch, Wake: wake, Records: records,
	}, func(err error) { done <- err })
	err := <-done
	if !errors.Is(err, persistence.ErrUnknown) {
		return err
	}
	_, found, lookErr := store.Find(ctx, to.Stream, batch)
	if lookErr != nil || !found {
		return err
	}
	return nil
}
