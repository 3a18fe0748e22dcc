package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// heard keeps the requests that a model gets.
type heard struct{ requests []model.Request }

// says answers each request with the same.
func (h *heard) says(answer scripted.Answer) *scripted.Model {
	return scripted.New(func(r model.Request) scripted.Answer {
		h.requests = append(h.requests, r)
		return answer
	})
}

func asked(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: text}}}}}
}

// read returns the parts of an answer, and its error.
func read(ctx context.Context, m model.Model, r model.Request) (parts []model.Part, err error) {
	for p, e := range m.Stream(ctx, r) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// shown writes parts in short: "text(…) reasoning(…) …".
func shown(parts []model.Part) string {
	var out []string
	open := map[string]string{}
	for _, p := range parts {
		switch p := p.(type) {
		case model.TextStart:
			open[p.ID] = ""
		case model.TextDelta:
			open[p.ID] += p.Text + "|"
		case model.TextEnd:
			out = append(out, "text("+open[p.ID]+")")
		case model.ReasoningStart:
			open[p.ID] = ""
		case model.ReasoningDelta:
			open[p.ID] += p.Text + "|"
		case model.ReasoningEnd:
			out = append(out, "reasoning("+open[p.ID]+")")
			if p.Metadata != nil {
				out = append(out, "signed")
			}
		case model.ToolCall:
			out = append(out, fmt.Sprintf("call(%s %s %s)", p.CallID, p.Tool, p.Input))
		case model.FinishPart:
			out = append(out, string(p.Reason))
		}
	}
	return strings.Join(out, " ")
}

func TestTheFirstMiddlewareSeesTheRequestFirst(t *testing.T) {
	mark := func(s string) model.Middleware {
		return model.Around(func(ctx context.Context, r model.Request, next model.Model) iter.Seq2[model.Part, error] {
			r.Instructions += s
			return func(yield func(model.Part, error) bool) {
				for p, err := range next.Stream(ctx, r) {
					if d, ok := p.(model.TextDelta); ok {
						d.Text += s
						p = d
					}
					if !yield(p, err) {
						return
					}
				}
			}
		})
	}
	var h heard
	inner := h.says(scripted.Say("said"))
	inner.Remark = "a remark"
	m := model.Wrap(inner, mark(" first"), mark(" second"))
	parts, err := read(t.Context(), m, asked("hi"))
	if got := shown(parts); err != nil || got != "text(said second first|) stop" || h.requests[0].Instructions != " first second" {
		t.Errorf("%q, %q, %v", got, h.requests[0].Instructions, err)
	}
	if n, ok := m.(model.Noter); !ok || n.Note() != "a remark" || m.Name() != "scripted" || !model.Prefills(m) {
		t.Errorf("what is inside is not passed on")
	}
	inner.RefusesPrefill = true
	if model.Prefills(m) {
		t.Error("it prefills though what is inside does not")
	}
}

func TestDefaultsFillWhatARequestLeavesOpen(t *testing.T) {
	var h heard
	warm, cold, seed := 0.9, 0.1, int64(7)
	m := model.Wrap(h.says(scripted.Say("ok")), model.Defaults(model.Request{
		Instructions: "default", MaxOutputTokens: 10, Temperature: &warm, Seed: &seed, StopSequences: []string{"END"},
		Headers:         map[string]string{"A": "default", "B": "default"},
		ProviderOptions: map[string]json.RawMessage{"x": json.RawMessage(`{"a":1,"b":1}`), "y": json.RawMessage(`{}`)},
	}))
	r := asked("hi")
	r.Temperature, r.Headers = &cold, map[string]string{"B": "own"}
	r.ProviderOptions = map[string]json.RawMessage{"x": json.RawMessage(`{"b":2}`)}
	if _, err := read(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	got := h.requests[0]
	want := model.Request{
		Messages: r.Messages, Instructions: "default", MaxOutputTokens: 10, Temperature: &cold, Seed: &seed, StopSequences: []string{"END"},
		Headers:         map[string]string{"A": "default", "B": "own"},
		ProviderOptions: map[string]json.RawMessage{"x": json.RawMessage(`{"a":1,"b":2}`), "y": json.RawMessage(`{}`)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("asked %+v\nwant  %+v", got, want)
	}
}

func TestAnswersAreLoggedWithoutWhatWasSaid(t *testing.T) {
	var b bytes.Buffer
	log := model.Logged(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))
	m := model.Wrap(scripted.Sequence(scripted.Say("a secret"), scripted.Answer{scripted.Fail{Err: &model.Error{
		Cause: model.Transient, Class: model.RateLimit, Err: errors.New("slow down"),
	}}}), log)
	for range 2 {
		read(t.Context(), m, asked("another secret")) //nolint:errcheck // the second one fails
	}
	for _, want := range []string{"level=DEBUG", "reason=stop", "level=WARN", "class=rate-limit", "slow down", "a higher limit"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "secret") {
		t.Errorf("logged %s", b.String())
	}
}

func TestAGuardrailSeesAPatternThatIsSplitBetweenChunks(t *testing.T) {
	mask := func(_ context.Context, text string) (string, error) {
		return strings.ReplaceAll(text, "secret", "******"), nil
	}
	refuse := func(_ context.Context, text string) (string, error) {
		if strings.Contains(text, "secret") {
			return "", errors.New("it says secret")
		}
		return text, nil
	}
	for name, c := range map[string]struct {
		output func(context.Context, string) (string, error)
		window int
		pieces []string
		want   string
		fails  bool
	}{
		"masked in a window":          {mask, 5, []string{"my sec", "ret is", " here"}, "text(m|y ****|** is| here|) stop", false},
		"masked byte by byte":         {mask, 5, strings.Split("a secret", ""), "text(a| |*|*****|) stop", false},
		"whole blocks":                {mask, 0, []string{"my sec", "ret"}, "text(my ******|) stop", false},
		"nothing to find":             {mask, 3, []string{"Grüße, 世界"}, "text(Grüße, 世|界|) stop", false},
		"the answer ends at a find":   {refuse, 5, []string{"my sec", "ret"}, "", true},
		"a find in the end":           {refuse, 99, []string{"my ", "secret"}, "", true},
		"nothing of a find is seen":   {refuse, 5, []string{"0123456789 sec", "ret"}, "", true},
		"what is held back is seen":   {refuse, 99, []string{"se", "cre", "p"}, "text(secrep|) stop", false},
		"an empty answer is an empty": {refuse, 0, nil, "text() stop", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := model.Wrap(scripted.Sequence(scripted.Answer{scripted.Text{Pieces: c.pieces}}), model.Guardrail{Output: c.output, Window: c.window}.Middleware())
			parts, err := read(t.Context(), m, asked("hi"))
			if got := shown(parts); got != c.want || (err != nil) != c.fails {
				t.Errorf("%q, %v", got, err)
			}
			var seen string
			for _, p := range parts {
				if d, ok := p.(model.TextDelta); ok {
					seen += d.Text
				}
			}
			if strings.Contains(seen, "sec") && c.fails {
				t.Errorf("seen %q", seen)
			}
			if c.fails && (model.ClassOf(err) != model.Filtered || model.CauseOf(err) != model.Refused) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAGuardrailStopsARequest(t *testing.T) {
	var h heard
	own := &model.Error{Cause: model.Refused, Public: "Not about cats.", Err: errors.New("cats")}
	m := model.Wrap(h.says(scripted.Say("ok")), model.Guardrail{Input: func(_ context.Context, r model.Request) error {
		switch text := r.Messages[0].Content[0].Text; {
		case strings.Contains(text, "cat"):
			return own
		case strings.Contains(text, "dog"):
			return errors.New("dogs")
		}
		return nil
	}}.Middleware())
	var e *model.Error
	if _, err := read(t.Context(), m, asked("a dog")); !errors.As(err, &e) || e.Public == "" || strings.Contains(e.Public, "dogs") {
		t.Errorf("%v", err)
	}
	if _, err := read(t.Context(), m, asked("a cat")); !errors.Is(err, own) {
		t.Errorf("%v", err)
	}
	if parts, err := read(t.Context(), m, asked("a bird")); err != nil || len(h.requests) != 1 || shown(parts) != "text(ok|) stop" {
		t.Errorf("%v, %d requests", err, len(h.requests))
	}
}

func TestReasoningThatAGuardrailHasChangedIsNotSigned(t *testing.T) {
	signed := model.Metadata{"p": json.RawMessage(`{"signature":"s"}`)}
	guard := model.Guardrail{Output: func(_ context.Context, text string) (string, error) {
		return strings.ReplaceAll(text, "secret", "******"), nil
	}}.Middleware()
	m := model.Wrap(scripted.Sequence(scripted.Answer{
		scripted.Reasoning{Pieces: []string{"a secret"}, Metadata: signed}, scripted.Reasoning{Pieces: []string{"a thought"}, Metadata: signed},
	}), guard)
	parts, err := read(t.Context(), m, asked("hi"))
	if got := shown(parts); err != nil || got != "reasoning(a ******|) reasoning(a thought|) signed stop" {
		t.Errorf("%q, %v", got, err)
	}
}
