package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func TestALoopAsksTheModelUntilItCallsNothing(t *testing.T) {
	inner := plays(calls(`c1 echo {"to":"Ann","amount":1}`, `c2 echo {"to":"Bea"}`), scripted.Say("both done"))
	got, err := actors.Loop{
		Model: inner.model(), Instructions: "Pay.", Tools: []actors.Tool{echoing[payment]()},
	}.Generate(t.Context(), "Pay them.")
	require.NoError(t, err)
	require.Equal(t, "both done", got.Text)
	require.Equal(t, model.Stop, got.Reason)
	require.Len(t, got.Steps, 2)
	require.Equal(t, []actors.CallResult{
		{ID: "c1", Tool: "echo", Input: json.RawMessage(`{"to":"Ann","amount":1}`), State: uimessage.OutputAvailable, Output: json.RawMessage(`{"to":"Ann","amount":1}`)},
		{ID: "c2", Tool: "echo", Input: json.RawMessage(`{"to":"Bea"}`), State: uimessage.OutputError, ErrorText: `The input is wrong: required: missing properties: ["amount"]`},
	}, got.Steps[0].Calls)
	asked := inner.requests()
	require.Equal(t, "Pay.", asked[1].Instructions)
	require.Equal(t, "echo", asked[1].Tools[0].Name)
	require.NotEqual(t, asked[0].Key, asked[1].Key)
	require.Equal(t, []string{`c1 {"to":"Ann","amount":1}`, `c2 "The input is wrong: required: missing properties: [\"amount\"]"`}, results(asked[1]))
}

func TestNobodyAnswersForALoop(t *testing.T) {
	never := actors.NewTool("refund", "", func(context.Context, nothing) (int, error) { panic("it has run") }, actors.NeedsApproval(true))
	inner := plays(calls(`c1 place {}`, `c2 refund {}`, `c3 nosuch {}`, `c4 echo [1]`, `c4 echo `), scripted.Say("sorry"))
	_, err := actors.Loop{
		Model: inner.model(), Tools: []actors.Tool{actors.ClientTool("place", "", nil), never, echoing[nothing]()},
	}.Generate(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, []string{
		`c1 "The tool is run by clients, which cannot be asked here."`,
		`c2 "The call needs a person's approval, which cannot be got here."`,
		`c3 "There is no tool named \"nosuch\"."`,
		`c4 "The input is not a JSON object: \"[1]\"."`,
		`c4_2 {}`,
	}, results(inner.requests()[1]))
	for _, c := range inner.requests()[1].Messages[1].Content {
		require.Equal(t, "{}", string(c.Input), "providers refuse what is no object")
	}
}

func TestALoopEnds(t *testing.T) {
	again := calls(`c1 echo {"to":"Ann","amount":1}`)
	overflow := &model.Error{Cause: model.TooLong, Public: "It is too long.", Err: errCable}
	for name, c := range map[string]struct {
		loop    actors.Loop
		answers []scripted.Answer
		steps   int
		want    string // of the error
	}{
		"at its steps":            {actors.Loop{MaxSteps: 2}, nil, 2, ""},
		"at ten steps by default": {actors.Loop{}, nil, 10, ""},
		"when its author says so": {actors.Loop{StopWhen: func(s []actors.StepResult) bool { return len(s) == 3 }}, nil, 3, ""},
		"at its tokens":           {actors.Loop{Budget: actors.Budget{Turn: actors.Limits{Tokens: 1}}}, nil, 1, "The answer has used up its budget of 1 tokens."},
		"when it goes in circles": {actors.Loop{Budget: actors.Budget{RepeatedCalls: 3}}, nil, 3, "The assistant went round in circles and was stopped."},
		"when it may not": {actors.Loop{Budget: actors.Budget{Allow: func(context.Context, *actors.Self, actors.Spending) error { return errCable }}}, nil, 0,
			"Something went wrong while answering. Please try again."},
		"when its model fails": {actors.Loop{}, []scripted.Answer{again, {scripted.Fail{Err: overflow}}}, 1, "It is too long."},
		"without a model":      {actors.Loop{}, []scripted.Answer{}, 0, "actors: Loop.Model is not set"},
		"of wrong tools":       {actors.Loop{Tools: []actors.Tool{{Name: "echo"}, {Name: "echo"}}}, nil, 0, `actors: Loop.Tools has "echo" twice`},
		"of a wrong bound":     {actors.Loop{MaxSteps: -1}, nil, 0, `actors: Loop.MaxSteps is negative: -1`},
		"of a wrong budget":    {actors.Loop{Budget: actors.Budget{RepeatedCalls: 1}}, nil, 0, `actors: Loop.Budget has RepeatedCalls 1: no call is a repetition by itself`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.answers == nil {
				c.answers = []scripted.Answer{again}
			}
			if len(c.answers) > 0 {
				c.loop.Model = plays(c.answers...).model()
			}
			if c.loop.Tools == nil {
				c.loop.Tools = []actors.Tool{echoing[payment]()}
			}
			got, err := c.loop.Generate(t.Context(), "go")
			require.Len(t, got.Steps, c.steps, "what there is comes with the error")
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, model.ToolCalls, got.Reason)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

func TestALoopAsksAgainAfterAPassingFailure(t *testing.T) {
	busy := func(after time.Duration) scripted.Answer {
		return scripted.Answer{scripted.Text{Pieces: []string{"lost "}}, scripted.Fail{Err: &model.Error{Cause: model.Transient, Public: "The model is busy.", RetryAfter: after, Err: errCable}}}
	}
	for name, c := range map[string]struct {
		answers []scripted.Answer
		takes   time.Duration
		want    string
	}{
		"once":            {[]scripted.Answer{busy(0), scripted.Say("here")}, time.Second, ""},
		"as it is told":   {[]scripted.Answer{busy(20 * time.Second), busy(time.Hour), scripted.Say("here")}, 80 * time.Second, ""},
		"not for ever":    {[]scripted.Answer{busy(0)}, 7 * time.Second, "The model is busy."},
		"without its end": {[]scripted.Answer{{}, scripted.Say("here")}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				got, err := actors.Loop{Model: plays(c.answers...).model()}.Generate(t.Context(), "go")
				require.Equal(t, c.takes, time.Since(begun))
				if c.want != "" {
					require.EqualError(t, err, c.want)
					var failed *model.Error
					require.ErrorAs(t, err, &failed)
					return
				}
				require.NoError(t, err)
				require.NotContains(t, got.Text, "lost")
			})
		})
	}
}

