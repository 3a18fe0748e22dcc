package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// A topic is something that the script calls a tool for.
type topic struct {
	pattern *regexp.Regexp
	tool    string
	say     string                            // before the call
	input   func(asked string) map[string]any // of the call; nil: {}
	reply   func(output map[string]any) string
}

var topics = []topic{
	{regexp.MustCompile(`(?i)\btides?\b`), measureTide, "I have the gauges read.", tideInput, func(o map[string]any) string {
		return fmt.Sprintf("In %v the water stands at %v metres. %v.", o["harbour"], o["metres"], o["next"])
	}},
	{regexp.MustCompile(`(?i)\blog(book)?\b`), writeLog, "That is for the logbook, which I do not touch without you.", logInput, func(o map[string]any) string {
		return fmt.Sprintf("It is in the logbook, as entry %v.", o["entries"])
	}},
	{regexp.MustCompile(`(?i)\btime\b`), browserTime, "Your browser knows that.", nil, func(o map[string]any) string {
		return fmt.Sprintf("It is %v where you are, in the time zone %v.", o["time"], o["timeZone"])
	}},
	{regexp.MustCompile(`(?i)\bwhere am i\b|\blocation\b`), browserLocation, "Your browser knows that, if you let it tell.", nil, func(o map[string]any) string {
		return fmt.Sprintf("You are at about %v° north and %v° east.", o["latitude"], o["longitude"])
	}},
	{regexp.MustCompile(`(?i)\bcolou?rs?\b`), pickColor, "Pick one.", colorInput, func(o map[string]any) string {
		if o["declined"] == true {
			return "None of them, then."
		}
		return fmt.Sprintf("%v it is. A good colour for a buoy.", o["color"])
	}},
}

// withTools lets the scripted demo call this program's tools where somebody asks
// for what they do.
func withTools(demo *scripted.Model) *scripted.Model {
	talk := demo.Answer
	m := *demo
	m.Answer = func(r model.Request) scripted.Answer {
		asked, results := sinceAsked(r.Messages)
		for _, t := range topics {
			if !t.pattern.MatchString(asked) || !offers(r, t.tool) {
				continue
			}
			if len(results) == 0 {
				return t.call(r, asked)
			}
			return t.answer(r, results[len(results)-1])
		}
		return talk(r)
	}
	return &m
}

func (t topic) call(r model.Request, asked string) scripted.Answer {
	input := map[string]any{}
	if t.input != nil {
		input = t.input(asked)
	}
	data, err := json.Marshal(input)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return scripted.Answer{
		say(r, t.say),
		// The key names the step for ever, so its call has the same id if it is asked again.
		scripted.Call{ID: fmt.Sprintf("call_%x", sha256.Sum256([]byte(r.Key)))[:16], Tool: t.tool, Pieces: scripted.Words(string(data)), Every: scripted.DemoPace},
	}
}

// answer tells a result.
func (t topic) answer(r model.Request, result model.Content) scripted.Answer {
	var output map[string]any
	_ = json.Unmarshal(result.Output, &output) // what is no object has no fields
	text := "I have no result: " + strings.Trim(string(result.Output)+result.Text, `"`)
	switch why, failed := output["error"].(string); {
	case failed:
		text = "That did not work. " + why
	case !result.IsError && output != nil:
		text = t.reply(output)
	}
	return scripted.Answer{say(r, text)}
}

// say goes on behind what the answer has said already, if it was cut off.
func say(r model.Request, text string) scripted.Step {
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == model.Assistant {
		for _, c := range r.Messages[n-1].Content {
			if c.Kind == model.TextContent {
				text = strings.TrimPrefix(text, c.Text)
			}
		}
	}
	return scripted.Text{Pieces: scripted.Words(text), Every: scripted.DemoPace}
}

func offers(r model.Request, tool string) bool {
	for _, t := range r.Tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

// sinceAsked is the last thing that the user has said, and the results behind it.
func sinceAsked(messages []model.Message) (asked string, results []model.Content) {
	for _, m := range messages {
		if m.Role == model.User {
			asked, results = "", nil
		}
		for _, c := range m.Content {
			switch {
			case m.Role == model.User && c.Kind == model.TextContent:
				asked += c.Text
			case c.Kind == model.ToolResultContent:
				results = append(results, c)
			}
		}
	}
	return asked, results
}

var harbour = regexp.MustCompile(`\bin (\p{Lu}[\p{L}-]+)`)

func tideInput(asked string) map[string]any {
	name := "Bergen"
	if m := harbour.FindStringSubmatch(asked); m != nil {
		name = m[1]
	}
	return map[string]any{"harbour": name}
}

var quoted = regexp.MustCompile(`["“]([^"”]+)["”]`)

func logInput(asked string) map[string]any {
	entry := asked
	if m := quoted.FindStringSubmatch(asked); m != nil {
		entry = m[1]
	}
	return map[string]any{"entry": entry}
}

func colorInput(string) map[string]any {
	return map[string]any{"question": "Which colour shall the buoy have?"}
}
