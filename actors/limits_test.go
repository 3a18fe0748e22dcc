package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func TestWhatIsNotUTF8IsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := handler(func(_ context.Context, turn *actors.Turn) error {
			if err := turn.Stream.Text("a\xffb"); err != nil {
				return err
			}
			return actors.Errorf("bad \xff")
		})
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		end := h.Await(r.Address(), ended("r1")).(feed.Ended)
		require.Equal(t, "bad \uFFFD", end.Text)
		require.Equal(t, "assistant: a\uFFFDb", conversation(t, r)[1])
		goesOn(t, h, r)
		_, err := h.Agent(agent, "room\xff").Chat(t.Context(), "hi")
		var e *actors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, actors.BadRequest, e.Code)
	})
}

func TestAWriteMaySplitACharacter(t *testing.T) {
	const text = "naïve 世界 🦦 end"
	agent := handler(func(_ context.Context, turn *actors.Turn) error {
		for i := range len(text) {
			if n, err := turn.Stream.Write([]byte{text[i]}); n != 1 || err != nil {
				return fmt.Errorf("wrote %d: %w", n, err)
			}
		}
		_, err := turn.Stream.Write([]byte("🦦"[:2])) // and then no more
		return err
	})
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	h.Await(r.Address(), ended("r1"))
	got := conversation(t, r)[1]
	require.True(t, utf8.ValidString(got))
	require.Equal(t, "assistant: "+text+"\uFFFD", got)
}

func TestAChunkThatClientsWouldFailOnIsRefused(t *testing.T) {
	agent := handler(func(_ context.Context, turn *actors.Turn) error {
		err := turn.Stream.Chunk(uimessage.Chunk{Type: "text-delta", ID: "never", Delta: "x"})
		var e *uimessage.SequenceError
		if !errors.As(err, &e) {
			return fmt.Errorf("got %w", err)
		}
		return turn.Stream.Text("all the same")
	})
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
	require.Equal(t, feed.Completed, h.Await(r.Address(), ended("r1")).(feed.Ended).Outcome)
	require.Equal(t, "assistant: all the same", conversation(t, r)[1])
}

func TestAMistakeInAnAgentPanicsWithItsAndTheFieldsName(t *testing.T) {
	ok := func(context.Context, *actors.Turn) error { return nil }
	m := scripted.Sequence()
	for text, agents := range map[string][]*actors.Agent{
		`agent "": Name must match`:                {{OnChatMessage: ok}},
		`agent "lower": Name must match`:           {{Name: "lower", OnChatMessage: ok}},
		`agent "A/B": Name must match`:             {{Name: "A/B", OnChatMessage: ok}},
		`agent "A": OnChatResponse needs Model or`: {{Name: "A", OnChatResponse: func(context.Context, *actors.Self, actors.ChatResponse) error { return nil }}},
		`agent "A": OnChatMessage is set together`: {{Name: "A", OnChatMessage: ok, Model: m}},
		`agent "A": Instructions needs Model`:      {{Name: "A", OnChatMessage: ok, Instructions: "x"}},
		`agent "A": PassivateAfter is negative`:    {{Name: "A", OnChatMessage: ok, PassivateAfter: -1}},
		`agent "A": HookTimeout is negative`:       {{Name: "A", OnChatMessage: ok, HookTimeout: -1}},
		`agent "A": MaxOutputTokens is negative`:   {{Name: "A", Model: m, MaxOutputTokens: -1}},
		`agent "A": MaxQueuedTurns is negative`:    {{Name: "A", OnChatMessage: ok, MaxQueuedTurns: -1}},
		`agent "A": InitialState is no JSON`:       {{Name: "A", InitialState: ok}},
		`agent "A": InitialState has 1048577 byte`: {{Name: "A", InitialState: strings.Repeat("x", 1<<20-1)}},
		`agent "A": MaxStateBytes is -1; 0 to`:     {{Name: "A", MaxStateBytes: -1}},
		`agent "A": MaxStateBytes is 12582913; 0`:  {{Name: "A", MaxStateBytes: 12<<20 + 1}},
		`agent "A": Recovery has a negative limit`: {{Name: "A", OnChatMessage: ok, Recovery: actors.Recovery{MaxCrashes: -1}}},
		`agent "A": StallTimeout is negative`:      {{Name: "A", OnChatMessage: ok, StallTimeout: -1}},
		`agent "A": MessageConcurrency has an unknown Strategy "fifo"; known are "", "debounce", "drop", "latest", "merge", "queue"`: {
			{Name: "A", OnChatMessage: ok, MessageConcurrency: actors.Concurrency{Strategy: "fifo"}}},
		`agent "A": MessageConcurrency has a negative Debounce: -1ns`: {
			{Name: "A", OnChatMessage: ok, MessageConcurrency: actors.Concurrency{Strategy: actors.ConcurrencyDebounce, Debounce: -1}}},
		`agent "A": MessageConcurrency has a Debounce of 1ns; the least is 1ms`: {
			{Name: "A", OnChatMessage: ok, MessageConcurrency: actors.Concurrency{Strategy: actors.ConcurrencyDebounce, Debounce: 1}}},
		`agent "A": MessageConcurrency has a Debounce of 1s, which Strategy "drop" does not use`: {
			{Name: "A", OnChatMessage: ok, MessageConcurrency: actors.Concurrency{Strategy: actors.ConcurrencyDrop, Debounce: time.Second}}},
		`agent "A": Name is registered twice`:  {{Name: "A", OnChatMessage: ok}, {Name: "A", OnChatMessage: ok}},
		`RuntimeConfig.Agents is empty`:        {},
		`RuntimeConfig.Agents has a nil agent`: {nil},
	} {
		t.Run(text, func(t *testing.T) {
			defer func() { require.Contains(t, fmt.Sprint(recover()), text) }()
			actors.NewRuntime(actors.RuntimeConfig{Store: memory.Open(memory.Config{}), Agents: agents})
		})
	}
}

