package modelsuite

import (
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

var lookTool = []model.Tool{{Name: "look"}, {Name: "rest"}}

func (p Provider) tools(t *testing.T) {
	t.Run("calls arrive whole, with their pieces", p.calls)
	if !p.WholeCalls {
		t.Run("input that is no JSON is handed over, and does not spoil the next request", p.brokenInput)
	}
	t.Run("the choice of tools is the request's", p.choice)
	t.Run("a call's id is used once in a conversation, and the provider gets its own back", p.sameID)
	t.Run("results go back beside their calls", p.toolResults)
	t.Run("a schema that is no object is refused before anything is sent", p.wrongSchema)
}

func (p Provider) calls(t *testing.T) {
	_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
		w.SplitEvery = 5
		w.Text("Let me see.")
		w.Call("call_1", "look", `{"at"`, `: "世`, `界"}`)
		w.Call("call_2", "rest", `{}`)
	})
	r := Ask("hi")
	r.Tools = lookTool
	parts := Whole(t, m, r)
	content := Message(parts).Content
	if len(content) != 3 || content[1].CallID != "call_1" || content[1].Tool != "look" || string(content[1].Input) != `{"at": "世界"}` ||
		content[2].CallID != "call_2" || string(content[2].Input) != `{}` {
		t.Errorf("content %+v", content)
	}
	var pieces string
	for _, part := range parts {
		if d, ok := part.(model.ToolInputDelta); ok && d.CallID == "call_1" {
			pieces += d.Text
		}
	}
	if pieces != `{"at": "世界"}` {
		t.Errorf("pieces %q", pieces)
	}
	if f := Finish(t, parts); f.Reason != model.ToolCalls {
		t.Errorf("reason %s", f.Reason)
	}
}

func (p Provider) brokenInput(t *testing.T) {
	var second *providerwire.Request
	_, m := p.serve(t, func(r *providerwire.Request, w *providerwire.Writer) {
		if r.N == 1 {
			w.Call("call_1", "look", `{"at": nowhere`)
			return
		}
		second = r
		w.Text("sorry")
	})
	r := Ask("hi")
	r.Tools = lookTool
	parts := Whole(t, m, r)
	message := Message(parts)
	if got := string(message.Content[0].Input); got != `{"at": nowhere` {
		t.Errorf("input %q", got)
	}
	r.Messages = append(r.Messages, message, Result("call_1", `{"error":"no JSON"}`))
	Whole(t, m, r)
	if len(second.Messages) != 3 || second.Messages[2].Text != `{"error":"no JSON"}` {
		t.Errorf("second request %+v", second.Messages)
	}
}

func (p Provider) toolResults(t *testing.T) {
	var got *providerwire.Request
	_, m := p.serve(t, func(r *providerwire.Request, w *providerwire.Writer) {
		got = r
		w.Text("done")
	})
	r := Ask("hi")
	r.Tools = lookTool
	r.Messages = append(r.Messages,
		model.Message{Role: model.Assistant, Content: []model.Content{
			{Kind: model.TextContent, Text: "Both."},
			{Kind: model.ToolCallContent, CallID: "a", Tool: "look", Input: []byte(`{"n":1}`)},
			{Kind: model.ToolCallContent, CallID: "b", Tool: "rest"},
		}},
		model.Message{Role: model.ToolRole, Content: []model.Content{
			{Kind: model.ToolResultContent, CallID: "a", Output: []byte(`"plain words"`)},
			{Kind: model.ToolResultContent, CallID: "b", Output: []byte(`{"ok":true}`), IsError: true},
		}},
		Says(model.User, "and?"),
	)
	Whole(t, m, r)
	results, tools := map[string]string{}, map[string]string{}
	for _, message := range got.Messages {
		for _, c := range message.Calls {
			tools[c.ID] = c.Tool
		}
		if message.Role == "tool" {
			results[tools[message.CallID]] = message.Text
		}
	}
	if results["look"] != "plain words" || results["rest"] != `{"ok":true}` || got.LastUser() != "and?" {
		t.Errorf("messages %+v", got.Messages)
	}
}

func (p Provider) wrongSchema(t *testing.T) {
	s, m := p.serve(t, func(*providerwire.Request, *providerwire.Writer) {})
	r := Ask("hi")
	r.Tools = []model.Tool{{Name: "look", Schema: []byte(`[]`)}}
	_, err := Collect(t, t.Context(), m, r)
	if model.CauseOf(err) != model.Refused || !containsAll(err.Error(), "look") || len(s.Records()) != 0 {
		t.Errorf("%v, %d requests", err, len(s.Records()))
	}
}

func (p Provider) choice(t *testing.T) {
	for _, choice := range []string{"", "auto", "none", "required", "rest"} {
		var got *providerwire.Request
		_, m := p.serve(t, func(r *providerwire.Request, w *providerwire.Writer) {
			got = r
			w.Text("ok")
		})
		r := Ask("hi")
		r.Tools, r.ToolChoice = lookTool, choice
		Whole(t, m, r)
		if got.ToolChoice != choice && (choice != "" || got.ToolChoice != "auto") {
			t.Errorf("asked with the choice %q, not %q", got.ToolChoice, choice)
		}
		r.Tools = nil
		Whole(t, m, r)
		if got.ToolChoice != "" || got.Tools != nil {
			t.Errorf("without tools: choice %q of %q", got.ToolChoice, got.Tools)
		}
	}
}

func (p Provider) sameID(t *testing.T) {
	var last *providerwire.Request
	_, m := p.serve(t, func(r *providerwire.Request, w *providerwire.Writer) {
		if last = r; r.N < 3 {
			w.Call("functions_look_0", "look", `{}`)
		}
	})
	r := Ask("hi")
	r.Tools = lookTool
	ids := map[string]bool{}
	for range 2 {
		answer := stored(t, Message(Whole(t, m, r)))
		id := answer.Content[0].CallID
		if id == "" || ids[id] {
			t.Errorf("the id %q is not a new one", id)
		}
		ids[id] = true
		r.Messages = append(r.Messages, answer, Result(id, `1`))
	}
	Whole(t, m, r)
	for _, message := range last.Messages {
		for _, c := range message.Calls {
			if c.ID != "functions_look_0" {
				t.Errorf("the provider got the id %q", c.ID)
			}
		}
	}
}
