package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// calls is an answer that calls tools, one after the other: "id tool input".
func calls(list ...string) scripted.Answer {
	var a scripted.Answer
	for _, c := range list {
		f := strings.SplitN(c, " ", 3)
		a = append(a, scripted.Call{ID: f[0], Tool: f[1], Input: f[2]})
	}
	return a
}

func weather() actors.Tool {
	return actors.ToolOf("weather", func(_ context.Context, _ *actors.ToolCall, input json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"for":` + string(input) + `}`), nil
	})
}

func asked(tool string, err error) actors.Tool {
	return actors.ToolOf(tool, func(context.Context, *actors.ToolCall, json.RawMessage) (json.RawMessage, error) { return nil, err })
}

// shownChunks are the chunks of an agent's answers in short, without deltas.
func shownChunks(t *testing.T, h *actorstest.Harness) []string {
	t.Helper()
	var out []string
	for _, i := range h.Items(feed.Address{Class: "Looper", Name: "room"}) {
		c, ok := i.(feed.Chunk)
		if !ok {
			continue
		}
		chunk, err := uimessage.ParseChunk(c.Body)
		require.NoError(t, err)
		if strings.HasSuffix(chunk.Type, "-delta") {
			continue
		}
		line := chunk.Type
		if chunk.ToolCallID != "" {
			line += " " + chunk.ToolCallID
		}
		if chunk.Preliminary {
			line += " preliminary"
		}
		if strings.Contains(string(c.Body), `"preliminary":false`) {
			line += " final"
		}
		out = append(out, line)
	}
	return out
}

// results are the outcomes of calls in a request: "id output".
func results(q model.Request) []string {
	var out []string
	for _, m := range q.Messages {
		for _, c := range m.Content {
			if c.Kind == model.ToolResultContent {
				out = append(out, c.CallID+" "+string(c.Output))
			}
		}
	}
	return out
}

func TestTwoStepsWithATool(t *testing.T) {
	m := plays(calls(`c1 weather {"city":"Oslo"}`), scripted.Say("cold"))
	answer, h := chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{weather()}})
	require.Equal(t, "cold", answer.Text())
	require.Equal(t, []string{
		"start", "start-step", "tool-input-start c1", "tool-input-available c1", "tool-output-available c1", "finish-step",
		"start-step", "text-start", "text-end", "finish-step", "finish",
	}, shownChunks(t, h))
	asked := m.requests()
	require.Len(t, asked, 2)
	require.Equal(t, "weather", asked[0].Tools[0].Name)
	require.Equal(t, []string{`c1 {"for":{"city":"Oslo"}}`}, results(asked[1]))
	roles := []model.Role{}
	for _, m := range asked[1].Messages {
		roles = append(roles, m.Role)
	}
	require.Equal(t, []model.Role{model.User, model.Assistant, model.ToolRole}, roles)
}

func TestParallelToolsEndInAnyOrderAndAreToldInTheirs(t *testing.T) {
	second := make(chan struct{})
	slow := actors.ToolOf("slow", func(context.Context, *actors.ToolCall, json.RawMessage) (json.RawMessage, error) {
		<-second
		return json.RawMessage(`"slow"`), nil
	})
	quick := actors.ToolOf("quick", func(context.Context, *actors.ToolCall, json.RawMessage) (json.RawMessage, error) {
		close(second)
		return json.RawMessage(`"quick"`), nil
	})
	m := plays(calls(`c1 slow {}`, `c2 quick {}`), scripted.Say("done"))
	chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{slow, quick}})
	require.Equal(t, []string{`c1 "slow"`, `c2 "quick"`}, results(m.requests()[1]))
}

func TestWhatGoesWrongWithACallIsToldTheModel(t *testing.T) {
	picky := actors.ToolWith(weather(), 0, func(json.RawMessage) error { return errors.New("city is missing") }, nil)
	panics := actors.ToolOf("weather", func(context.Context, *actors.ToolCall, json.RawMessage) (json.RawMessage, error) { panic("no") })
	noJSON := actors.ToolOf("weather", func(context.Context, *actors.ToolCall, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("{"), nil
	})
	deaf := actors.ToolWith(actors.ToolOf("weather", func(ctx context.Context, _ *actors.ToolCall, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}), time.Second, nil, nil)
	for name, c := range map[string]struct {
		tool  actors.Tool
		call  string
		told  string
		shown string
	}{
		"an error":         {asked("weather", errors.New("tool blew up")), `c1 weather {}`, `"tool blew up"`, "tool-output-error c1"},
		"a panic":          {panics, `c1 weather {}`, `"The tool has failed."`, "tool-output-error c1"},
		"no JSON":          {noJSON, `c1 weather {}`, `"The tool's result is not JSON."`, "tool-output-error c1"},
		"a timeout":        {deaf, `c1 weather {}`, `"The tool took longer than 1s."`, "tool-output-error c1"},
		"an unknown tool":  {weather(), `c1 wether {}`, `"There is no tool named \"wether\"."`, "tool-input-error c1"},
		"a wrong input":    {picky, `c1 weather {}`, `"city is missing"`, "tool-input-error c1"},
		"a broken input":   {weather(), `c1 weather {"city`, `"The input is not a JSON object: \"{\\\"city\"."`, "tool-input-error c1"},
		"an input of text": {weather(), `c1 weather "Oslo"`, `"The input is not a JSON object: \"\\\"Oslo\\\"\"."`, "tool-input-error c1"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := plays(calls(c.call), scripted.Say("sorry"))
				answer, h := chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{c.tool}})
				require.Equal(t, "sorry", answer.Text())
				require.Equal(t, []string{"c1 " + c.told}, results(m.requests()[1]))
				require.Contains(t, shownChunks(t, h), c.shown)
			})
		})
	}
}

func TestAnInputIsRepaired(t *testing.T) {
	m := plays(calls(`c1 weather {"city":"Oslo"`), scripted.Say("cold"))
	chatWith(t, &actors.Agent{
		Model: m.model(), Tools: []actors.Tool{weather()},
		RepairToolInput: func(_ context.Context, bad actors.BadInput) (json.RawMessage, error) {
			require.ErrorContains(t, bad.Err, "not a JSON object")
			return append(bad.Input, '}'), nil
		},
	})
	require.Equal(t, []string{`c1 {"for":{"city":"Oslo"}}`}, results(m.requests()[1]))
}

func TestACallIDThatIsUsedAgainIsAnotherOne(t *testing.T) {
	m := plays(calls(`c1 weather {"n":1}`), calls(`c1 weather {"n":2}`), scripted.Say("done"))
	chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{weather()}})
	require.Equal(t, []string{`c1 {"for":{"n":1}}`, `c1_2 {"for":{"n":2}}`}, results(m.requests()[2]))
}

func TestTwoCallsOfOneIDInOneAnswerAreTwo(t *testing.T) {
	m := plays(calls(`c1 weather {"n":1}`, `c1 weather {"n":2}`), scripted.Say("done"))
	chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{weather()}})
	require.Equal(t, []string{`c1 {"for":{"n":1}}`, `c1_2 {"for":{"n":2}}`}, results(m.requests()[1]))
}

func TestPreliminaryResults(t *testing.T) {
	m := plays(calls(`c1 work {}`), scripted.Say("done"))
	work := actors.ToolOf("work", func(_ context.Context, call *actors.ToolCall, _ json.RawMessage) (json.RawMessage, error) {
		require.NoError(t, actors.Update(call, `{"pct":10}`))
		require.NoError(t, actors.Update(call, `{"pct":60}`))
		return json.RawMessage(`{"pct":100}`), nil
	})
	_, h := chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{work}})
	require.Equal(t, []string{
		"start", "start-step", "tool-input-start c1", "tool-input-available c1",
		"tool-output-available c1 preliminary", "tool-output-available c1 preliminary", "tool-output-available c1 final", "finish-step",
		"start-step", "text-start", "text-end", "finish-step", "finish",
	}, shownChunks(t, h))
	require.Equal(t, []string{`c1 {"pct":100}`}, results(m.requests()[1]))
}

func TestACallForAPersonEndsTheTurn(t *testing.T) {
	approved := actors.ToolWith(weather(), 0, nil, func(json.RawMessage) bool { return true })
	for name, c := range map[string]struct {
		tool  actors.Tool
		shown []string
	}{
		"a client": {actors.ToolOf("weather", nil), []string{"tool-input-available c1"}},
		"approval": {approved, []string{"tool-input-available c1", "tool-approval-request c1"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := plays(calls(`c1 weather {}`))
			answer, h := chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{c.tool}})
			require.Equal(t, actors.StatusCompleted, answer.Status)
			require.Len(t, m.requests(), 1)
			require.Equal(t, append(append([]string{"start", "start-step", "tool-input-start c1"}, c.shown...), "finish-step", "finish"), shownChunks(t, h))
		})
	}
}

func TestTheServersCallsRunBesideAClients(t *testing.T) {
	m := plays(calls(`c1 weather {}`, `c2 place {}`))
	answer, _ := chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{weather(), actors.ToolOf("place", nil)}})
	require.Len(t, m.requests(), 1, "the model waits for the client")
	require.Equal(t, uimessage.OutputAvailable, answer.Message.Parts[1].State)
	require.Equal(t, uimessage.InputAvailable, answer.Message.Parts[2].State)
}
