package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestATeamAsksItsExperts(t *testing.T) {
	team, expert := agents(scripted.New(func(model.Request) scripted.Answer { return scripted.Say("It depends.") }))
	h := actorstest.New(t, team, expert)
	ctx, acme := t.Context(), h.Agent(team, "acme")

	answer, err := acme.Chat(ctx, "May we?")
	require.NoError(t, err)
	require.EqualError(t, answer.Err, "This team has no experts yet. Say: hire taxes")
	for _, said := range []string{"hire taxes", "hire law & order", "May we?"} {
		answer, err = acme.Chat(ctx, said)
		require.NoError(t, err)
		require.NoError(t, answer.Err)
	}
	require.Equal(t, "**taxes**: It depends.\n\n**law & order**: It depends.\n\n", answer.Text())

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
	_, err := acme.Chat(ctx, "hire taxes")
	require.NoError(t, err)
	require.NoError(t, knock("taxes"))
	require.ErrorContains(t, knock("magic"), "The team has no such expert.")
	require.NoError(t, acme.Call(ctx, "dismiss", nil, "taxes"))
	require.Error(t, knock("taxes"))
	var names []string
	require.NoError(t, acme.Call(ctx, "experts", &names))
	require.Empty(t, names)
}

func TestAnAnswerThatACrashCutsOffGoesOnWithTheNextExpert(t *testing.T) {
	team, expert := agents(scripted.New(func(model.Request) scripted.Answer {
		return scripted.Answer{scripted.Text{Pieces: scripted.Words("It depends on this and that."), Every: 20 * time.Millisecond}}
	}))
	h := actorstest.New(t, team, expert)
	ctx, acme := t.Context(), h.Agent(team, "acme")
	for _, field := range []string{"taxes", "law"} {
		_, err := acme.SubAgent(ctx, expert, field)
		require.NoError(t, err)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := acme.Chat(ctx, "May we?")
		asked <- err
	}()
	h.Await(acme.Address(), func(item feed.Item) bool {
		chunk, ok := item.(feed.Chunk)
		return ok && strings.Contains(string(chunk.Body), "**taxes**")
	})
	h.Crash()
	require.ErrorIs(t, <-asked, actors.ErrInterrupted)
	acme = h.Agent(team, "acme")
	require.NoError(t, acme.WaitUntilStable(ctx))
	answer, err := acme.Messages(ctx)
	require.NoError(t, err)
	require.Len(t, answer, 2)
	text := actors.ChatResponse{Message: answer[1]}.Text()
	require.Equal(t, "**taxes**: It depends on this and that.\n\n**law**: It depends on this and that.\n\n", text)
}
