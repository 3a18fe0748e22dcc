package actors_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// A tool's input is a struct; its schema is what the model is told.
func ExampleNewTool() {
	type search struct {
		Words string `json:"words" jsonschema:"what to look for"`
		Most  int    `json:"most,omitempty" jsonschema:"how many results"`
	}
	tool := actors.NewTool("search", "Searches the catalogue.", func(ctx context.Context, in search) ([]string, error) {
		call := actors.ToolCallFrom(ctx)
		if err := call.Update("Looking for " + in.Words); err != nil { // a preliminary result
			return nil, err
		}
		return []string{"A book of " + in.Words}, nil
	}, actors.Defaults(search{Most: 10}), actors.Repeatable, actors.Timeout(time.Minute))
	fmt.Println(string(tool.Schema))
	// Output:
	// {"type":"object","properties":{"words":{"type":"string","description":"what to look for"},"most":{"type":"integer","description":"how many results","default":10}},"required":["words"],"additionalProperties":false}
}

// Somebody has to approve of large payments. The key lets the bank know a payment that
// it has already made.
func ExampleNeedsApproval() {
	type payment struct {
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}
	bank := map[string]payment{}
	tool := actors.NewTool("pay", "Pays somebody.", func(ctx context.Context, in payment) (string, error) {
		bank[actors.ToolCallFrom(ctx).IdempotencyKey] = in
		return "paid", nil
	}, actors.NeedsApproval(func(in payment) bool { return in.Amount > 100 }), actors.Repeatable)
	fmt.Println(tool.Name, tool.Description)
	// Output: pay Pays somebody.
}

// The browser runs it: see the tools and onToolCall options of useAgentChat.
func ExampleClientTool() {
	type place struct {
		Precise bool `json:"precise,omitempty" jsonschema:"to about ten metres"`
	}
	tool := actors.ClientTool("getUserLocation", "Where the user is.", actors.SchemaOf[place](), actors.NeedsApproval(true))
	fmt.Println(string(tool.Schema))
	// Output: {"type":"object","properties":{"precise":{"type":"boolean","description":"to about ten metres"}},"additionalProperties":false}
}

// A tool asks two small models at once, and its own model sees one sentence.
func ExampleLoop() {
	type question struct {
		Topic string `json:"topic"`
	}
	expert := func(view string) actors.Loop {
		return actors.Loop{Name: view, Model: scripted.Sequence(scripted.Say("I am " + view + ".")), Instructions: "Speak " + view + ".", MaxSteps: 3}
	}
	debate := actors.NewTool("debate", "Hears both sides.", func(ctx context.Context, in question) (string, error) {
		var said [2]string
		errs := make(chan error, 2)
		for i, view := range []string{"for it", "against it"} {
			go func() {
				g, err := expert(view).Generate(ctx, in.Topic)
				said[i] = g.Text
				errs <- err
			}()
		}
		for range said {
			if err := <-errs; err != nil {
				return "", err
			}
		}
		return strings.Join(said[:], " "), nil
	})
	out, err := actors.Loop{
		Model: scripted.New(func(r model.Request) scripted.Answer {
			if last := r.Messages[len(r.Messages)-1]; last.Role == model.ToolRole {
				return scripted.Say(string(last.Content[0].Output))
			}
			return scripted.Answer{scripted.Call{ID: "c1", Tool: "debate", Input: `{"topic":"tea"}`}}
		}),
		Tools: []actors.Tool{debate},
	}.Generate(context.Background(), "Is tea good?")
	fmt.Println(out.Text, err)
	// Output: "I am for it. I am against it." <nil>
}

// Old results of searches are long; what was thought is of no use later.
func ExamplePruneMessages() {
	assistant := &actors.Agent{
		Name:          "Assistant",
		Model:         scripted.Demo(),
		PruneMessages: actors.PruneMessages(actors.Pruning{Reasoning: 1, ToolCalls: 6, Tools: []string{"search"}}),
	}
	seen := assistant.PruneMessages([]model.Message{
		{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: "Hello"}}},
		{Role: model.Assistant, Content: []model.Content{{Kind: model.ReasoningContent, Text: "They greet."}, {Kind: model.TextContent, Text: "Hi"}}},
		{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: "And?"}}},
	})
	fmt.Println(len(seen), len(seen[1].Content), seen[1].Content[0].Text)
	// Output: 3 1 Hi
}
