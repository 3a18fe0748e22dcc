package actors_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// What a handler is given, and what the hook is told of its turn.

func TestATurnHasItsRequestAndTheConversation(t *testing.T) {
	var turns []*actors.Turn
	agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		turns = append(turns, turn)
		return turn.Stream.Text("yes")
	}}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	first := submit("r1", "one")
	first.Body = json.RawMessage(`{"a":1}`)
	for _, s := range []feed.Submit{first, submit("r2", "two")} {
		require.NoError(t, r.Submit(t.Context(), s))
		h.Await(r.Address(), ended(s.Request))
	}
	saved, err := r.SaveMessages(t.Context(), []uimessage.Message{asking("three")})
	require.NoError(t, err)
	continued, err := r.ContinueLastTurn(t.Context(), nil)
	require.NoError(t, err)

	require.Len(t, turns, 4)
	for i, want := range []struct{ request, body, conversation string }{
		{"r1", `{"a":1}`, "one"},
		{"r2", "", "one yes two"},
		{saved.RequestID, "", "one yes two yes three"},
		{continued.RequestID, "", "one yes two yes three yes"},
	} {
		var said []string
		for _, m := range turns[i].Messages {
			said = append(said, textOf(m))
		}
		require.Equal(t, want.request, turns[i].RequestID)
		require.Equal(t, want.body, string(turns[i].Body))
		require.Equal(t, want.conversation, strings.Join(said, " "))
		require.Equal(t, i == 3, turns[i].Continuation)
	}
	require.NotEmpty(t, saved.RequestID)
	require.NotEqual(t, saved.RequestID, continued.RequestID)
}

// A handler may tell of a failure in its own words before it has said anything.
func TestAFrameOfTheHandlersComesBeforeItsStream(t *testing.T) {
	agent := &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		turn.Stream.Empty()
		return turn.Self.BroadcastJSON(ctx, map[string]any{"type": "cf_agent_use_chat_response", "id": turn.RequestID, "body": "no", "error": true, "done": false})
	}}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	h.Await(r.Address(), ended("r1"))
	require.Equal(t, []string{"Loaded", "Transcript", "Accepted", "Cast", "Ended"}, describe(h.Items(r.Address())))
}

func TestTheHookIsToldTheWholeAnswer(t *testing.T) {
	for kind, answer := range map[string]func(*actors.Stream) error{
		"plain text": func(s *actors.Stream) error { _, err := s.Write([]byte("Hello")); return err },
		"chunks":     func(s *actors.Stream) error { return s.Text("Hello") },
	} {
		t.Run(kind, func(t *testing.T) {
			heard := &told{}
			agent := &actors.Agent{Name: "Echo", OnChatResponse: heard.hook, OnChatMessage: func(_ context.Context, turn *actors.Turn) error { return answer(turn.Stream) }}
			h := actorstest.New(t, agent)
			r := h.Agent(agent, "room")
			require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
			require.NoError(t, r.WaitUntilStable(t.Context()))
			require.Equal(t, []string{"r1 completed"}, heard.lines())
			require.Equal(t, "Hello", heard.list[0].Text())
			require.False(t, heard.list[0].Continuation)
		})
	}
}

func TestTheHookIsToldOfAContinuationThatFailsBeforeItSpeaks(t *testing.T) {
	heard := &told{}
	agent := &actors.Agent{Name: "Echo", OnChatResponse: heard.hook, OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		if turn.Continuation {
			return actors.Errorf("no more")
		}
		return turn.Stream.Text("yes")
	}}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	_, err := r.Chat(t.Context(), "hi")
	require.NoError(t, err)
	_, err = r.ContinueLastTurn(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, r.WaitUntilStable(t.Context()))
	require.Len(t, heard.list, 2)
	last := heard.list[1]
	require.Equal(t, actors.StatusError, last.Status)
	require.EqualError(t, last.Err, "no more")
	require.True(t, last.Continuation)
	require.Equal(t, []string{"user: hi", "assistant: yes"}, conversation(t, r))
}

func TestAHookThatFailsHidesNoErrorOfTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &actors.Agent{Name: "Echo",
			OnChatMessage:  func(context.Context, *actors.Turn) error { return actors.Errorf("the oven is cold") },
			OnChatResponse: func(context.Context, *actors.Self, actors.ChatResponse) error { return errCable },
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		pass(time.Hour)
		require.Equal(t, map[string]feed.Outcome{"r1": feed.Errored}, endings(t, h, r.Address()))
		require.Equal(t, "the oven is cold", h.Await(r.Address(), ended("r1")).(feed.Ended).Text)
		response, err := r.Chat(t.Context(), "again")
		require.NoError(t, err)
		require.EqualError(t, response.Err, "the oven is cold")
	})
}
