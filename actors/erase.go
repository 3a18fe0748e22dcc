package actors

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// erase deletes an agent for good from outside: its journal, which need not be
// readable, and those of all below it. An incarnation that runs ends at its next
// append. If erase is cut off, the next start of a node finishes it. An agent that
// there never was is no error.
func erase(ctx context.Context, store persistence.Store, a feed.Address) error {
	stream := a.Path()
	if err := fence(ctx, store, stream, persistence.Now); err != nil {
		return err
	}
	if err := eraseBelow(ctx, store, stream); err != nil {
		return err
	}
	return remove(ctx, store, stream)
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
	data, err := proto.Marshal(&journalv1.Record{AtMs: nowMS(), Event: &journalv1.Event{
		Kind: &journalv1.Event_AgentDeleted{AgentDeleted: &journalv1.AgentDeleted{Reason: "erased from outside"}},
	}})
	if err != nil {
		return err
	}
	info, _, err := store.Find(ctx, stream, persistence.Batch{})
	if err != nil || info.Head == 0 || info.Deleted {
		return err
	}
	var id [8]byte
	_, _ = rand.Read(id[:])
	batch := persistence.Batch{Incarnation: binary.BigEndian.Uint64(id[:]), N: 1}
	done := make(chan error, 1)
	store.Append(persistence.Append{
		Stream: stream, Expected: info.Head, Batch: batch, Wake: wake, Records: []persistence.Record{{Data: data}},
	}, func(err error) { done <- err })
	err = <-done
	if !errors.Is(err, persistence.ErrUnknown) {
		return err
	}
	_, found, lookErr := store.Find(ctx, stream, batch)
	if lookErr != nil || !found {
		return err
	}
	return nil
}
