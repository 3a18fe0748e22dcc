package actors_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
)

// script makes messages of short words: "user hi", "assistant ?why !c1:search hi",
// "tool =c1:search"; ? is reasoning, ! a call, = a result.
func script(lines ...string) []model.Message {
	var out []model.Message
	for _, line := range lines {
		words := strings.Fields(line)
		m := model.Message{Role: model.Role(words[0])}
		for _, w := range words[1:] {
			id, tool, _ := strings.Cut(w[1:], ":")
			switch w[0] {
			case '?':
				m.Content = append(m.Content, model.Content{Kind: model.ReasoningContent, Text: w[1:]})
			case '!':
				m.Content = append(m.Content, model.Content{Kind: model.ToolCallContent, CallID: id, Tool: tool})
			case '=':
				m.Content = append(m.Content, model.Content{Kind: model.ToolResultContent, CallID: id, Tool: tool})
			default:
				m.Content = append(m.Content, model.Content{Kind: model.TextContent, Text: w})
			}
		}
		out = append(out, m)
	}
	return out
}

func inShort(messages []model.Message) []string {
	var out []string
	for _, m := range messages {
		line := string(m.Role)
		for _, c := range m.Content {
			switch c.Kind {
			case model.ReasoningContent:
				line += " ?" + c.Text
			case model.ToolCallContent:
				line += " !" + c.CallID + ":" + c.Tool
			case model.ToolResultContent:
				line += " =" + c.CallID + ":" + c.Tool
			case model.TextContent, model.FileContent:
				line += " " + c.Text
			}
		}
		out = append(out, line)
	}
	return out
}

func TestPruneMessages(t *testing.T) {
	talk := []string{
		"user hi", "assistant ?a !c1:search", "tool =c1:search", "assistant ?b found",
		"user more", "assistant ?c so !c2:pay !c3:search", "tool =c2:pay =c3:search",
	}
	for name, c := range map[string]struct {
		pruning actors.Pruning
		talk    []string
		want    []string
	}{
		"nothing": {actors.Pruning{}, talk, talk},
		"all reasoning, but of calls that are being answered": {actors.Pruning{Reasoning: actors.PruneAll}, talk, []string{
			"user hi", "assistant !c1:search", "tool =c1:search", "assistant found",
			"user more", "assistant ?c so !c2:pay !c3:search", "tool =c2:pay =c3:search",
		}},
		"all reasoning of an answer without calls": {actors.Pruning{Reasoning: actors.PruneAll}, []string{"user hi", "assistant ?a well", "assistant ?b"}, []string{"user hi", "assistant well"}},
		"reasoning before the last message":        {actors.Pruning{Reasoning: 1}, []string{"user hi", "assistant ?a one", "assistant ?b two"}, []string{"user hi", "assistant one", "assistant ?b two"}},
		"all calls": {actors.Pruning{ToolCalls: actors.PruneAll}, talk, []string{
			"user hi", "assistant ?a", "assistant ?b found", "user more", "assistant ?c so",
		}},
		"all calls and reasoning":                {actors.Pruning{ToolCalls: actors.PruneAll, Reasoning: actors.PruneAll}, talk, []string{"user hi", "assistant found", "user more", "assistant so"}},
		"calls before the last message":          {actors.Pruning{ToolCalls: 1}, talk, []string{"user hi", "assistant ?a", "assistant ?b found", "user more", talk[5], talk[6]}},
		"a result in the last five has its call": {actors.Pruning{ToolCalls: 5}, talk, talk},
		"more than there is":                     {actors.Pruning{ToolCalls: 100, Reasoning: 100}, talk, talk},
		"of one tool": {actors.Pruning{ToolCalls: actors.PruneAll, Tools: []string{"pay"}}, talk, []string{
			"user hi", "assistant ?a !c1:search", "tool =c1:search", "assistant ?b found", "user more", "assistant ?c so !c3:search", "tool =c3:search",
		}},
		"an id that comes again": {actors.Pruning{ToolCalls: 2}, []string{
			"user hi", "assistant !c1:search", "tool =c1:search", "user more", "assistant !c1:search", "tool =c1:search",
		}, []string{"user hi", "user more", "assistant !c1:search", "tool =c1:search"}},
		"a call that is open": {actors.Pruning{ToolCalls: actors.PruneAll}, []string{"user hi", "assistant well !c1:place", "user more"}, []string{"user hi", "assistant well", "user more"}},
		"of nothing":          {actors.Pruning{ToolCalls: actors.PruneAll}, nil, nil},
	} {
		given := script(c.talk...)
		require.Equal(t, c.want, inShort(actors.PruneMessages(c.pruning)(given)), name)
		require.Equal(t, c.talk, inShort(given), "%s: what it is given stays as it is", name)
	}
}

// Whatever goes: no half of a pair stays, no user's word goes, nothing is moved.
func TestPrunedMessagesAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var talk []string
		for i := range rapid.IntRange(0, 8).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "asks") {
				talk = append(talk, fmt.Sprintf("user u%d", i))
			}
			said, results := fmt.Sprintf("assistant ?r%d", i), "tool"
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				call := fmt.Sprintf("c%d:%s", rapid.IntRange(0, 20).Draw(t, "id")+100*i, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tool"))
				if strings.Contains(said, strings.Split(call, ":")[0]+":") {
					continue
				}
				said, results = said+" !"+call, results+" ="+call
			}
			talk = append(talk, said)
			if results != "tool" {
				talk = append(talk, results)
			}
		}
		where := rapid.IntRange(actors.PruneAll, 12)
		p := actors.Pruning{Reasoning: where.Draw(t, "reasoning"), ToolCalls: where.Draw(t, "tool calls"), Tools: rapid.SampledFrom([][]string{nil, {"a"}}).Draw(t, "tools")}
		got := strings.Join(inShort(actors.PruneMessages(p)(script(talk...))), "\n")
		for _, w := range strings.Fields(strings.Join(talk, " ")) {
			switch {
			case w[0] == 'u' && w != "user" && !strings.Contains(got, w):
				t.Fatalf("%s is missing in\n%s", w, got)
			case w[0] == '!' && strings.Contains(got, w) != strings.Contains(got, "="+w[1:]):
				t.Fatalf("half of %s in\n%s", w[1:], got)
			}
		}
		rest := strings.Fields(strings.Join(talk, " "))
		for _, w := range strings.Fields(got) {
			for len(rest) > 0 && rest[0] != w {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				t.Fatalf("%s is out of order in\n%s", w, got)
			}
			rest = rest[1:]
		}
	})
}

func TestAnAgentsModelSeesThePrunedConversation(t *testing.T) {
	m := plays(calls(`c1 weather {}`), calls(`c2 weather {}`), calls(`c3 weather {}`))
	chatWith(t, &actors.Agent{Model: m.model(), Tools: []actors.Tool{weather()}, MaxSteps: 3, PruneMessages: actors.PruneMessages(actors.Pruning{ToolCalls: 2})})
	last := m.requests()[2]
	require.Equal(t, []string{`c2 {"for":{}}`}, results(last))
	data, err := json.Marshal(last.Messages)
	require.NoError(t, err)
	require.NotContains(t, string(data), "c1")
}
