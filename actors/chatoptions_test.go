package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// looper is an agent of that model, and a harness with it.
func looper(t *testing.T, m *recorder, tools ...actors.Tool) (*actorstest.Harness, *actors.Agent, *actors.Ref) {
	t.Helper()
	agent := &actors.Agent{Name: "Looper", Model: m.model(), Tools: tools}
	h := actorstest.New(t, agent)
	return h, agent, h.Agent(agent, "room")
}

func place() actors.Tool { return actors.ClientTool("place", "Where the user is.", nil) }

// says is a caller whose callback gives that output.
func says(output any, err error) actors.ChatOptions {
	return actors.ChatOptions{ClientTools: []actors.Tool{place()}, OnClientToolCall: func(context.Context, actors.ClientToolCall) (any, error) {
		return output, err
	}}
}

func TestTheCallerRunsTheModelsCallsWithinOneChat(t *testing.T) {
	m := plays(calls(`c1 place {"n":1}`, `c2 place {"n":2}`), calls(`c3 place {"n":3}`), scripted.Say("there"))
	_, _, r := looper(t, m)
	var both sync.WaitGroup
	both.Add(2)
	var chunks []string
	answer, err := r.Chat(t.Context(), "go", actors.ChatOptions{
		ClientTools: []actors.Tool{place()},
		OnClientToolCall: func(ctx context.Context, call actors.ClientToolCall) (any, error) {
			if call.ID != "c3" { // the two of a step run at once
				both.Done()
				both.Wait()
			}
			return map[string]any{"tool": call.Tool, "id": actors.ToolCallFrom(ctx).ID, "in": call.Input}, nil
		},
		OnChunk: func(c uimessage.Chunk) { chunks = append(chunks, c.Type) },
	})
	require.NoError(t, err)
	require.Equal(t, "there", answer.Text())
	require.Equal(t, []string{
		`c1 {"id":"c1","in":{"n":1},"tool":"place"}`, `c2 {"id":"c2","in":{"n":2},"tool":"place"}`, `c3 {"id":"c3","in":{"n":3},"tool":"place"}`,
	}, results(m.requests()[2]))
	require.Equal(t, []string{"start", "start-step"}, chunks[:2])
	require.Equal(t, "finish", chunks[len(chunks)-1], "all are heard before Chat returns")
	require.Contains(t, chunks, "tool-output-available")
	require.Contains(t, chunks, "text-delta")
}

func TestWhatGoesWrongInTheCallersCallbackIsAToolErrorAndTheTurnGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		options actors.ChatOptions
		told    string
	}{
		"an error":  {says(nil, errors.New("no GPS")), `"no GPS"`},
		"no JSON":   {says(make(chan int), nil), `"The tool's result is not JSON."`},
		"half JSON": {says(json.RawMessage("{"), nil), `"The tool's result is not JSON."`},
		"nothing":   {says(nil, nil), `null`},
		"a panic": {actors.ChatOptions{
			ClientTools:      []actors.Tool{place()},
			OnClientToolCall: func(context.Context, actors.ClientToolCall) (any, error) { panic("no") },
		}, `"The tool has failed."`},
	} {
		t.Run(name, func(t *testing.T) {
			m := plays(calls(`c1 place {}`), scripted.Say("sorry"))
			_, _, r := looper(t, m)
			answer, err := r.Chat(t.Context(), "go", c.options)
			require.NoError(t, err)
			require.Equal(t, "sorry", answer.Text())
			require.Equal(t, []string{"c1 " + c.told}, results(m.requests()[1]))
		})
	}
}

func TestTheCallersToolsAreOfThatTurnAlone(t *testing.T) {
	m := plays(calls(`c1 place {}`), scripted.Say("there"), scripted.Say("again"))
	own := actors.ToolOf("place", func(context.Context, *actors.ToolCall, json.RawMessage) (json.RawMessage, error) {
		return nil, errors.New("the agent's own")
	})
	h, _, r := looper(t, m, own)
	_, err := r.Chat(t.Context(), "go", actors.ChatOptions{
		ClientTools: []actors.Tool{actors.ClientTool("place", "the caller's", json.RawMessage(`{"type":"object"}`), actors.NeedsApproval(true))},
		OnClientToolCall: func(context.Context, actors.ClientToolCall) (any, error) {
			return 1, nil
		},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"c1 1"}, results(m.requests()[1]), "in place of the agent's, and nobody is asked to approve")
	_, err = r.Chat(t.Context(), "go")
	require.NoError(t, err)
	asked := m.requests()
	require.Equal(t, "the caller's", asked[0].Tools[0].Description)
	require.Empty(t, asked[2].Tools[0].Description)
	for _, e := range journal(t, h, r.Address()) {
		require.NotContains(t, e.String(), "the caller's")
	}
}

