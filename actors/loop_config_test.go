package actors_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// recorder is a model that plays answers and keeps what it was asked.
type recorder struct {
	mu      sync.Mutex
	asked   []model.Request
	answers []scripted.Answer
}

func (r *recorder) model() model.Model {
	return scripted.New(func(q model.Request) scripted.Answer {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked = append(r.asked, q)
		if len(r.asked) > len(r.answers) {
			return r.answers[len(r.answers)-1]
		}
		return r.answers[len(r.asked)-1]
	})
}

func (r *recorder) requests() []model.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]model.Request(nil), r.asked...)
}

func plays(answers ...scripted.Answer) *recorder { return &recorder{answers: answers} }

// chatWith asks an agent that has tools and returns its answer.
func chatWith(t *testing.T, agent *actors.Agent) (actors.ChatResponse, *actorstest.Harness) {
	t.Helper()
	agent.Name = "Looper"
	h := actorstest.New(t, agent)
	answer, err := h.Agent(agent, "room").Chat(t.Context(), "go")
	require.NoError(t, err)
	return answer, h
}

func TestAHookThatFailsEndsTheTurn(t *testing.T) {
	failure := actors.Errorf("Not today.")
	for name, agent := range map[string]*actors.Agent{
		"BeforeTurn": {BeforeTurn: func(context.Context, *actors.TurnContext) (actors.TurnConfig, error) {
			return actors.TurnConfig{}, failure
		}},
		"PrepareStep": {PrepareStep: func(context.Context, *actors.StepContext) (actors.StepConfig, error) {
			return actors.StepConfig{}, failure
		}},
		"AfterStep": {AfterStep: func(context.Context, *actors.Self, actors.StepResult) error { return failure }},
	} {
		t.Run(name, func(t *testing.T) {
			m := plays(scripted.Say("hi"))
			agent.Model = m.model()
			answer, _ := chatWith(t, agent)
			require.EqualError(t, answer.Err, "Not today.")
			require.Equal(t, name == "AfterStep", len(m.requests()) == 1, "the model was asked")
		})
	}
}

func TestOnModelErrorGivesTheTextForVisitors(t *testing.T) {
	refused := &model.Error{Cause: model.Refused, Err: errCable}
	answer, _ := chatWith(t, &actors.Agent{
		Model: plays(scripted.Answer{scripted.Fail{Err: refused}}).model(),
		OnModelError: func(_ context.Context, e actors.ModelError) string {
			require.ErrorIs(t, e.Err, errCable)
			return "The model said: " + string(e.Cause)
		},
	})
	require.EqualError(t, answer.Err, "The model said: refused")
}

func TestAMistakeInToolsAndBudgetsIsToldAtRegistration(t *testing.T) {
	m := plays(scripted.Say("")).model()
	for want, agent := range map[string]*actors.Agent{
		`actors: agent "A": Tools [0] "a b": its name must match ^[A-Za-z0-9_-]{1,64}$`:    {Tools: []actors.Tool{{Name: "a b"}}},
		`actors: agent "A": Tools has "a" twice`:                                           {Tools: []actors.Tool{{Name: "a"}, {Name: "a"}}},
		`actors: agent "A": Tools [0] "a": its schema is not a JSON object`:                {Tools: []actors.Tool{{Name: "a", Schema: json.RawMessage(`[]`)}}},
		`actors: agent "A": Tools [0] "a": its schema is of type "string", not object`:     {Tools: []actors.Tool{{Name: "a", Schema: json.RawMessage(`{"type":"string"}`)}}},
		`actors: agent "A": MaxSteps is negative: -1`:                                      {MaxSteps: -1},
		`actors: agent "A": AnswerTimeout is negative: -1ns`:                               {AnswerTimeout: -1},
		`actors: agent "A": Compact has a negative KeepMessages: -1`:                       {Compact: &actors.Compaction{KeepMessages: -1}},
		`actors: agent "A": Budget has negative RepeatedCalls: -1`:                         {Budget: actors.Budget{RepeatedCalls: -1}},
		`actors: agent "A": Budget has RepeatedCalls 1: no call is a repetition by itself`: {Budget: actors.Budget{RepeatedCalls: 1}},
		`actors: agent "A": Budget has Turn.Money, which needs Price`:                      {Budget: actors.Budget{Turn: actors.Limits{Money: 1}}},
		`actors: agent "A": Budget has a negative limit: {Tokens:-1 Money:0 Time:0s}`:      {Budget: actors.Budget{Turn: actors.Limits{Tokens: -1}}},
	} {
		agent.Name, agent.Model = "A", m
		require.PanicsWithValue(t, want, func() { actorstest.New(t, agent) })
	}
	require.PanicsWithValue(t, `actors: agent "A": Tools needs Model or OnChatMessage`, func() {
		actorstest.New(t, &actors.Agent{Name: "A", Tools: []actors.Tool{{Name: "a"}}})
	})
}
