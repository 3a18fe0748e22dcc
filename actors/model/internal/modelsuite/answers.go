package modelsuite

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

const manyScripts = "Grüße, 世界! 👩‍👩‍👧 «ñ»\n\ndata: [DONE]\n\nevent: message_stop \u2028 done"

func (p Provider) answers(t *testing.T) {
	t.Run("text, usage and reason arrive", p.arrives)
	t.Run("reasons of the end are told apart", p.reasons)
	t.Run("bytes may be split anywhere", p.splitBytes)
	t.Run("a long answer arrives whole", p.longAnswer)
	t.Run("deltas arrive when they are sent", p.promptly)
	t.Run("the request says what was asked", p.asks)
	t.Run("headers and options of a request win", p.options)
	t.Run("events can be seen as they came", p.raw)
}

func (p Provider) arrives(t *testing.T) {
	_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
		w.Usage = providerwire.Usage{Input: 120, Output: 7, CacheRead: 100}
		w.Text("Hello, ")
		w.KeepAlive()
		w.Text("world")
	})
	parts := Whole(t, m, Ask("hi"))
	if got := Text(parts); got != "Hello, world" {
		t.Errorf("text %q", got)
	}
	f := Finish(t, parts)
	if f.Reason != model.Stop || f.Usage != (model.Usage{Input: 120, Output: 7, CacheRead: 100}) {
		t.Errorf("finish %+v", f)
	}
}

func (p Provider) reasons(t *testing.T) {
	for said, want := range map[string]model.FinishReason{"stop": model.Stop, "length": model.Length, "content_filter": model.ContentFilter} {
		_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
			w.Text("…")
			w.Finish(said)
		})
		if f := Finish(t, Whole(t, m, Ask("hi"))); f.Reason != want {
			t.Errorf("%s became %s", said, f.Reason)
		}
	}
}

func (p Provider) splitBytes(t *testing.T) {
	for _, every := range []int{1, 2, 3, 7, 64} {
		_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
			w.SplitEvery = every
			w.Reasoning("思考")
			w.Signature("s==")
			w.KeepAlive()
			w.Text(manyScripts)
			w.Text("\r\n")
		})
		parts := Whole(t, m, Ask("hi"))
		if got := Text(parts); got != manyScripts+"\r\n" {
			t.Errorf("split every %d bytes: %q", every, got)
		}
		if got := Reasoning(parts); p.Reasons && got != "思考" {
			t.Errorf("split every %d bytes: reasoning %q", every, got)
		}
	}
}

func (p Provider) longAnswer(t *testing.T) {
	_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
		for range 500 {
			w.Text("0123456789")
		}
	})
	if got := Text(Whole(t, m, Ask("hi"))); len(got) != 5000 {
		t.Errorf("%d bytes of 5000", len(got))
	}
}

func (p Provider) promptly(t *testing.T) {
	gate := make(chan struct{})
	_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
		w.Text("first")
		w.Wait(gate)
		w.Text("second")
	})
	var said string
	for part, err := range m.Stream(t.Context(), Ask("hi")) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := part.(model.TextDelta); ok {
			if said += d.Text; said == "first" {
				close(gate) // the server cannot go on before this
			}
		}
	}
	if said != "firstsecond" {
		t.Errorf("said %q", said)
	}
}

func (p Provider) asks(t *testing.T) {
	var got *providerwire.Request
	s, m := p.serve(t, func(r *providerwire.Request, w *providerwire.Writer) {
		got = r
		w.Text("ok")
	})
	warm := 0.5
	r := model.Request{
		Instructions:    "Be brief.",
		MaxOutputTokens: 77,
		Temperature:     &warm,
		Key:             "step-1",
		Tools:           []model.Tool{{Name: "look", Description: "Looks.", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`)}},
		Messages: []model.Message{
			Says(model.User, "one"),
			{Role: model.Assistant, Content: []model.Content{{Kind: model.TextContent, Text: "t"}, {Kind: model.TextContent, Text: "wo"}}},
			{Role: model.User, Content: []model.Content{
				{Kind: model.TextContent, Text: "three"},
				{Kind: model.FileContent, MediaType: "image/png", Data: []byte("\x89PNG")},
				{Kind: model.FileContent, MediaType: "image/png", URL: "https://example.org/a.png"},
				{Kind: model.FileContent, MediaType: "application/pdf", URL: "data:application/pdf;base64,JVBERg=="},
			}},
		},
	}
	Whole(t, m, r)
	if got.Instructions != "Be brief." || got.MaxTokens != 77 || !slices.Equal(got.Tools, []string{"look"}) {
		t.Errorf("asked with %q, %d tokens, tools %q", got.Instructions, got.MaxTokens, got.Tools)
	}
	if len(got.Messages) != 3 || got.Messages[1].Text != "two" || got.Messages[2].Text != "three" || got.Messages[2].Files != 3 {
		t.Errorf("messages %+v", got.Messages)
	}
	if body := s.Records()[0].Body; !json.Valid([]byte(body)) || !containsAll(body, "9007199254740993", "iVBORw==", "https://example.org/a.png", "JVBERg==") {
		t.Errorf("body %s", body)
	}
}

func (p Provider) options(t *testing.T) {
	s, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) { w.Text("ok") })
	r := Ask("hi")
	r.Headers = map[string]string{"X-Mine": "yes"}
	r.ProviderOptions = map[string]json.RawMessage{
		p.Options: json.RawMessage(`{"service_tier":"flex","metadata":{"a":{"b":1}}}`),
		"another": json.RawMessage(`{"of_another":1}`),
	}
	Whole(t, m, r)
	got := s.Records()[0]
	if got.Header.Get("X-Mine") != "yes" || !containsAll(got.Body, `"service_tier":"flex"`, `"metadata":{"a":{"b":1}}`) || containsAll(got.Body, "of_another") {
		t.Errorf("sent %s with %v", got.Body, got.Header)
	}
	r.ProviderOptions = map[string]json.RawMessage{p.Options: json.RawMessage(`[]`)}
	if _, err := Collect(t, t.Context(), m, r); model.CauseOf(err) != model.Refused || len(s.Records()) != 1 {
		t.Errorf("options that are no object: %v, %d requests", err, len(s.Records()))
	}
}

func (p Provider) raw(t *testing.T) {
	const seen = `{"an_event_of":"tomorrow","type":"tomorrow"}`
	_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
		w.Text("one")
		w.Raw("event: tomorrow\ndata: " + seen + "\n\n")
		w.Text("two")
	})
	var events []string
	ctx := model.WithRaw(t.Context(), func(e json.RawMessage) { events = append(events, string(e)) })
	parts, err := Collect(t, ctx, m, Ask("hi"))
	if err != nil || Text(parts) != "onetwo" {
		t.Errorf("%q, %v", Text(parts), err)
	}
	at := slices.Index(events, seen)
	before := slices.IndexFunc(events, func(e string) bool { return containsAll(e, "one") })
	after := slices.IndexFunc(events, func(e string) bool { return containsAll(e, "two") })
	if at < 0 || before < 0 || before >= at || at >= after {
		t.Errorf("events %q", events)
	}
}
