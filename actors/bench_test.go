package actors_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// BenchmarkPush is the way of one text delta from its handler to the sockets and
// into the journal: one producer, a store in memory, a sink that throws away.
func BenchmarkPush(b *testing.B) {
	const delta = "twenty bytes of text"
	agent := &actors.Agent{Name: "Bench", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		if err := turn.Stream.Chunk(uimessage.Chunk{Type: "text-start", ID: "t"}); err != nil {
			return err
		}
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if err := turn.Stream.Chunk(uimessage.Chunk{Type: "text-delta", ID: "t", Delta: delta}); err != nil {
				return err
			}
		}
		b.StopTimer()
		return nil
	}}
	rt := actors.NewRuntime(actors.RuntimeConfig{
		Store: memory.Open(memory.Config{}), Agents: []*actors.Agent{agent}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if _, err := rt.Agent(agent, "room").Chat(b.Context(), "go"); err != nil {
		b.Fatal(err)
	}
	if err := rt.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}