// delegates is a tool that gives its work to loops, all at once.
func delegates(loops ...actors.Loop) actors.Tool {
	return actors.NewTool("research", "Researches.", func(ctx context.Context, _ nothing) ([]string, error) {
		found, errs := make([]string, len(loops)), make([]error, len(loops))
		var all sync.WaitGroup
		for i, l := range loops {
			all.Go(func() {
				g, err := l.Generate(ctx, fmt.Sprintf("topic %d", i))
				found[i], errs[i] = g.Text, err
			})
		}
		all.Wait()
		return found, errors.Join(errs...)
	}, actors.Repeatable)
}

func TestOnlyTheResultOfALoopReachesTheConversation(t *testing.T) {
	inner := plays(calls(`c1 echo {"to":"Ann","amount":1}`), scripted.Say("found"))
	outer := plays(calls(`c1 research {}`), scripted.Say("done"))
	answer, _ := chatWith(t, &actors.Agent{Model: outer.model(), Tools: []actors.Tool{
		delegates(actors.Loop{Model: inner.model(), Tools: []actors.Tool{echoing[payment]()}}),
	}})
	require.Equal(t, "done", answer.Text())
	require.Equal(t, []string{`c1 ["found"]`}, results(outer.requests()[1]))
	require.Len(t, inner.requests()[0].Messages, 1, "it knows nothing of the conversation")
}

// preliminary are the preliminary outputs that clients were shown.
func preliminary(t *testing.T, h *actorstest.Harness) []string {
	t.Helper()
	var out []string
	for _, i := range h.Items(feed.Address{Class: "Looper", Name: "room"}) {
		if c, ok := i.(feed.Chunk); ok {
			chunk, err := uimessage.ParseChunk(c.Body)
			require.NoError(t, err)
			if chunk.Preliminary {
				out = append(out, string(chunk.Output))
			}
		}
	}
	return out
}

func TestTheProgressOfALoopIsAPreliminaryResult(t *testing.T) {
	inner := func() model.Model {
		return plays(calls(`c1 echo {"to":"Ann","amount":1}`), scripted.Say("found")).model()
	}
	tools := []actors.Tool{echoing[payment]()}
	run := func(loop actors.Loop) []string {
		_, h := chatWith(t, &actors.Agent{Model: plays(calls(`c1 research {}`), scripted.Say("done")).model(), Tools: []actors.Tool{delegates(loop)}})
		return preliminary(t, h)
	}
	require.Equal(t, []string{
		`{"loops":[{"name":"scout","step":1}]}`,
		`{"loops":[{"name":"scout","step":1}]}`,
		`{"loops":[{"name":"scout","step":1,"running":["echo"]}]}`,
		`{"loops":[{"name":"scout","step":1}]}`,
		`{"loops":[{"name":"scout","step":2}]}`,
		`{"loops":[{"name":"scout","step":2,"text":"found"}]}`,
		`{"loops":[{"name":"scout","step":2,"text":"found","done":true}]}`,
	}, run(actors.Loop{Name: "scout", Model: inner(), Tools: tools}))
	require.Equal(t, []string{`"found"`, `"found"`}, run(actors.Loop{Model: inner(), Tools: tools, Progress: func(p actors.LoopProgress) any {
		if p.Text == "" {
			return nil
		}
		return p.Text
	}}))
	require.Empty(t, run(actors.Loop{Model: inner(), Tools: tools, Progress: func(actors.LoopProgress) any { panic("secret") }}))
}

