package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func asking(text string) uimessage.Message {
	return uimessage.Message{Role: uimessage.User, Parts: []uimessage.Part{{Type: uimessage.TextPart, Text: text}}}
}

func TestSaveMessagesStoresRunsAndReturnsTheAnswer(t *testing.T) {
	heard := &told{}
	agent := echo()
	agent.OnChatResponse = heard.hook
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	for _, text := range []string{"one", "two"} {
		response, err := r.SaveMessages(t.Context(), []uimessage.Message{asking(text)})
		require.NoError(t, err)
		require.Equal(t, actors.StatusCompleted, response.Status)
		require.Equal(t, "echo: "+text, response.Text())
		end := h.Await(r.Address(), ended(response.RequestID)).(feed.Ended)
		require.Empty(t, end.MessageIDs, "no client has asked")
		require.False(t, end.Continuation)
	}
	require.Equal(t, []string{"user: one", "assistant: echo: one", "user: two", "assistant: echo: two"}, conversation(t, r))
	require.NoError(t, r.WaitUntilStable(t.Context()))
	require.Len(t, heard.lines(), 2)
}

func TestSaveMessagesRefusesWhatIsNoMessage(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	_, err := r.SaveMessages(t.Context(), []uimessage.Message{{ID: "x", Role: "robot"}})
	require.EqualError(t, err, `invalid UI message: messages[0].role must be "user", "assistant" or "system", got "robot"`)
	_, err = r.SaveMessagesFunc(t.Context(), func(context.Context, []uimessage.Message) ([]uimessage.Message, error) {
		return []uimessage.Message{{ID: "x", Role: "robot"}}, nil
	})
	require.ErrorContains(t, err, "robot")
	require.Empty(t, conversation(t, r))
}

// How a turn ends is a status, and its text.
func TestSaveMessagesTellsHowTheTurnEnded(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*actors.Turn) error
		status actors.Status
		text   string
		said   string
	}{
		"error chunk": {func(turn *actors.Turn) error {
			_ = turn.Stream.Text("so far")
			return turn.Stream.Chunk(uimessage.Chunk{Type: "error", ErrorText: "in band"})
		}, actors.StatusError, "in band", "so far"},
		"breaks off": {func(turn *actors.Turn) error {
			_ = turn.Stream.Text("so far")
			return actors.Errorf("broken")
		}, actors.StatusError, "broken", "so far"},
		"fails before it speaks": {func(*actors.Turn) error { return actors.Errorf("broken") }, actors.StatusError, "broken", ""},
		"says nothing":           {func(*actors.Turn) error { return nil }, actors.StatusCompleted, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			heard := &told{}
			agent := &actors.Agent{Name: "Echo", OnChatResponse: heard.hook, OnChatMessage: func(_ context.Context, turn *actors.Turn) error { return c.end(turn) }}
			h := actorstest.New(t, agent)
			r := h.Agent(agent, "room")
			response, err := r.SaveMessages(t.Context(), []uimessage.Message{asking("hi")})
			require.NoError(t, err)
			require.Equal(t, c.status, response.Status)
			require.Equal(t, c.said, response.Text())
			if c.text != "" {
				require.EqualError(t, response.Err, c.text)
				require.NoError(t, r.WaitUntilStable(t.Context()))
				require.Equal(t, []string{response.RequestID + " error"}, heard.lines())
			}
		})
	}
}

func TestSaveMessagesWaitsForItsSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := make(chan struct{})
		agent := gated(gate)
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "first")))
		var responses [3]actors.ChatResponse
		var order []string
		for i := range responses {
			go func() {
				responses[i], _ = r.SaveMessagesFunc(t.Context(), func(_ context.Context, current []uimessage.Message) ([]uimessage.Message, error) {
					last := current[len(current)-1]
					order = append(order, string(last.Role)+": "+textOf(last))
					return append(current, asking(fmt.Sprint(i))), nil
				})
			}()
			synctest.Wait()
		}
		require.Empty(t, order, "the slot has not come")
		close(gate)
		synctest.Wait()
		require.Equal(t, []string{"assistant: echo: first", "assistant: echo: 0", "assistant: echo: 1"}, order)
		for i, response := range responses {
			require.Equal(t, actors.StatusCompleted, response.Status)
			require.Equal(t, fmt.Sprintf("echo: %d", i), response.Text())
		}
	})
}

