package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// collect reads an answer to its end.
func collect(ctx context.Context, m model.Model, r model.Request) (parts []model.Part, err error) {
	for p, e := range m.Stream(ctx, r) {
		if e != nil {
			return parts, e
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func answering(steps ...scripted.Step) *scripted.Model {
	return scripted.New(func(model.Request) scripted.Answer { return steps })
}

func TestAnAnswerPlaysItsStepsInOrder(t *testing.T) {
	signature := model.Metadata{"acme": json.RawMessage(`{"signature":"x=="}`)}
	m := answering(
		scripted.Reasoning{Pieces: []string{"let", " me"}, Metadata: signature},
		scripted.Text{Pieces: []string{"see", "", " this"}},
		scripted.Source{ID: "s1", URL: "https://example.org"},
		scripted.Call{ID: "c1", Tool: "look", Pieces: []string{`{"at":`, `1}`}},
	)
	got, err := collect(t.Context(), m, model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Part{
		model.ReasoningStart{ID: "1"},
		model.ReasoningDelta{ID: "1", Text: "let"},
		model.ReasoningDelta{ID: "1", Text: " me"},
		model.ReasoningEnd{ID: "1", Metadata: signature},
		model.TextStart{ID: "2"},
		model.TextDelta{ID: "2", Text: "see"},
		model.TextDelta{ID: "2", Text: " this"},
		model.TextEnd{ID: "2"},
		model.Source{ID: "s1", URL: "https://example.org"},
		model.ToolInputStart{CallID: "c1", Tool: "look"},
		model.ToolInputDelta{CallID: "c1", Text: `{"at":`},
		model.ToolInputDelta{CallID: "c1", Text: `1}`},
		model.ToolCall{CallID: "c1", Tool: "look", Input: json.RawMessage(`{"at":1}`)},
		model.FinishPart{Reason: model.ToolCalls, Usage: model.Usage{Output: 6, Reasoning: 2}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

func TestFinishEndsTheAnswerWithItsOwnReasonAndUsage(t *testing.T) {
	m := answering(
		scripted.Finish{Reason: model.Length, Usage: model.Usage{Input: 7, Output: 3}},
		scripted.Text{Pieces: []string{"never said"}},
	)
	got, err := collect(t.Context(), m, model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Part{model.FinishPart{Reason: model.Length, Usage: model.Usage{Input: 7, Output: 3}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
}

func TestFailureComesWhereTheScriptPutsIt(t *testing.T) {
	boom := &model.Error{Cause: model.Transient, Public: "busy", Err: errors.New("boom")}
	for name, c := range map[string]struct {
		steps []scripted.Step
		parts int
	}{
		"before the first part":   {[]scripted.Step{scripted.Fail{boom}}, 0},
		"in the middle of a text": {[]scripted.Step{scripted.Text{Pieces: []string{"half"}, Open: true}, scripted.Fail{boom}}, 2},
		"after a text":            {[]scripted.Step{scripted.Text{Pieces: []string{"whole"}}, scripted.Fail{boom}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := collect(t.Context(), answering(c.steps...), model.Request{})
			if !errors.Is(err, boom) || model.CauseOf(err) != model.Transient {
				t.Errorf("error %v", err)
			}
			if len(got) != c.parts {
				t.Errorf("%d parts before the error, want %d: %#v", len(got), c.parts, got)
			}
		})
	}
}

func TestSequenceAnswersOnceEach(t *testing.T) {
	m := scripted.Sequence(scripted.Say("one"), scripted.Say("two"))
	var said []string
	for range 2 {
		said = append(said, sayings(t, m, model.Request{}))
	}
	if !reflect.DeepEqual(said, []string{"one", "two"}) {
		t.Errorf("said %q", said)
	}
	if _, err := collect(t.Context(), m, model.Request{}); model.CauseOf(err) != model.Refused {
		t.Errorf("the third request: %v", err)
	}
}

func sayings(t *testing.T, m model.Model, r model.Request) string {
	t.Helper()
	parts, err := collect(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	return text(parts)
}

func text(parts []model.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if d, ok := p.(model.TextDelta); ok {
			b.WriteString(d.Text)
		}
	}
	return b.String()
}

func TestPiecesKeepTheirPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := answering(scripted.Wait(time.Second), scripted.Text{Pieces: []string{"a", "b"}, Every: 30 * time.Millisecond})
		start := time.Now()
		var at []time.Duration
		for p, err := range m.Stream(t.Context(), model.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := p.(model.TextDelta); ok {
				at = append(at, time.Since(start))
			}
		}
		if want := []time.Duration{1030 * time.Millisecond, 1060 * time.Millisecond}; !reflect.DeepEqual(at, want) {
			t.Errorf("deltas at %v, want %v", at, want)
		}
	})
}

func TestAnAnswerStopsWhileItWaits(t *testing.T) {
	stop := errors.New("visitor pressed stop")
	// The steps are made inside the bubble, so that their channels belong to it.
	for name, wait := range map[string]func() scripted.Step{
		"between pieces": func() scripted.Step { return scripted.Text{Pieces: []string{"late"}, Every: time.Hour} },
		"at a gate":      func() scripted.Step { return scripted.Text{Pieces: []string{"late"}, Gate: make(chan struct{})} },
		"in a hold":      func() scripted.Step { return scripted.Hold(make(chan struct{})) },
		"in a wait":      func() scripted.Step { return scripted.Wait(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Minute, func() { cancel(stop) })
				start := time.Now()
				_, err := collect(ctx, answering(wait()), model.Request{})
				if !errors.Is(err, stop) {
					t.Errorf("error %v, want the cause of the cancel", err)
				}
				if d := time.Since(start); d != time.Minute {
					t.Errorf("ended after %v", d)
				}
			})
		})
	}
}

func TestAGateLetsOnePieceThroughAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		m := answering(scripted.Text{Pieces: []string{"a", "b", "c"}, Gate: gate})
		var said strings.Builder
		done := make(chan struct{})
		go func() {
			defer close(done)
			for p, err := range m.Stream(t.Context(), model.Request{}) {
				if err != nil {
					t.Error(err)
				}
				if d, ok := p.(model.TextDelta); ok {
					said.WriteString(d.Text)
				}
			}
		}()
		gate <- struct{}{}
		synctest.Wait()
		if said.String() != "a" {
			t.Errorf("after one opening: %q", said.String())
		}
		close(gate)
		<-done
		if said.String() != "abc" {
			t.Errorf("in the end: %q", said.String())
		}
	})
}

func TestBreakingOffIsQuiet(t *testing.T) {
	n := 0
	for _, err := range scripted.New(func(model.Request) scripted.Answer { return scripted.Say("a b c") }).Stream(t.Context(), model.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d parts", n)
	}
}

func TestWordsJoinToTheTextAgain(t *testing.T) {
	for text, want := range map[string]int{"": 0, "one": 1, " one": 1, "one two": 2, "one  two\n\nthree ": 4, "  ": 1, "жёлтый 世界": 2} {
		pieces := scripted.Words(text)
		if got := strings.Join(pieces, ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
		if len(pieces) != want {
			t.Errorf("%q cut into %q, want %d pieces", text, pieces, want)
		}
	}
}