func TestLoopsInOneCallRunBesideOneAnother(t *testing.T) {
	const n = 3
	var meet sync.WaitGroup
	meet.Add(n)
	wait := actors.NewTool("wait", "", func(context.Context, nothing) (int, error) { meet.Done(); meet.Wait(); return 1, nil })
	loops := make([]actors.Loop, n)
	for i := range loops {
		loops[i] = actors.Loop{Name: fmt.Sprint(i), Model: plays(calls(`c1 wait {}`), scripted.Say(fmt.Sprint("found ", i))).model(), Tools: []actors.Tool{wait}}
	}
	outer := plays(calls(`c1 research {}`), scripted.Say("done"))
	_, h := chatWith(t, &actors.Agent{Model: outer.model(), Tools: []actors.Tool{delegates(loops...)}})
	require.Equal(t, []string{`c1 ["found 0","found 1","found 2"]`}, results(outer.requests()[1]))
	shown := preliminary(t, h)
	require.Equal(t, n, strings.Count(shown[len(shown)-1], `"done":true`), shown[len(shown)-1])
}

func TestALoopCountsForTheTurnsBudget(t *testing.T) {
	costs := func(n int64) scripted.Finish { return scripted.Finish{Usage: model.Usage{Input: n}} }
	inner := func() actors.Loop {
		return actors.Loop{Model: plays(append(calls(`c1 echo {"to":"Ann","amount":1}`), costs(40))).model(), Tools: []actors.Tool{echoing[payment]()}}
	}
	outer := plays(append(calls(`c1 research {}`), costs(10)), append(scripted.Say("done"), costs(10)))
	var spent actors.Spending
	answer, _ := chatWith(t, &actors.Agent{Model: outer.model(), Tools: []actors.Tool{delegates(inner())}, Budget: actors.Budget{
		Turn:  actors.Limits{Tokens: 100},
		Allow: func(_ context.Context, _ *actors.Self, s actors.Spending) error { spent = s; return nil },
	}})
	require.EqualError(t, answer.Err, "The answer has used up its budget of 100 tokens.")
	require.Len(t, outer.requests(), 1)
	require.Equal(t, int64(90), spent.Usage.Input, "the loop was asked for the last time when 90 were spent")

	nested := actors.Loop{Model: plays(append(calls(`c1 research {}`), costs(1)), scripted.Say("done")).model(), Tools: []actors.Tool{delegates(inner())}, Budget: actors.Budget{Turn: actors.Limits{Tokens: 50}}}
	got, err := nested.Generate(t.Context(), "go")
	require.EqualError(t, err, "The answer has used up its budget of 50 tokens.")
	require.Equal(t, "The answer has used up its budget of 50 tokens.", got.Steps[0].Calls[0].ErrorText, "a loop inside a loop counts, too")
}

func TestALoopEndsWithItsTurn(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	stuck := actors.NewTool("wait", "", func(ctx context.Context, _ nothing) (int, error) { close(begun); <-ctx.Done(); return 0, ctx.Err() })
	loop := actors.Loop{Model: plays(calls(`c1 wait {}`)).model(), Tools: []actors.Tool{stuck}}
	research := actors.NewTool("research", "", func(ctx context.Context, _ nothing) (string, error) {
		g, err := loop.Generate(ctx, "go")
		ended <- err
		return g.Text, err
	})
	agent := &actors.Agent{Name: "Looper", Model: plays(calls(`c1 research {}`)).model(), Tools: []actors.Tool{research}}
	h := actorstest.New(t, agent)
	go func() {
		<-begun
		_ = h.Agent(agent, "room").AbortAllRequests(t.Context())
	}()
	answer, err := h.Agent(agent, "room").Chat(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, actors.StatusAborted, answer.Status)
	require.Error(t, <-ended)
}

func TestTheCallsOfALoopHaveKeysThatTheNextAttemptHasToo(t *testing.T) {
	var mu sync.Mutex
	var keys, whose []string
	note := actors.NewTool("note", "", func(ctx context.Context, _ map[string]any) (int, error) {
		c := actors.ToolCallFrom(ctx)
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, c.IdempotencyKey)
		if c.Self != nil {
			whose = append(whose, c.Self.Address().Name)
		}
		return c.Attempt, nil
	})
	inner := func() actors.Loop {
		return actors.Loop{Model: plays(calls(`c1 note {"a":1}`, `c2 note {"a":1}`, `c3 note {"a":2}`), scripted.Say("found")).model(), Tools: []actors.Tool{note}}
	}
	attempt := func(n int) []string {
		keys = nil
		call := &actors.ToolCall{IdempotencyKey: "K", Attempt: n}
		_, err := actors.Execute(t.Context(), delegates(inner(), inner()), call, `{}`)
		require.NoError(t, err)
		slices.Sort(keys)
		return keys
	}
	first := attempt(1)
	require.Len(t, slices.Compact(slices.Clone(first)), 6, "each call has its own")
	require.Equal(t, first, attempt(2))

	chatWith(t, &actors.Agent{Model: plays(calls(`c1 research {}`), scripted.Say("done")).model(), Tools: []actors.Tool{delegates(inner())}})
	require.Equal(t, []string{"room", "room", "room"}, whose)
}