func TestASlotWhoseMessagesCannotBeMadeIsGivenAway(t *testing.T) {
	for name, produce := range map[string]func() error{
		"fails":  func() error { return errCable },
		"panics": func() error { panic("no cable") },
	} {
		t.Run(name, func(t *testing.T) {
			heard := &told{}
			agent := echo()
			agent.OnChatResponse = heard.hook
			h := actorstest.New(t, agent)
			r := h.Agent(agent, "room")
			response, err := r.SaveMessagesFunc(t.Context(), func(context.Context, []uimessage.Message) ([]uimessage.Message, error) {
				return []uimessage.Message{asking("no")}, produce()
			})
			require.ErrorContains(t, err, "cable")
			require.Equal(t, actors.StatusSkipped, response.Status)
			require.Empty(t, conversation(t, r))
			goesOn(t, h, r)
			require.NoError(t, r.WaitUntilStable(t.Context()))
			require.Equal(t, []string{"next completed"}, heard.lines())
		})
	}
}

// What a clear and a reset make of turns that the program has asked for.
func TestQueuedTurnsAreSkippedByAClearAndAReset(t *testing.T) {
	for name, end := range map[string]func(*actors.Ref, context.Context) error{
		"clear": (*actors.Ref).ClearMessages,
		"reset": (*actors.Ref).ResetTurnState,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				gate, heard := make(chan struct{}), &told{}
				agent := gated(gate)
				agent.OnChatResponse = heard.hook
				h := actorstest.New(t, agent)
				r := h.Agent(agent, "room")
				statuses := make(chan actors.Status, 3)
				for _, ask := range []func() (actors.ChatResponse, error){
					func() (actors.ChatResponse, error) {
						return r.SaveMessages(t.Context(), []uimessage.Message{asking("runs")})
					},
					func() (actors.ChatResponse, error) {
						return r.SaveMessages(t.Context(), []uimessage.Message{asking("waits")})
					},
					func() (actors.ChatResponse, error) {
						return r.SaveMessagesFunc(t.Context(), func(context.Context, []uimessage.Message) ([]uimessage.Message, error) {
							t.Error("its slot never comes")
							return nil, nil
						})
					},
				} {
					go func() {
						response, err := ask()
						if err != nil {
							t.Error(err)
						}
						statuses <- response.Status
					}()
					synctest.Wait()
				}
				require.NoError(t, end(r, t.Context()))
				synctest.Wait()
				require.ElementsMatch(t, []actors.Status{actors.StatusAborted, actors.StatusSkipped, actors.StatusSkipped},
					[]actors.Status{<-statuses, <-statuses, <-statuses})
				require.Empty(t, heard.lines())
				if name == "clear" {
					require.Empty(t, conversation(t, r))
				} else {
					require.Equal(t, []string{"user: runs", "user: waits"}, conversation(t, r))
				}
				close(gate)
				goesOn(t, h, r)
			})
		})
	}
}

// A reset that comes while the messages are being made: they are dropped.
func TestAResetDropsWhatIsBeingMade(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := echo()
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		stopped := make(chan error, 1)
		go func() {
			synctest.Wait()
			if err := r.ResetTurnState(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		response, err := r.SaveMessagesFunc(t.Context(), func(ctx context.Context, _ []uimessage.Message) ([]uimessage.Message, error) {
			<-ctx.Done()
			stopped <- ctx.Err()
			return []uimessage.Message{asking("late")}, nil
		})
		require.NoError(t, err)
		require.Equal(t, actors.StatusSkipped, response.Status)
		require.Error(t, <-stopped)
		synctest.Wait()
		require.Empty(t, conversation(t, r))
	})
}

func TestWhatAProcessWouldHaveMadeEndsWithIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		gate := make(chan struct{})
		agent := gated(gate)
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "first")))
		waits := make(chan error, 2)
		go func() {
			_, err := r.SaveMessagesFunc(t.Context(), func(context.Context, []uimessage.Message) ([]uimessage.Message, error) {
				return []uimessage.Message{asking("lost")}, nil
			})
			waits <- err
		}()
		synctest.Wait()
		go func() {
			_, err := r.SaveMessages(t.Context(), []uimessage.Message{asking("kept")})
			waits <- err
		}()
		synctest.Wait()
		h.Crash()
		require.Error(t, <-waits)
		require.Error(t, <-waits)
		close(gate)
		pass(time.Second)
		r = h.Agent(agent, "room")
		require.Equal(t, []string{"user: first", "user: kept", "assistant: echo: first", "assistant: echo: kept"}, conversation(t, r))
	})
}

