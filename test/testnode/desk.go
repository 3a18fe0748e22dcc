package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

type counter struct {
	Count int            `json:"count"`
	Pad   string         `json:"pad,omitempty"`
	Tally map[string]int `json:"tally,omitempty"` // how much of Count is whose
}

// stateAgent is a plain agent with state and methods.
func stateAgent(helper *actors.Agent) *actors.Agent {
	return &actors.Agent{
		Name: "StateAgent", BeforeSubAgent: helperGate, InitialState: counter{}, MaxStateBytes: 4 << 20,
		ValidateState: func(_ context.Context, _ *actors.Self, next json.RawMessage) error {
			var c struct {
				Count float64 `json:"count"`
			}
			if err := json.Unmarshal(next, &c); err != nil || c.Count < 0 {
				return errors.New("count must be >= 0")
			}
			return nil
		},
		Terms: func(_ context.Context, _ *actors.Self, r *http.Request) (actors.Terms, error) {
			q := r.URL.Query()
			return actors.Terms{Readonly: q.Get("readonly") == "1", NoProtocol: q.Get("noproto") == "1"}, nil
		},
		OnMessage: func(_ context.Context, _ *actors.Self, c *actors.Connection, data []byte, binary bool) error {
			got := string(data)
			if binary {
				got = "binary"
			}
			return c.SendJSON(map[string]string{"type": "user-onMessage", "got": got})
		},
		Callable: []actors.Method{
			actors.NewMethod("add", "Adds two numbers.", add, "a", "b"),
			actors.NewMethod("fail", "Fails.", func(context.Context, *actors.Self) error { return actors.Errorf("nope") }),
			actors.NewMethod("nothing", "Returns nothing.", func(context.Context, *actors.Self) error { return nil }),
			actors.NewMethod("slow", "Takes 100 ms.", slow),
			actors.NewMethod("wait", "Waits until its hold is released.", wait, "hold"),
			actors.NewMethod("bump", "Adds 1 to count.", bump),
			actors.NewMethod("tally", "Adds 1 to count on somebody's account, and returns that account.", tally, "who"),
			actors.NewMethod("deleteHelper", "Deletes a sub-agent for good.", deleteHelper(helper), "name"),
			actors.NewMethod("count", "Counts up to n.", count, "n"),
			actors.NewMethod("countErr", "Counts and ends with an error.", countErr("stream failed")),
			actors.NewMethod("countThrow", "Counts and fails.", countErr("threw mid stream")),
			{Name: "notCallable", Internal: true, Func: func(context.Context, *actors.Self) (string, error) { return "hidden", nil }},
		},
	}
}

// add is null without b, as NaN is in JSON.
func add(_ context.Context, _ *actors.Self, a float64, b *float64) (*float64, error) {
	if b == nil {
		return nil, nil
	}
	sum := a + *b
	return &sum, nil
}

func slow(ctx context.Context, _ *actors.Self) (string, error) {
	return "slow-done", sleep(ctx, 100)
}

func wait(ctx context.Context, _ *actors.Self, hold string) error { return held.wait(ctx, hold) }

func bump(ctx context.Context, self *actors.Self) (counter, error) {
	return actors.UpdateState(ctx, self.Ref, func(c *counter) error {
		c.Count++
		return nil
	})
}

func tally(ctx context.Context, self *actors.Self, who string) (int, error) {
	now, err := actors.UpdateState(ctx, self.Ref, func(c *counter) error {
		if c.Tally == nil {
			c.Tally = map[string]int{}
		}
		c.Count++
		c.Tally[who]++
		return nil
	})
	return now.Tally[who], err
}

func deleteHelper(helper *actors.Agent) func(context.Context, *actors.Self, string) error {
	return func(ctx context.Context, self *actors.Self, name string) error {
		return self.DeleteSubAgent(ctx, helper, name)
	}
}

func count(ctx context.Context, _ *actors.Self, reply *actors.Reply, n int) (map[string]int, error) {
	for i := range n {
		if err := reply.Send(map[string]int{"i": i}); err != nil {
			return nil, err
		}
		if err := sleep(ctx, 10); err != nil {
			return nil, err
		}
	}
	return map[string]int{"total": n}, nil
}

func countErr(text string) func(context.Context, *actors.Self, *actors.Reply) error {
	return func(_ context.Context, _ *actors.Self, reply *actors.Reply) error {
		if err := reply.Send(1); err != nil {
			return err
		}
		return actors.Errorf("%s", text)
	}
}

// triggerServerTurn is a turn that no client has asked for.
func triggerServerTurn(ctx context.Context, self *actors.Self, text string) (map[string]string, error) {
	response, err := self.SaveMessages(ctx, []uimessage.Message{{
		ID: "server-user-1", Role: uimessage.User, Parts: []uimessage.Part{{Type: uimessage.TextPart, Text: text}},
	}})
	return map[string]string{"requestId": response.RequestID, "status": string(response.Status)}, err
}

func sleep(ctx context.Context, ms int) error {
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
