package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestWhatEndsALoop(t *testing.T) {
	for name, c := range map[string]struct {
		agent  actors.Agent
		asked  int
		status actors.Status
		text   string
	}{
		"10 steps":  {actors.Agent{}, 10, actors.StatusCompleted, ""},
		"MaxSteps":  {actors.Agent{MaxSteps: 3}, 3, actors.StatusCompleted, ""},
		"StopWhen":  {actors.Agent{StopWhen: func(s []actors.StepResult) bool { return len(s) == 2 }}, 2, actors.StatusCompleted, ""},
		"tokens":    {actors.Agent{Budget: actors.Budget{Turn: actors.Limits{Tokens: 3}}}, 3, actors.StatusError, "The answer has used up its budget of 3 tokens."},
		"repeating": {actors.Agent{Budget: actors.Budget{RepeatedCalls: 4}}, 4, actors.StatusError, "The assistant went round in circles and was stopped."},
		"money": {actors.Agent{Budget: actors.Budget{
			Turn: actors.Limits{Money: 1}, Price: func(string, model.Usage) float64 { return 0.5 },
		}}, 2, actors.StatusError, "The answer has used up its budget of 1."},
		"Allow": {actors.Agent{Budget: actors.Budget{Allow: func(_ context.Context, _ *actors.Self, s actors.Spending) error {
			if s.Steps == 2 {
				return actors.Errorf("You have no credit left.")
			}
			return nil
		}}}, 2, actors.StatusError, "You have no credit left."},
	} {
		t.Run(name, func(t *testing.T) {
			m := plays(append(calls(`c weather {}`), scripted.Finish{Usage: model.Usage{Output: 1}}))
			agent := c.agent
			agent.Model, agent.Tools = m.model(), []actors.Tool{weather()}
			answer, _ := chatWith(t, &agent)
			require.Equal(t, c.status, answer.Status)
			require.Len(t, m.requests(), c.asked)
			if c.text != "" {
				require.EqualError(t, answer.Err, c.text)
			}
		})
	}
}

func TestBeforeTurnChangesATurn(t *testing.T) {
	m, other := plays(scripted.Say("no")), plays(calls(`c1 place {}`), scripted.Say("yes"))
	warm := 0.5
	turns := 0
	answer, _ := chatWith(t, &actors.Agent{
		Model: m.model(), Instructions: "Old.", Tools: []actors.Tool{weather()},
		BeforeTurn: func(_ context.Context, turn *actors.TurnContext) (actors.TurnConfig, error) {
			turns++
			require.False(t, turn.Continuation)
			require.Equal(t, "go", turn.Messages[0].Content[0].Text)
			require.Equal(t, "weather", turn.Tools[0].Name)
			place := actors.ToolOf("place", func(context.Context, *actors.ToolCall, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`"Oslo"`), nil
			})
			return actors.TurnConfig{
				Model: other.model(), Instructions: "New.", Tools: []actors.Tool{place}, ActiveTools: []string{"place"}, ToolChoice: "required",
				Temperature: &warm, MaxOutputTokens: 7,
			}, nil
		},
	})
	require.Equal(t, "yes", answer.Text())
	require.Equal(t, 1, turns)
	require.Empty(t, m.requests())
	q := other.requests()[1]
	require.Equal(t, "New.", q.Instructions)
	require.Equal(t, "required", q.ToolChoice)
	require.Equal(t, int64(7), q.MaxOutputTokens)
	require.InDelta(t, warm, *q.Temperature, 0)
	require.Len(t, q.Tools, 1)
	require.Equal(t, "place", q.Tools[0].Name)
}

func TestPrepareStepChangesAStep(t *testing.T) {
	m, other := plays(calls(`c1 weather {}`), scripted.Say("no")), plays(scripted.Say("yes"))
	answer, _ := chatWith(t, &actors.Agent{
		Model: m.model(), Instructions: "Old.", Tools: []actors.Tool{weather()},
		PrepareStep: func(_ context.Context, step *actors.StepContext) (actors.StepConfig, error) {
			if step.Step == 1 {
				return actors.StepConfig{ToolChoice: "weather"}, nil
			}
			require.Equal(t, "weather", step.Steps[0].Calls[0].Tool)
			require.JSONEq(t, `{"for":{}}`, string(step.Steps[0].Calls[0].Output))
			return actors.StepConfig{Model: other.model(), Instructions: "New.", ActiveTools: []string{}, ToolChoice: "none", Messages: step.Messages[:1]}, nil
		},
	})
	require.Equal(t, "yes", answer.Text())
	require.Equal(t, "weather", m.requests()[0].ToolChoice)
	q := other.requests()[0]
	require.Equal(t, []any{"New.", "none", 0, 1}, []any{q.Instructions, q.ToolChoice, len(q.Tools), len(q.Messages)})
}

