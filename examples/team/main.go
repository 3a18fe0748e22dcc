// Command team is an agent with sub-agents. "hire taxes" adds an expert to the team;
// any other question goes to all experts, and what they say is the answer. Each expert
// is an agent with a conversation of its own, which a page may open, too, once it has
// been hired:
//
//	const expert = useAgent({ agent: "team", name: "acme", sub: [{ agent: "expert", name: "taxes" }] });
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/env"
	"github.com/holdfast-dev/holdfast/actors/node"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func agents(m model.Model) (team, expert *actors.Agent) {
	expert = &actors.Agent{
		Name:         "Expert",
		Instructions: "You are an expert in one field. Answer in one sentence.",
		Model:        m,
	}
	team = &actors.Agent{
		Name: "Team",
		OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
			if field, ok := strings.CutPrefix(question(turn), "hire "); ok {
				return hire(ctx, turn, expert, field)
			}
			return askAll(ctx, turn, expert)
		},
		Callable: []actors.Method{
			actors.NewMethod("dismiss", "Deletes an expert with all that it knows.", func(ctx context.Context, self *actors.Self, field string) error {
				return self.DeleteSubAgent(ctx, expert, field)
			}, "field"),
			actors.NewMethod("experts", "Lists the fields that the team has experts in.", fields),
		},
		// Without this gate no page could reach an expert. This one lets nobody invent any.
		BeforeSubAgent: func(ctx context.Context, self *actors.Self, _ *http.Request, child actors.ChildAddress) error {
			hired, err := self.HasSubAgent(ctx, expert, child.Name)
			if err == nil && (!hired || child.Class != expert.Name) {
				return actors.Deny(http.StatusNotFound, "The team has no such expert.")
			}
			return err
		},
	}
	return team, expert
}

func fields(ctx context.Context, self *actors.Self) ([]string, error) {
	names := []string{} // an empty list is [] for the page, not null
	experts, err := self.SubAgents(ctx)
	for _, e := range experts {
		names = append(names, e.Name)
	}
	return names, err
}

// question is the last thing that was said. Before it stands in turn.Question what
// got no answer.
func question(turn *actors.Turn) (text string) {
	for _, m := range turn.Question {
		text = ""
		for _, p := range m.Parts {
			text += p.Text
		}
	}
	return text
}

func hire(ctx context.Context, turn *actors.Turn, expert *actors.Agent, field string) error {
	if _, err := turn.Self.SubAgent(ctx, expert, field); err != nil {
		return err
	}
	return turn.Stream.Text("An expert in " + field + " has joined the team.")
}

// askAll asks one expert after the other. Cut off by a crash, it is run again and
// goes on with those whose answers are not in the message yet.
func askAll(ctx context.Context, turn *actors.Turn, expert *actors.Agent) error {
	experts, err := turn.Self.SubAgents(ctx)
	if err != nil {
		return err
	}
	if len(experts) == 0 {
		return actors.Errorf("This team has no experts yet. Say: hire taxes") // the visitor reads this
	}
	for _, e := range experts {
		title := "**" + e.Name + "**: "
		if slices.ContainsFunc(turn.Partial.Parts, func(p uimessage.Part) bool { return strings.HasPrefix(p.Text, title) }) {
			continue
		}
		colleague, err := turn.Self.SubAgent(ctx, expert, e.Name)
		if err != nil {
			return err
		}
		answer, err := colleague.SaveMessages(ctx, turn.Question) // by its id a question is there once
		if err != nil {
			return err
		}
		if err := turn.Stream.Text(title + answer.Text() + "\n\n"); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	m, _, err := env.Model(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	node.Main(agents(m))
}
