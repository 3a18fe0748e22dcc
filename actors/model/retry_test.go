package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

func fails(class model.Class, after time.Duration) *model.Error {
	cause := map[model.Class]model.Cause{
		model.RateLimit: model.Transient, model.Overload: model.Transient, model.Network: model.Transient,
		model.Auth: model.Unauthorised, model.ContextOverflow: model.TooLong,
	}[class]
	if cause == "" {
		cause = model.Refused
	}
	return &model.Error{Cause: cause, Class: class, Public: "no", RetryAfter: after, Err: errors.New(string(class))}
}

func failing(class model.Class) scripted.Answer {
	return scripted.Answer{scripted.Fail{Err: fails(class, 0)}}
}

func TestAModelIsAskedAgainBeforeItHasBegun(t *testing.T) {
	for name, c := range map[string]struct {
		answers []scripted.Answer
		want    string
		least   time.Duration
		most    time.Duration
		fails   model.Class
	}{
		"it works":              {[]scripted.Answer{scripted.Say("ok")}, "text(ok|) stop", 0, 0, ""},
		"overloaded twice":      {[]scripted.Answer{failing(model.Overload), failing(model.Network), scripted.Say("ok")}, "text(ok|) stop", 1500 * time.Millisecond, 3 * time.Second, ""},
		"it fails for good":     {[]scripted.Answer{failing(model.Overload), failing(model.Overload), failing(model.RateLimit)}, "", 1500 * time.Millisecond, 3 * time.Second, model.RateLimit},
		"the request is bad":    {[]scripted.Answer{failing(model.BadRequest)}, "", 0, 0, model.BadRequest},
		"the key is wrong":      {[]scripted.Answer{failing(model.Auth)}, "", 0, 0, model.Auth},
		"the provider's wish":   {[]scripted.Answer{{scripted.Fail{Err: fails(model.RateLimit, 7*time.Second)}}, scripted.Say("ok")}, "text(ok|) stop", 7 * time.Second, 7 * time.Second, ""},
		"the wish is too long":  {[]scripted.Answer{{scripted.Fail{Err: fails(model.RateLimit, time.Hour)}}}, "", 0, 0, model.RateLimit},
		"the answer has begun":  {[]scripted.Answer{{scripted.Text{Pieces: []string{"half"}}, scripted.Fail{Err: fails(model.Network, 0)}}}, "text(half|)", 0, 0, model.Network},
		"refused as overloaded": {[]scripted.Answer{{scripted.Fail{Err: &model.Error{Cause: model.Refused, Class: model.Overload, Err: errors.New("no")}}}}, "", 0, 0, model.Overload},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				parts, err := read(t.Context(), &model.Retry{Model: scripted.Sequence(c.answers...)}, asked("hi"))
				took := time.Since(began)
				if got := shown(parts); got != c.want || model.ClassOf(err) != c.fails || took < c.least || took > c.most {
					t.Errorf("%q, %v, after %v", got, err, took)
				}
			})
		})
	}
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
		began := time.Now()
		_, err := read(ctx, &model.Retry{Model: scripted.Sequence(failing(model.Overload), scripted.Say("ok"))}, asked("hi"))
		if !errors.Is(err, stop) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestTheNextModelAnswersIfOneCannot(t *testing.T) {
	label := func(name string, a ...scripted.Answer) *scripted.Model {
		m := scripted.Sequence(a...)
		m.Label = name
		return m
	}
	for name, c := range map[string]struct {
		first  scripted.Answer
		second scripted.Answer
		want   string
		by     string
		fails  model.Class
	}{
		"the first":            {scripted.Say("one"), scripted.Say("two"), "text(one|) stop", "", ""},
		"out of capacity":      {failing(model.Overload), scripted.Say("two"), "text(two|) stop", "b", ""},
		"out of credit":        {failing(model.Auth), scripted.Say("two"), "text(two|) stop", "b", ""},
		"a bad request":        {failing(model.BadRequest), scripted.Say("two"), "", "", model.BadRequest},
		"both":                 {failing(model.Overload), failing(model.RateLimit), "", "", model.RateLimit},
		"both, for two causes": {failing(model.Overload), failing(model.BadRequest), "", "", model.BadRequest},
		"after the first part": {scripted.Answer{scripted.Reasoning{Pieces: []string{"hm"}}, scripted.Fail{Err: fails(model.Overload, 0)}}, scripted.Say("two"), "reasoning(hm|)", "", model.Overload},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model.Fallback{Models: []model.Model{label("a", c.first), label("b", c.second)}}
			parts, err := read(t.Context(), m, asked("hi"))
			if got := shown(parts); got != c.want || model.ClassOf(err) != c.fails || m.Name() != "a" {
				t.Errorf("%q, %v", got, err)
			}
			if err == nil && parts[len(parts)-1].(model.FinishPart).Model != c.by { //nolint:forcetypeassert // a whole answer
				t.Errorf("%+v", parts[len(parts)-1])
			}
			if name == "both" && (!strings.Contains(err.Error(), "overload") || !strings.Contains(err.Error(), "rate-limit")) {
				t.Errorf("an operator reads %v", err)
			}
		})
	}
	refusing := label("c")
	refusing.RefusesPrefill = true
	for want, m := range map[bool]model.Model{
		true:  &model.Fallback{Models: []model.Model{label("a"), label("b")}},
		false: &model.Fallback{Models: []model.Model{label("a"), refusing}},
	} {
		if model.Prefills(m) != want {
			t.Errorf("prefills: %v", !want)
		}
	}
	if _, err := read(t.Context(), &model.Fallback{}, asked("hi")); model.CauseOf(err) != model.Refused {
		t.Errorf("without models: %v", err)
	}
}

func TestARetryBehindAFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model.Fallback{Models: []model.Model{
			&model.Retry{Model: scripted.Sequence(failing(model.Overload), failing(model.Overload)), Attempts: 2},
			scripted.Sequence(scripted.Say("two")),
		}}
		if parts, err := read(t.Context(), m, asked("hi")); err != nil || shown(parts) != "text(two|) stop" {
			t.Errorf("%q, %v", shown(parts), err)
		}
	})
}