func TestAnAgentThatCannotBeAddressedIsRefused(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	for name, code := range map[string]actors.Code{"": actors.BadRequest, strings.Repeat("x", 513): actors.BadRequest} {
		_, err := h.Agent(agent, name).Chat(t.Context(), "hi")
		var e *actors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, code, e.Code)
	}
	require.Panics(t, func() { h.Agent(echo(), "room") }, "of a class that is not registered")
}

func TestAnAnswerThatIsTooLongIsRefusedWithinItsTurn(t *testing.T) {
	mebibyte := strings.Repeat("<", 1<<20)
	for kind, agent := range map[string]*actors.Agent{
		"handler": handler(func(_ context.Context, turn *actors.Turn) error {
			for range 20 {
				if err := turn.Stream.Text(mebibyte); err != nil {
					return err
				}
			}
			return nil
		}),
		"model": talker(func(model.Request) scripted.Answer {
			var answer scripted.Answer
			for range 20 {
				answer = append(answer, scripted.Text{Pieces: []string{mebibyte}})
			}
			return answer
		}),
	} {
		t.Run(kind, func(t *testing.T) {
			h := actorstest.New(t, agent)
			r := h.Agent(agent, "room")
			require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
			end := h.Await(r.Address(), ended("r1")).(feed.Ended)
			require.Equal(t, feed.Errored, end.Outcome)
			require.Equal(t, "The answer is too long: at most 8 MiB can be stored.", end.Text)
			require.Zero(t, h.Lost(r.Address()))
			messages, err := r.Messages(t.Context())
			require.NoError(t, err)
			whole, err := r.Message(t.Context(), messages[1].ID)
			require.NoError(t, err)
			require.Equal(t, 7<<20, len(textOf(whole)), "what fits is kept")
			require.Less(t, len(textOf(messages[1])), 1_800_000, "and shown compacted")
		})
	}
}

func TestMessagesThatAreTooLargeAreRefused(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	text := strings.Repeat("x", 12<<20+1)
	_, chat := r.Chat(t.Context(), text)
	for _, err := range []error{chat, r.Submit(t.Context(), submit("r1", text)), r.SetMessages(t.Context(), "", submit("r1", text).Messages), r.PersistMessages(t.Context(), submit("r1", text).Messages)} {
		var e *actors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, actors.BadRequest, e.Code)
		require.Regexp(t, `^messages have 125829\d\d|12583\d\d\d bytes; the limit is 12582912$`, e.Message)
	}
	require.Empty(t, conversation(t, r))
}

func TestAChunkThatIsNoJSONIsRefused(t *testing.T) {
	for name, c := range map[string]uimessage.Chunk{
		"value":       {Type: "data-x", ID: "1", Data: json.RawMessage("{broken")},
		"extra field": {Type: "custom", Kind: "a.b", Extra: map[string]json.RawMessage{"x": json.RawMessage("]")}},
		"metadata":    {Type: "text-delta", ID: "t", Delta: "x", ProviderMetadata: json.RawMessage("nope")},
		"no type":     {},
	} {
		t.Run(name, func(t *testing.T) {
			agent := handler(func(_ context.Context, turn *actors.Turn) error {
				if err := turn.Stream.Chunk(uimessage.Chunk{Type: "text-start", ID: "t"}); err != nil {
					return err
				}
				var e *uimessage.InvalidError
				if err := turn.Stream.Chunk(c); !errors.As(err, &e) {
					return fmt.Errorf("got %w", err)
				}
				return turn.Stream.Text("all the same")
			})
			h := actorstest.New(t, agent)
			r := h.Agent(agent, "room")
			require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
			require.Equal(t, feed.Completed, h.Await(r.Address(), ended("r1")).(feed.Ended).Outcome)
			for _, item := range h.Items(r.Address()) {
				if c, ok := item.(feed.Chunk); ok {
					require.True(t, json.Valid(c.Body))
				}
			}
		})
	}
}