func TestWithoutACallbackTheCallIsSeenAndTheTurnEndsWithItOpen(t *testing.T) {
	m := plays(calls(`c1 place {"n":1}`), scripted.Say("there"))
	h, _, r := looper(t, m)
	var seen []string
	answer, err := r.Chat(t.Context(), "go", actors.ChatOptions{
		ClientTools: []actors.Tool{place()},
		OnChunk: func(c uimessage.Chunk) {
			if c.Type == "tool-input-available" {
				seen = append(seen, c.ToolCallID+string(c.Input))
			}
		},
	})
	require.NoError(t, err)
	require.Equal(t, actors.StatusCompleted, answer.Status)
	require.Equal(t, []string{`c1{"n":1}`}, seen)
	require.Len(t, m.requests(), 1)
	require.Equal(t, "c1", h.OpenCall(r, "place").ID)
}

func TestWrongChatOptionsAreRefusedAndNothingIsStored(t *testing.T) {
	_, _, r := looper(t, plays(scripted.Say("hi")))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for want, options := range map[string][]actors.ChatOptions{
		`ChatOptions.ClientTools has "place" twice`:                                              {{ClientTools: []actors.Tool{place(), place()}}},
		`ChatOptions.ClientTools [0] "a b": its name must match ^[A-Za-z0-9_-]{1,64}$`:           {{ClientTools: []actors.Tool{{Name: "a b"}}}},
		`ChatOptions.ClientTools [0] "a": its schema is not a JSON object`:                       {{ClientTools: []actors.Tool{{Name: "a", Schema: json.RawMessage(`1`)}}}},
		`ChatOptions.ClientTools [0] "weather": it is the server's; ClientTool makes a client's`: {{ClientTools: []actors.Tool{weather()}}},
		"more than one ChatOptions":                                                              {{}, {}},
	} {
		_, err := r.Chat(t.Context(), "go", options...)
		require.Equal(t, actors.BadRequest, code(t, err))
		require.ErrorContains(t, err, want)
	}
	_, err := r.Chat(over, "go", actors.ChatOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, conversation(t, r))
}

func TestTheEndOfTheCallersContextCancelsTheTurnBehindTheRunningCallback(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := plays(calls(`c1 place {}`, `c2 weather {}`), scripted.Say("never"))
		_, _, r := looper(t, m, weather())
		ctx, cancel := context.WithCancel(t.Context())
		goOn := make(chan struct{})
		var cause error
		done := make(chan actors.ChatResponse, 1)
		go func() {
			answer, err := r.Chat(ctx, "go", actors.ChatOptions{
				ClientTools: []actors.Tool{place()},
				OnClientToolCall: func(ctx context.Context, _ actors.ClientToolCall) (any, error) {
					<-ctx.Done() // it is told, and takes its time
					cause = context.Cause(ctx)
					<-goOn
					return "late", nil
				},
			})
			if err == nil {
				done <- answer
			}
			close(done)
		}()
		synctest.Wait()
		cancel()
		pass(time.Minute)
		require.Empty(t, done, "the callback still runs")
		close(goOn)
		answer := <-done
		require.Equal(t, actors.StatusAborted, answer.Status)
		require.ErrorIs(t, cause, context.Canceled)
		require.Equal(t, "late", string(answer.Message.Parts[1].Output[1:5]), "its outcome is kept")
		require.Len(t, m.requests(), 1, "the model is not asked again")
		require.Equal(t, []string{"user: go", "assistant: "}, conversation(t, r))
	})
}

