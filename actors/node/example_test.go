package node_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/actors/node"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// An agent that answers with a model. The conversation is in a file, so it is
// there again when the node is.
func Example() {
	assistant := &actors.Agent{
		Name:         "Assistant",
		Instructions: "Answer in one sentence.",
		// A real one comes from actors/model/openai, /anthropic or /openaicompat.
		Model: scripted.New(func(r model.Request) scripted.Answer {
			return scripted.Say(fmt.Sprintf("That was message %d.", len(r.Messages)))
		}),
	}
	folder, err := os.MkdirTemp("", "holdfast")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx := context.Background()
	config := node.Config{Agents: []*actors.Agent{assistant}, Data: folder, Log: slog.New(slog.DiscardHandler)}

	n, err := node.Start(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	// The first call brings the agent into being: nothing has to be created.
	answer, err := n.Agent(assistant, "room-1").Chat(ctx, "Hello?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("answer:", answer.Text())
	if err := n.Stop(ctx); err != nil {
		log.Fatal(err)
	}

	n, err = node.Start(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = n.Stop(ctx) }()
	room := n.Agent(assistant, "room-1")
	if _, err := room.Chat(ctx, "Still there?"); err != nil {
		log.Fatal(err)
	}
	history, err := room.Messages(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range history {
		fmt.Printf("%s: %s\n", m.Role, text(m))
	}
	// Output:
	// answer: That was message 1.
	// user: Hello?
	// assistant: That was message 1.
	// user: Still there?
	// assistant: That was message 3.
}

// An agent that answers with code of its own, from whatever source: it writes to
// the turn's stream what clients see at once.
func Example_onChatMessage() {
	weather := &actors.Agent{
		Name: "Weather",
		OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			city := text(turn.Question...)
			if city == "" {
				return actors.Errorf("Which city?") // the visitor reads this; other errors are logged
			}
			if err := turn.Stream.Reasoning("I look out of the window."); err != nil {
				return err // the turn is over: somebody has cancelled it
			}
			// A data part with an id is replaced by the next one of the same id.
			if err := turn.Stream.Data("forecast", "today", map[string]int{"celsius": 21}); err != nil {
				return err
			}
			// A Stream is an io.Writer, too.
			_, err := fmt.Fprintf(turn.Stream, "It is warm in %s.", city)
			return err
		},
	}
	folder, err := os.MkdirTemp("", "holdfast")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx := context.Background()
	n, err := node.Start(ctx, node.Config{Agents: []*actors.Agent{weather}, Data: folder, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = n.Stop(ctx) }()

	answer, err := n.Agent(weather, "room-1").Chat(ctx, "Porto")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Status)
	for _, part := range answer.Message.Parts {
		fmt.Println(strings.TrimSpace(part.Type + " " + part.Text + string(part.Data)))
	}
	// Output:
	// completed
	// reasoning I look out of the window.
	// data-forecast {"celsius":21}
	// step-start
	// text It is warm in Porto.
}

func text(messages ...uimessage.Message) string {
	var text string
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == uimessage.TextPart {
				text += p.Text
			}
		}
	}
	return text
}
