package main

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

func TestATeamAsksItsExperts(t *testing.T) {
	team, expert := agents(scripted.New(func(model.Request) scripted.Answer { return scripted.Say("It depends.") }))
	h := actorstest.New(t, team, expert)
	ctx, acme := t.Context(), h.Agent(team, "acme")

	answer, err := acme.Chat(ctx, "May we?")
	require.NoError(t, err)
	require.EqualError(t, answer.Err, "This team has no experts yet: hire one.")

	require.NoError(t, acme.Call(ctx, "hire", nil, "taxes"))
	require.NoError(t, acme.Call(ctx, "hire", nil, "law & order"))
	answer, err = acme.Chat(ctx, "May we?")
	require.NoError(t, err)
	require.Equal(t, actors.StatusCompleted, answer.Status)
	said := map[string]string{}
	for _, p := range answer.Message.Parts {
		said[p.ID] = string(p.Data)
	}
	require.Equal(t, `"It depends."`, said["taxes"])
	require.Equal(t, `"It depends."`, said["law & order"])

	h.Crash()
	taxes, err := h.Agent(team, "acme").SubAgent(ctx, expert, "taxes")
	require.NoError(t, err)
	remembers, err := taxes.Messages(ctx)
	require.NoError(t, err)
	require.Len(t, remembers, 2)
}

func TestOnlyHiredExpertsCanBeReached(t *testing.T) {
	team, expert := agents(scripted.Demo())
	h := actorstest.New(t, team, expert)
	ctx, acme := t.Context(), h.Agent(team, "acme")
	knock := func(field string) error {
		return h.Enter(ctx, httptest.NewRequest("GET", "/", nil), acme.Address(), acme.Address().Child("Expert", field))
	}
	require.NoError(t, acme.Call(ctx, "hire", nil, "taxes"))
	require.NoError(t, knock("taxes"))
	require.EqualError(t, knock("magic"), "The team has no such expert.")
	require.NoError(t, acme.Call(ctx, "dismiss", nil, "taxes"))
	require.Error(t, knock("taxes"))
	var names []string
	require.NoError(t, acme.Call(ctx, "experts", &names))
	require.Empty(t, names)
}
