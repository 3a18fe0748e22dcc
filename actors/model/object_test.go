package model_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

type place struct {
	City   string   `json:"city" jsonschema:"without the country"`
	People int      `json:"people"`
	Nick   string   `json:"nick,omitempty"`
	Near   []string `json:"near,omitempty"`
}

func TestAnObjectIsReadFromWhatTheModelSays(t *testing.T) {
	want := place{City: "Bonn", People: 5}
	for name, text := range map[string]string{
		"plain":            `{"city":"Bonn","people":5}`,
		"in a fence":       "```json\n{\"city\":\"Bonn\",\"people\":5}\n```",
		"with some words":  "Here you are:\n{\"city\":\"Bonn\",\"people\":5}\nAnything else?",
		"with white space": "\n {\"city\": \"Bonn\",\n \"people\": 5}\n",
	} {
		var h heard
		got, used, err := model.Object[place](t.Context(), h.says(scripted.Say(text)), asked("where?"))
		if err != nil || !reflect.DeepEqual(got, want) || used.Output == 0 || len(h.requests) != 1 {
			t.Errorf("%s: %+v, %+v, %v", name, got, used, err)
		}
		r := h.requests[0]
		if !strings.Contains(string(r.Schema), "without the country") || !strings.Contains(r.Instructions, string(r.Schema)) || r.Tools != nil {
			t.Errorf("asked %+v", r)
		}
	}
}

func TestAWrongObjectIsSentBackOnce(t *testing.T) {
	for name, wrong := range map[string]string{
		"no JSON":            "I don't know",
		"cut JSON":           `{"city":"Bonn","peo`,
		"a missing field":    `{"city":"Bonn"}`,
		"a field too many":   `{"city":"Bonn","people":5,"river":"Rhine"}`,
		"a wrong type":       `{"city":"Bonn","people":"five"}`,
		"two objects":        `{"city":"Bonn","people":5} or {"city":"Ulm","people":2}`,
		"nothing":            "",
		"a number too large": `{"city":"Bonn","people":1e300}`,
	} {
		var h heard
		answers := []string{wrong, `{"city":"Bonn","people":5}`}
		m := scripted.New(func(r model.Request) scripted.Answer {
			h.requests = append(h.requests, r)
			return scripted.Say(answers[len(h.requests)-1])
		})
		got, used, err := model.Object[place](t.Context(), m, asked("where?"))
		if err != nil || got.City != "Bonn" || len(h.requests) != 2 || used.Output < 1 {
			t.Errorf("%s: %+v, %v, %d requests", name, got, err, len(h.requests))
			continue
		}
		messages := h.requests[1].Messages
		last := messages[len(messages)-1]
		if last.Role != model.User || !strings.Contains(last.Content[0].Text, "does not follow the schema") {
			t.Errorf("%s: sent back %+v", name, messages)
		}
		for _, message := range messages {
			if strings.TrimSpace(message.Content[0].Text) == "" {
				t.Errorf("%s: an empty message is sent", name)
			}
		}
	}
}

func TestAnObjectThatStaysWrongIsAnError(t *testing.T) {
	var h heard
	_, used, err := model.Object[place](t.Context(), h.says(scripted.Say("no")), asked("where?"))
	var invalid *model.InvalidObject
	if !errors.As(err, &invalid) || invalid.Text != "no" || len(h.requests) != 2 || used.Output != 2 {
		t.Errorf("%v, %d requests, %+v", err, len(h.requests), used)
	}
	failed := fails(model.Overload, 0)
	if _, _, err := model.Object[place](t.Context(), scripted.Sequence(scripted.Answer{scripted.Fail{Err: failed}}), asked("where?")); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

func TestAValueThatIsNoObjectComesInOne(t *testing.T) {
	var h heard
	got, _, err := model.Object[[]string](t.Context(), h.says(scripted.Say(`{"value":["a","b"]}`)), asked("list"))
	if err != nil || !reflect.DeepEqual(got, []string{"a", "b"}) || !strings.Contains(string(h.requests[0].Schema), `"type":"object"`) {
		t.Errorf("%q, %v", got, err)
	}
	if _, _, err := model.Object[func()](t.Context(), h.says(nil), asked("list")); err == nil || !strings.Contains(err.Error(), "func()") {
		t.Errorf("%v", err)
	}
}