func TestTheEndOfTheCallersContextCancelsATurnThatAsksTheModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := plays(scripted.Answer{scripted.Text{Pieces: []string{"half"}}, scripted.Hold(make(chan struct{}))})
		_, _, r := looper(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan actors.ChatResponse, 1)
		go func() {
			answer, _ := r.Chat(ctx, "go", says(1, nil))
			done <- answer
		}()
		synctest.Wait()
		cancel()
		answer := <-done
		require.Equal(t, actors.StatusAborted, answer.Status)
		require.Equal(t, "half", answer.Text())
	})
}

func TestACallOfACallerThatARestartCutsOffHasFailed(t *testing.T) {
	for name, stop := range map[string]func(*actorstest.Harness){"a crash": (*actorstest.Harness).Crash, "a stop": (*actorstest.Harness).Restart} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := plays(calls(`c1 place {}`), scripted.Say("sorry"))
				h, agent, r := looper(t, m)
				runs, lost := 0, make(chan error, 1)
				go func() {
					_, err := r.Chat(t.Context(), "go", actors.ChatOptions{
						ClientTools: []actors.Tool{place()},
						OnClientToolCall: func(ctx context.Context, _ actors.ClientToolCall) (any, error) {
							runs++
							<-ctx.Done()
							return nil, ctx.Err()
						},
					})
					lost <- err
				}()
				synctest.Wait()
				stop(h)
				require.ErrorIs(t, <-lost, actors.ErrInterrupted)
				r = h.Agent(agent, "room")
				require.NoError(t, r.WaitUntilStable(t.Context()))
				require.Equal(t, []string{"user: go", "assistant: sorry"}, conversation(t, r))
				require.Equal(t, []string{`c1 "The call was interrupted; its outcome is unknown."`}, results(m.requests()[1]))
				require.Empty(t, m.requests()[1].Tools, "nobody is there to run it")
				require.Equal(t, 1, runs)
				open, err := r.OpenCalls(t.Context())
				require.NoError(t, err)
				require.Empty(t, open)
			})
		})
	}
}

func TestTheCallerStaysTheTurnsClientWhenItIsRecoveredInTheSameProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := plays(scripted.Answer{scripted.Text{Pieces: []string{"so"}}, scripted.Fail{Err: &model.Error{Cause: model.Transient, Err: errCable}}}, calls(`c1 place {}`), scripted.Say("there"))
		_, _, r := looper(t, m)
		options, heard := says("Oslo", nil), 0
		options.OnChunk = func(c uimessage.Chunk) {
			if c.Type == "text-delta" || c.Type == "tool-output-available" {
				heard++
			}
		}
		answer, err := r.Chat(t.Context(), "go", options)
		require.NoError(t, err)
		require.Equal(t, "sothere", answer.Text())
		require.Equal(t, []string{`c1 "Oslo"`}, results(m.requests()[2]))
		require.GreaterOrEqual(t, heard, 3, "before and behind the failure")
	})
}

func TestTheCallersToolsAreOfferedInAHandlersLoop(t *testing.T) {
	m := plays(calls(`c1 place {}`), scripted.Say("there"))
	agent := &actors.Agent{Name: "Looper", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		_, err := turn.Generate(ctx, actors.Generation{Model: m.model()})
		return err
	}}
	answer, err := actorstest.New(t, agent).Agent(agent, "room").Chat(t.Context(), "go", says("Oslo", nil))
	require.NoError(t, err)
	require.Equal(t, "there", answer.Text())
	require.Equal(t, []string{`c1 "Oslo"`}, results(m.requests()[1]))
}

func TestACallOfACallerThatACrashHasKeptFromBeginningHasFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := plays(append(calls(`c1 place {}`), scripted.Hold(make(chan struct{}))), scripted.Say("sorry"))
		h, agent, r := looper(t, m)
		go func() { _, _ = r.Chat(t.Context(), "go", says(1, nil)) }()
		synctest.Wait()
		h.Crash()
		r = h.Agent(agent, "room")
		require.NoError(t, r.WaitUntilStable(t.Context()))
		require.Equal(t, []string{`c1 "There is no tool named \"place\" any more; the call was not run."`}, results(m.requests()[1]))
		require.Equal(t, []string{"user: go", "assistant: sorry"}, conversation(t, r))
	})
}
