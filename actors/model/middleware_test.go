package model_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

func TestTheSameRequestIsAnsweredFromTheStore(t *testing.T) {
	var h heard
	m := model.Wrap(h.says(scripted.Answer{
		scripted.Text{Pieces: []string{"one ", "two"}}, scripted.Call{ID: "c1", Tool: "look", Input: `{}`},
	}), model.Cached(model.NewMemoryStore(2)))
	r := asked("a")
	r.Key = "turn/1"
	first, err := read(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	r.Key, r.Headers = "turn/2", map[string]string{"Trace": "x"}
	again, err := read(t.Context(), m, r)
	if err != nil || shown(again) != shown(first) || len(h.requests) != 1 {
		t.Errorf("%q then %q, %v, %d requests", shown(first), shown(again), err, len(h.requests))
	}
	spent := func(parts []model.Part) model.Usage { return parts[len(parts)-1].(model.FinishPart).Usage } //nolint:forcetypeassert // a whole answer
	if spent(first).Output == 0 || spent(again) != (model.Usage{}) {
		t.Errorf("spent %+v, then %+v", spent(first), spent(again))
	}
	for _, text := range []string{"b", "a", "c", "a", "b"} { // b is the one that was used least when c comes
		if _, err := read(t.Context(), m, asked(text)); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.requests) != 4 {
		t.Errorf("%d requests of 4", len(h.requests))
	}
}

func TestOnlyWholeAnswersAreKept(t *testing.T) {
	failed := errors.New("broken")
	m := model.Wrap(scripted.Sequence(
		scripted.Answer{scripted.Text{Pieces: []string{"half"}}, scripted.Fail{Err: failed}},
		scripted.Answer{scripted.Text{Pieces: []string{"cut"}}, scripted.Finish{Reason: model.Length}},
		scripted.Say("whole"),
	), model.Cached(model.NewMemoryStore(9)))
	if _, err := read(t.Context(), m, asked("a")); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	for range 2 {
		if _, err := read(t.Context(), m, asked("a")); err != nil {
			t.Error(err)
		}
	}
	if parts, err := read(t.Context(), m, asked("a")); err != nil || shown(parts) != "text(whole|) stop" {
		t.Errorf("%q, %v", shown(parts), err)
	}
}

func TestReasoningIsTakenFromTags(t *testing.T) {
	for name, c := range map[string]struct {
		begun bool
		text  string
		want  string // pieces joined
	}{
		"none":                      {false, "just text", "text(just text) stop"},
		"at the beginning":          {false, "<think>\nhm\n</think>\n\nyes", "reasoning(hm) text(yes) stop"},
		"twice":                     {false, "a <think>b</think> c<think>d</think>", "text(a) reasoning(b) text(c) reasoning(d) stop"},
		"without an opening tag":    {true, "hm</think>yes", "reasoning(hm) text(yes) stop"},
		"never closed":              {false, "<think>hm", "reasoning(hm) stop"},
		"empty":                     {false, "<think>\n\n</think>\n\nyes", "text(yes) stop"},
		"an angle is no tag":        {false, "1 < 2 <thin> <think", "text(1 < 2 <thin> <think) stop"},
		"white space inside stays":  {false, "a  b\n\nc", "text(a  b\n\nc) stop"},
		"white space at the end":    {false, "a \n", "text(a \n) stop"},
		"a closing tag without one": {false, "a</think>b", "text(a</think>b) stop"},
	} {
		for _, every := range []int{1, 2, 3, 5, 100} {
			var pieces []string
			for rest := c.text; rest != ""; rest = rest[min(every, len(rest)):] {
				pieces = append(pieces, rest[:min(every, len(rest))])
			}
			m := model.Wrap(scripted.Sequence(scripted.Answer{scripted.Text{Pieces: pieces}}), model.ExtractReasoning("think", c.begun))
			parts, err := read(t.Context(), m, asked("hi"))
			if got := strings.ReplaceAll(shown(parts), "|", ""); err != nil || got != c.want {
				t.Errorf("%s, every %d bytes: %q, want %q, %v", name, every, got, c.want, err)
			}
		}
	}
}

func TestTagsThatBreakOffLoseNothing(t *testing.T) {
	failed := errors.New("broken")
	m := model.Wrap(scripted.Sequence(scripted.Answer{scripted.Text{Pieces: []string{"a <th"}, Open: true}, scripted.Fail{Err: failed}}), model.ExtractReasoning("think", false))
	parts, err := read(t.Context(), m, asked("hi"))
	var text string
	for _, p := range parts {
		if d, ok := p.(model.TextDelta); ok {
			text += d.Text
		}
	}
	if text != "a <th" || !errors.Is(err, failed) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWhatComesAtOnceIsCutIntoWords(t *testing.T) {
	long := strings.Repeat("語", 50) + strings.Repeat("\x80", 100)
	m := model.Wrap(scripted.Sequence(scripted.Answer{
		scripted.Reasoning{Pieces: []string{"let me see"}}, scripted.Text{Pieces: []string{"one two\nthree", long}}, scripted.Call{ID: "c", Tool: "t", Input: "{}"},
	}), model.SimulateStreaming())
	parts, err := read(t.Context(), m, asked("hi"))
	got := shown(parts)
	if err != nil || !strings.HasPrefix(got, "reasoning(let |me |see|) text(one |two\n|three|") || !strings.HasSuffix(got, "call(c t {}) tool-calls") {
		t.Errorf("%q, %v", got, err)
	}
	if !strings.Contains(strings.ReplaceAll(got, "|", ""), long) || strings.Count(got, "|") != 10 {
		t.Errorf("%q", got)
	}
}
