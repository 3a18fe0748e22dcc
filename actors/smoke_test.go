package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence/memory"
)

func TestSmoke(t *testing.T) {
	store := memory.Open(memory.Config{})
	echo := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		last := turn.Messages[len(turn.Messages)-1]
		return turn.Stream.Text("echo: " + last.Parts[0].Text)
	}}
	rt := actors.NewRuntime(actors.RuntimeConfig{Store: store, Agents: []*actors.Agent{echo}})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := rt.Agent(echo, "room-1").Chat(ctx, "hi")
	t.Log(r, err, r.Text())
	if err != nil || r.Text() != "echo: hi" {
		t.Fatal("no")
	}
	if err := rt.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	rt = actors.NewRuntime(actors.RuntimeConfig{Store: store, Agents: []*actors.Agent{echo}})
	ms, err := rt.Agent(echo, "room-1").Messages(ctx)
	t.Log(ms, err)
	if len(ms) != 2 {
		t.Fatal("history")
	}
	rt.Stop(ctx)
}
