package main

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// toolScripts are the scripts that call tools: what the model says before and after
// the results are there.
var toolScripts = map[string]struct{ first, then scripted.Answer }{
	"servertool":    {calls(call("call_w1", "getWeather", `{"city":"Oslo"}`)), words("t2", 0, "It is ", "7C in Oslo.")},
	"servertoolerr": {calls(call("call_we1", "brokenTool", `{"city":"Oslo"}`)), words("t2", 0, "The tool failed.")},
	"prelim":        {calls(call("call_p1", "progressTool", `{"n":2}`)), words("t2", 0, "Done.")},
	"clienttool":    {locate("t1", "Let me check."), words("t2", 60, "You are ", "in Oslo.")},
	"clienttoolfast": {
		locate("t1", "Let me check."), words("t2", 0, "You are ", "in Oslo."),
	},
	"slowcont":     {calls(call("call_l1", "getLocation", `{}`)), words("t2", 120, numbered("c", 10)...)},
	"veryslowcont": {calls(call("call_l1", "getLocation", `{}`)), words("t2", 150, numbered("c", 40)...)},
	"twoclient":    {calls(call("call_a", "getLocation", `{}`), call("call_b", "getTimezone", `{}`)), words("t2", 60, "Oslo, CET.")},
	"approval":     {calls(call("call_d1", "deleteFile", `{"path":"/tmp/x"}`)), words("t2", 60, "Handled the deletion decision.")},
}

func call(id, tool, input string) scripted.Call {
	half := (len(input) + 1) / 2
	return scripted.Call{ID: id, Tool: tool, Pieces: []string{input[:half], input[half:]}}
}

func calls(list ...scripted.Call) (a scripted.Answer) {
	for _, c := range list {
		a = append(a, c)
	}
	return a
}

func locate(id, text string) scripted.Answer {
	return scripted.Answer{scripted.Text{ID: id, Pieces: []string{text}}, call("call_l1", "getLocation", `{"accuracy":"high"}`)}
}

// words waits before the block and before each word.
func words(id string, delay int, deltas ...string) scripted.Answer {
	every := time.Duration(delay) * time.Millisecond
	return scripted.Answer{scripted.Wait(every), scripted.Text{ID: id, Pieces: deltas, Every: every}, scripted.Wait(2 * every)}
}

// toolTalk is the model of a tool script: it says the first thing until there are
// results behind the last user message.
func toolTalk(name string) model.Model {
	return scripted.New(func(r model.Request) scripted.Answer {
		for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != model.User; i-- {
			if r.Messages[i].Role == model.ToolRole {
				return toolScripts[name].then
			}
		}
		return toolScripts[name].first
	})
}
var _ = cmp.Or[int]
var _ json.RawMessage
