package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// played is what the script says, and the tool that it calls, with its input.
func played(t *testing.T, messages ...model.Message) (text, tool, input string) {
	t.Helper()
	r := model.Request{Messages: messages, Key: "turn/1"}
	for _, topic := range topics {
		r.Tools = append(r.Tools, model.Tool{Name: topic.tool})
	}
	m := withTools(scripted.Demo())
	for _, step := range m.Answer(r) {
		switch s := step.(type) {
		case scripted.Text:
			text += strings.Join(s.Pieces, "")
		case scripted.Call:
			tool, input = s.Tool, strings.Join(s.Pieces, "")
		}
	}
	return text, tool, input
}

func said(text string) model.Message {
	return model.Message{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: text}}}
}

func result(output string, failed bool) model.Message {
	return model.Message{Role: model.ToolRole, Content: []model.Content{{Kind: model.ToolResultContent, Output: json.RawMessage(output), IsError: failed}}}
}

func TestEachSuggestionOfThePageCallsItsTool(t *testing.T) {
	for asked, want := range map[string]struct{ tool, input, output, reply string }{
		"How high is the tide in Oslo?":                                {measureTide, `{"harbour":"Oslo"}`, `{"harbour":"Oslo","metres":1.2,"next":"High water at 12:00 UTC"}`, "Oslo the water stands at 1.2 metres"},
		`Write "Sea calm, two seals on the skerry." into the logbook.`: {writeLog, `{"entry":"Sea calm, two seals on the skerry."}`, `{"entries":3}`, "entry 3"},
		"What time is it where I am?":                                  {browserTime, `{}`, `{"time":"noon","timeZone":"Europe/Oslo"}`, "Europe/Oslo"},
		"Where am I?":                                                  {browserLocation, `{}`, `{"latitude":60.4,"longitude":5.3}`, "60.4° north"},
		"Let me pick a colour for the buoy.":                           {pickColor, `{"question":"Which colour shall the buoy have?"}`, `{"color":"#17705a"}`, "#17705a it is"},
	} {
		_, tool, input := played(t, said(asked))
		if tool != want.tool || input != want.input {
			t.Errorf("%s: calls %s %s", asked, tool, input)
		}
		reply, tool, _ := played(t, said(asked), result(want.output, false))
		if tool != "" || !strings.Contains(reply, want.reply) {
			t.Errorf("%s: says %q and calls %q behind the result", asked, reply, tool)
		}
	}
}

func TestTheScriptSaysWhyThereIsNoResult(t *testing.T) {
	for output, want := range map[string]string{`"The visitor has denied the call."`: "denied the call", `{"error":"No location."}`: "No location."} {
		if reply, _, _ := played(t, said("Where am I?"), result(output, true)); !strings.Contains(reply, want) {
			t.Errorf("%s: %q", output, reply)
		}
	}
}

func TestTheScriptGoesOnWhereItWasCutOff(t *testing.T) {
	partial := model.Message{Role: model.Assistant, Content: []model.Content{{Kind: model.TextContent, Text: "You are at about"}}}
	if rest, _, _ := played(t, said("Where am I?"), result(`{"latitude":1,"longitude":2}`, false), partial); rest != " 1° north and 2° east." {
		t.Errorf("goes on with %q", rest)
	}
}

func TestTheScriptTalksAsBeforeAboutEverythingElse(t *testing.T) {
	if text, tool, _ := played(t, said("Count to 5, please.")); tool != "" || !strings.HasPrefix(text, "1, 2, 3, 4, 5") {
		t.Errorf("%q, %q", text, tool)
	}
	r := model.Request{Messages: []model.Message{said("Where am I?")}} // no tools on offer
	for _, step := range withTools(scripted.Demo()).Answer(r) {
		if _, ok := step.(scripted.Call); ok {
			t.Error("calls a tool that it was not offered")
		}
	}
}