func TestAfterStepIsToldOfEachStepWithItsResults(t *testing.T) {
	m := plays(calls(`c1 weather {}`), scripted.Say("done"))
	var told []string
	chatWith(t, &actors.Agent{
		Model: m.model(), Tools: []actors.Tool{weather()},
		AfterStep: func(_ context.Context, _ *actors.Self, s actors.StepResult) error {
			line := fmt.Sprintf("%s %s", s.Reason, s.Text)
			for _, c := range s.Calls {
				line += c.ID + " " + string(c.Output)
			}
			told = append(told, line)
			return nil
		},
	})
	require.Equal(t, []string{`tool-calls c1 {"for":{}}`, "stop done"}, told)
}

func TestOnChunkSeesAllParts(t *testing.T) {
	m := plays(calls(`c1 weather {}`), scripted.Say("done"))
	var parts []string
	chatWith(t, &actors.Agent{
		Model: m.model(), Tools: []actors.Tool{weather()},
		OnChunk: func(_ context.Context, c actors.ChunkInfo) {
			parts = append(parts, fmt.Sprintf("%d %T", c.Step, c.Part))
		},
	})
	require.Equal(t, []string{
		"1 model.ToolInputStart", "1 model.ToolInputDelta", "1 model.ToolCall", "1 model.FinishPart",
		"2 model.TextStart", "2 model.TextDelta", "2 model.TextEnd", "2 model.FinishPart",
	}, parts)
}

func TestPruneMessagesShapesWhatTheModelSees(t *testing.T) {
	m := plays(calls(`c1 weather {}`), scripted.Say("done"))
	chatWith(t, &actors.Agent{
		Model: m.model(), Tools: []actors.Tool{weather()},
		PruneMessages: func(messages []model.Message) []model.Message { return messages[:1] },
	})
	require.Len(t, m.requests()[1].Messages, 1)
}

func TestAClientsToolTakesThePlaceOfTheAgents(t *testing.T) {
	m := plays(calls(`c1 weather {}`))
	agent := &actors.Agent{Name: "Looper", Model: m.model(), Tools: []actors.Tool{weather()}}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	s := submit("r1", "hi")
	s.ClientTools = json.RawMessage(`[{"name":"weather","description":"Mine."},{"name":"bad name"},{"name":"place","parameters":{"type":"object"}}]`)
	require.NoError(t, r.Submit(t.Context(), s))
	h.Await(r.Address(), ended("r1"))
	q := m.requests()[0]
	require.Len(t, q.Tools, 2)
	require.Equal(t, "Mine.", q.Tools[0].Description)
	require.JSONEq(t, `{"type":"object"}`, string(q.Tools[0].Schema))
}

func TestGenerateInAHandler(t *testing.T) {
	m := plays(calls(`c1 weather {}`), scripted.Say("cold"), scripted.Say("again"))
	answer, h := chatWith(t, &actors.Agent{Tools: []actors.Tool{weather()}, OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		g, err := turn.Generate(ctx, actors.Generation{Model: m.model(), Instructions: "Tell."})
		if err != nil {
			return err
		}
		require.Equal(t, "cold", g.Text)
		require.Len(t, g.Steps, 2)
		require.JSONEq(t, `{"for":{}}`, string(g.Steps[0].Calls[0].Output))
		g, err = turn.Generate(ctx, actors.Generation{Model: m.model()})
		require.Equal(t, "again", g.Text)
		return err
	}})
	require.Equal(t, "coldagain", answer.Text())
	require.Equal(t, "Tell.", m.requests()[0].Instructions)
	require.Equal(t, []string{
		"start", "start-step", "tool-input-start c1", "tool-input-available c1", "tool-output-available c1", "finish-step",
		"start-step", "text-start", "text-end", "finish-step", "start-step", "text-start", "text-end", "finish-step", "finish",
	}, shownChunks(t, h))
}

func TestGenerateTellsTheHandlerOfAFailure(t *testing.T) {
	refused := &model.Error{Cause: model.Refused, Public: "The model is on strike.", Err: errCable}
	var failure error
	answer, _ := chatWith(t, &actors.Agent{OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		_, err := turn.Generate(ctx, actors.Generation{})
		require.EqualError(t, err, "actors: Generation.Model is not set")
		_, failure = turn.Generate(ctx, actors.Generation{Model: plays(scripted.Answer{scripted.Fail{Err: refused}}).model()})
		return failure
	}})
	require.EqualError(t, failure, "The model is on strike.")
	require.EqualError(t, answer.Err, "The model is on strike.")
}

func TestAStopReachesARunningTool(t *testing.T) {
	m := plays(calls(`c1 wait {}`))
	runs, over := make(chan struct{}), make(chan error, 1)
	wait := actors.ToolOf("wait", func(ctx context.Context, _ *actors.ToolCall, _ json.RawMessage) (json.RawMessage, error) {
		close(runs)
		<-ctx.Done()
		over <- context.Cause(ctx)
		return nil, errors.New("stopped")
	})
	agent := &actors.Agent{Name: "Looper", Model: m.model(), Tools: []actors.Tool{wait}}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	<-runs
	require.NoError(t, r.AbortRequest(t.Context(), "r1"))
	require.ErrorIs(t, <-over, actors.ErrTurnOver)
	h.Await(r.Address(), ended("r1"))
	require.Equal(t, feed.Aborted, endings(t, h, r.Address())["r1"])
}