// A crash at any append of a turn that makes its messages loses all of it or
// nothing: no half of it is stored.
func TestACrashWhileMessagesAreMade(t *testing.T) {
	for n := range 6 {
		bubble(t, func(t *testing.T) {
			var f faults
			agent := echo()
			h := actorstest.Open(t, actorstest.Config{Agents: []*actors.Agent{agent}, Store: f.config()})
			appends, stop := 0, make(chan struct{})
			f.set(func(persistence.Append) memory.Fault {
				if appends++; appends > n {
					return memory.Fault{Hold: stop}
				}
				return memory.Fault{}
			})
			go func() {
				_, _ = h.Agent(agent, "room").SaveMessagesFunc(t.Context(), func(context.Context, []uimessage.Message) ([]uimessage.Message, error) {
					return []uimessage.Message{asking("hi")}, nil
				})
			}()
			pass(time.Second)
			f.set(nil)
			h.Crash()
			close(stop)
			pass(time.Minute)
			r := h.Agent(agent, "room")
			if got := conversation(t, r); len(got) > 0 {
				require.Equal(t, []string{"user: hi", "assistant: echo: hi"}, got)
			}
			goesOn(t, h, r)
		})
	}
}

func TestContinueLastTurn(t *testing.T) {
	heard := &told{}
	var bodies []string
	agent := &actors.Agent{Name: "Echo", OnChatResponse: heard.hook, OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		bodies = append(bodies, fmt.Sprintf("%s %s", turn.Body, turn.ClientTools))
		return turn.Stream.Text("more ")
	}}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	response, err := r.ContinueLastTurn(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, actors.ChatResponse{Status: actors.StatusSkipped}, response, "there is no answer")
	_, err = r.ContinueLastTurn(t.Context(), json.RawMessage(`[1]`))
	require.EqualError(t, err, "body is no JSON object")

	first := submit("r1", "hi")
	first.Body, first.ClientTools = json.RawMessage(`{"a":1}`), json.RawMessage(`[]`)
	require.NoError(t, r.Submit(t.Context(), first))
	h.Await(r.Address(), ended("r1"))
	for _, body := range []string{"", `{"b":2}`, ""} {
		response, err = r.ContinueLastTurn(t.Context(), json.RawMessage(body))
		require.NoError(t, err)
		require.Equal(t, actors.StatusCompleted, response.Status)
		require.True(t, response.Continuation)
		require.True(t, h.Await(r.Address(), ended(response.RequestID)).(feed.Ended).Continuation)
	}
	require.Equal(t, "more more more more ", response.Text())
	require.Equal(t, []string{"user: hi", "assistant: more more more more "}, conversation(t, r))
	require.Equal(t, []string{`{"a":1} []`, `{"a":1} []`, `{"b":2} []`, `{"a":1} []`}, bodies)
	require.NoError(t, r.WaitUntilStable(t.Context()))
	require.Len(t, heard.lines(), 4)
}

// What the program adds goes through the author's sanitizer, as every list does.
func TestSaveMessagesIsSanitized(t *testing.T) {
	agent := echo()
	agent.SanitizeMessage = func(m uimessage.Message) uimessage.Message {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p uimessage.Part) bool { return p.Text == "secret" })
		return m
	}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	m := asking("hi")
	m.Parts = append(m.Parts, uimessage.Part{Type: uimessage.TextPart, Text: "secret"})
	_, err := r.SaveMessages(t.Context(), []uimessage.Message{m})
	require.NoError(t, err)
	require.Equal(t, []string{"user: hi", "assistant: echo: hi"}, conversation(t, r))
}

func TestAPlainAgentHasNoTurns(t *testing.T) {
	agent := &actors.Agent{Name: "Plain"}
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	_, err := r.SaveMessages(t.Context(), []uimessage.Message{asking("hi")})
	require.Equal(t, actors.BadRequest, code(t, err))
	_, err = r.SaveMessagesFunc(t.Context(), func(context.Context, []uimessage.Message) ([]uimessage.Message, error) { return nil, nil })
	require.Equal(t, actors.BadRequest, code(t, err))
	_, err = r.ContinueLastTurn(t.Context(), nil)
	require.Equal(t, actors.BadRequest, code(t, err))
	require.Empty(t, journal(t, h, r.Address()))
}

// A context that is over takes nothing from the author's messages.
func TestSaveMessagesOfAContextThatIsOverStoresAllRoles(t *testing.T) {
	var seen []model.Message
	agent := talker(func(q model.Request) scripted.Answer {
		seen = q.Messages
		return scripted.Answer{scripted.Text{Pieces: []string{"fine"}}}
	})
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	response, err := r.SaveMessages(ctx, []uimessage.Message{said("s", uimessage.System, "rules"), said("a", uimessage.Assistant, "Welcome!")})
	require.NoError(t, err)
	require.Equal(t, actors.ChatResponse{Status: actors.StatusAborted}, response)
	require.Equal(t, []string{"system: rules", "assistant: Welcome!"}, conversation(t, r))
	_, err = r.Chat(t.Context(), "hi")
	require.NoError(t, err)
	require.Len(t, seen, 2, "the model is shown what the author has said in its name")
}
