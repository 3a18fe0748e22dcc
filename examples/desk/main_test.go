package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestStaffTakeATicketThatVisitorsLookAt(t *testing.T) {
	agent := desk(scripted.Demo())
	h := actorstest.New(t, agent)
	ctx, r := t.Context(), h.Agent(agent, "ticket-17")
	open := func(target string) *actorstest.Socket {
		s, err := h.Connect(r, target)
		require.NoError(t, err)
		return s
	}
	visitor, ada, bob := open("?_pk=v"), open("?_pk=a&staff=ada"), open("?_pk=b&staff=bob")

	_, _, err := visitor.Call(ctx, "solve", true)
	require.EqualError(t, err, "Connection is readonly")
	result, _, err := ada.Call(ctx, "take")
	require.NoError(t, err)
	require.JSONEq(t, `{"owner": "ada", "solved": false}`, result)
	_, _, err = bob.Call(ctx, "take")
	require.EqualError(t, err, "ada has taken this ticket already.")
	_, _, err = bob.Call(ctx, "solve", true)
	require.NoError(t, err)

	answer, err := r.Chat(ctx, "count to 3")
	require.NoError(t, err)
	require.Contains(t, answer.Text(), "1, 2, 3")

	h.Crash()
	var after ticket
	require.NoError(t, h.Agent(agent, "ticket-17").State(ctx, &after))
	require.Equal(t, ticket{Owner: "ada", Solved: true}, after)
}

func TestTabsHearWhoIsHere(t *testing.T) {
	agent := desk(scripted.Demo())
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "ticket-17")
	_, err := h.Connect(r, "?_pk=v")
	require.NoError(t, err)
	ada, err := h.Connect(r, "?_pk=a&staff=ada")
	require.NoError(t, err)
	ada.Leave(1000, "")
	var heard []string
	h.Await(r.Address(), func(item feed.Item) bool {
		if frame, ok := item.(feed.Cast); ok {
			heard = append(heard, string(frame.Data))
		}
		return len(heard) == 3
	})
	require.Equal(t, []string{
		`{"staff":0,"tabs":1,"type":"headcount"}`,
		`{"staff":1,"tabs":2,"type":"headcount"}`,
		`{"staff":0,"tabs":1,"type":"headcount"}`,
	}, heard)
}
