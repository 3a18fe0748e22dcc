package main

import (
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// toolScript is a script of ChatAgent that calls tools: its first answer, and the
// one behind the results.
type toolScript struct{ first, then scripted.Answer }

const (
	cityInput = `{"city":"Oslo"}`
	paceSlow  = 120 * time.Millisecond
	pace      = 60 * time.Millisecond
)

var toolScripts = map[string]toolScript{
	"servertool":    {calls(call("call_w1", "getWeather", cityInput)), says("t2", 0, "It is ", "7C in Oslo.")},
	"servertoolerr": {calls(call("call_we1", "brokenTool", cityInput)), says("t2", 0, "The tool failed.")},
	"prelim":        {calls(call("call_p1", "progressTool", `{"n":2}`)), says("t2", 0, "Done.")},
	"clienttool":    {append(says("t1", 0, "Let me check."), call("call_l1", "getLocation", `{"accuracy":"high"}`)), says("t2", pace, "You are ", "in Oslo.")},
	"clienttoolfast": {
		append(says("t1", 0, "Let me check."), call("call_l1", "getLocation", `{"accuracy":"high"}`)), says("t2", 0, "You are ", "in Oslo."),
	},
	"slowcont":     {calls(call("call_l1", "getLocation", "{}")), says("t2", paceSlow, numbered("c", 10)...)},
	"veryslowcont": {calls(call("call_l1", "getLocation", "{}")), says("t2", 150*time.Millisecond, numbered("c", 40)...)},
	"twoclient":    {calls(call("call_a", "getLocation", "{}"), call("call_b", "getTimezone", "{}")), says("t2", pace, "Oslo, CET.")},
	"approval":     {calls(call("call_d1", "deleteFile", `{"path":"/tmp/x"}`)), says("t2", pace, "Handled the deletion decision.")},
	// These are not the kit's.
	"confirm": {calls(call("call_s1", "shareScreen", "{}")), says("t2", 0, "Shared.")},
	"mixed": {
		calls(call("call_l1", "getLocation", "{}"), call("call_d1", "deleteFile", `{"path":"/tmp/x"}`)), says("t2", 0, "Both answered."),
	},
	"tellresults": {calls(call("call_l1", "getLocation", "{}")), nil},
}

// toolModel plays toolScripts by the last user message.
func toolModel() *scripted.Model {
	return scripted.New(func(r model.Request) scripted.Answer {
		asked, results := sinceAsked(r.Messages)
		name := ""
		if m := scriptName.FindStringSubmatch(asked); m != nil {
			name = m[1]
		}
		s, ok := toolScripts[name]
		switch {
		case name == "offered":
			return scripted.Say("offered: " + offered(r.Tools))
		case !ok:
			return scripted.Say("echo:" + asked)
		case len(results) == 0:
			return s.first
		case s.then == nil:
			return scripted.Say("told: " + strings.Join(results, " | "))
		}
		return s.then
	})
}

func offered(tools []model.Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// sinceAsked is the last thing that the user has said, and the results behind it.
func sinceAsked(messages []model.Message) (asked string, results []string) {
	for _, m := range messages {
		if m.Role == model.User {
			asked, results = "", nil
		}
		for _, c := range m.Content {
			switch {
			case m.Role == model.User:
				asked += c.Text
			case c.Kind == model.ToolResultContent:
				results = append(results, string(c.Output)+c.Text)
			}
		}
	}
	return asked, results
}

func calls(calls ...scripted.Step) scripted.Answer { return calls }

// call streams its input in two halves.
func call(id, tool, input string) scripted.Step {
	half := (len(input) + 1) / 2
	return scripted.Call{ID: id, Tool: tool, Pieces: []string{input[:half], input[half:]}}
}

// says waits before the block and before each piece.
func says(id string, every time.Duration, pieces ...string) scripted.Answer {
	return scripted.Answer{scripted.Wait(every), scripted.Text{ID: id, Pieces: pieces, Every: every}, scripted.Wait(2 * every)}
}
