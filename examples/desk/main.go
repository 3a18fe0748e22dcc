// Command desk is a support desk. Each ticket is a conversation that a visitor and
// the staff share; who has taken it, and whether it is solved, is a state that all
// their tabs show.
//
//	const agent = useAgent({ agent: "desk", name: "ticket-17", query: { staff: "ada" } });
//	const { messages, sendMessage } = useAgentChat({ agent });
//	… agent.state?.owner … <button onClick={() => agent.stub.take()}>
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/env"
	"github.com/holdfast-dev/holdfast/actors/node"
)

// ticket is what useAgent has as agent.state.
type ticket struct {
	Owner  string `json:"owner,omitempty"`
	Solved bool   `json:"solved"`
}

func desk(m model.Model) *actors.Agent {
	return &actors.Agent{
		Name:         "Desk",
		Instructions: "You are the first line of a support desk. If you cannot help, say that a colleague will.",
		Model:        m,
		InitialState: ticket{},
		Terms:        terms,
		OnConnect:    func(ctx context.Context, self *actors.Self, _ *actors.Connection) error { return headcount(ctx, self) },
		OnClose: func(ctx context.Context, self *actors.Self, _ *actors.Connection, _ int, _ string) error {
			return headcount(ctx, self)
		},
		Callable: []actors.Method{
			actors.NewMethod("take", "Makes the caller the owner of the ticket.", take),
			actors.NewMethod("solve", "Marks the ticket as solved, or not.", solve, "solved"),
		},
	}
}

// terms lets the staff change the ticket, and visitors look at it. A real desk would
// look at a cookie or a token.
func terms(_ context.Context, _ *actors.Self, r *http.Request) (actors.Terms, error) {
	staff := r.URL.Query().Get("staff")
	if staff == "" {
		return actors.Terms{Readonly: true}, nil
	}
	return actors.Terms{Tags: []string{"staff", staff}}, nil
}

// headcount tells all tabs who is here. It is no part of the state, which outlives a
// crash as tabs do not.
func headcount(ctx context.Context, self *actors.Self) error {
	return self.BroadcastJSON(ctx, map[string]any{
		"type": "headcount", "tabs": len(self.Connections()), "staff": len(self.Connections("staff")),
	})
}

// take refuses a colleague who comes second, also at the same moment. Visitors need
// no check: a method that a readonly connection calls cannot change the state.
func take(ctx context.Context, self *actors.Self) (ticket, error) {
	return actors.UpdateState(ctx, self.Ref, func(t *ticket) error {
		caller := actors.ConnectionFrom(ctx)
		if caller == nil || len(caller.Tags()) < 2 {
			return actors.Errorf("Only the staff can take a ticket.")
		}
		me := caller.Tags()[1]
		if t.Owner != "" && t.Owner != me {
			return actors.Errorf("%s has taken this ticket already.", t.Owner)
		}
		t.Owner = me
		return nil
	})
}

func solve(ctx context.Context, self *actors.Self, solved bool) error {
	_, err := actors.UpdateState(ctx, self.Ref, func(t *ticket) error {
		t.Solved = solved
		return nil
	})
	return err
}

func main() {
	m, _, err := env.Model(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	node.Main(desk(m))
}
