package actors_test

import (
	"context"
	"crypto/rand"
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
	const delta, perTurn = "twenty bytes of text", 20_000
	left := b.N
	agent := &actors.Agent{Name: "Bench", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		if err := turn.Stream.Chunk(uimessage.Chunk{Type: "text-start", ID: "t"}); err != nil {
			return err
		}
		b.StartTimer()
		defer b.StopTimer()
		for range min(left, perTurn) {
			if err := turn.Stream.Chunk(uimessage.Chunk{Type: "text-delta", ID: "t", Delta: delta}); err != nil {
				return err
			}
		}
		return nil
	}}
	rt := actors.NewRuntime(actors.RuntimeConfig{
		Store: memory.Open(memory.Config{}), Agents: []*actors.Agent{agent}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	b.ReportAllocs()
	b.StopTimer()
	b.ResetTimer()
	for ; left > 0; left -= perTurn {
		answer, err := rt.Agent(agent, rand.Text()).Chat(b.Context(), "go")
		if err != nil || answer.Status != actors.StatusCompleted {
			b.Fatal(err, answer.Err)
		}
	}
	if err := rt.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}
