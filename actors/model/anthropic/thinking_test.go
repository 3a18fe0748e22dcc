package anthropic_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/anthropic"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

// serve starts a server and a model that asks it with the config.
func serve(t *testing.T, c anthropic.Config, handler providerwire.Handler) (*providerwire.Server, model.Model) {
	t.Helper()
	s := providerwire.Start(handler)
	t.Cleanup(func() { s.Close() }) //nolint:errcheck // the test is over
	c.BaseURL, c.APIKey, c.HTTPClient = s.URL, modelsuite.Key, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	m, err := anthropic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

func silent(*providerwire.Request, *providerwire.Writer) {}

func TestThinkingIsAskedForAsTheModelKnowsIt(t *testing.T) {
	warm := 0.3
	r := modelsuite.Ask("hi")
	r.Temperature = &warm
	r.MaxOutputTokens = 100
	for want, c := range map[string]anthropic.Config{
		`{"max_tokens":100,"temperature":0.3,"thinking":null}`:                                        {Model: "claude-sonnet-4-5"},
		`{"max_tokens":100,"temperature":null,"thinking":{"display":"summarized","type":"adaptive"}}`: {Model: "claude-sonnet-5", AdaptiveThinking: true},
		`{"max_tokens":2049,"temperature":null,"thinking":{"budget_tokens":2048,"type":"enabled"}}`:   {Model: "claude-sonnet-4-5", ThinkingTokens: 2048},
	} {
		s, m := serve(t, c, silent)
		modelsuite.Whole(t, m, r)
		var body map[string]any
		if err := json.Unmarshal([]byte(s.Records()[0].Body), &body); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(map[string]any{"max_tokens": body["max_tokens"], "temperature": body["temperature"], "thinking": body["thinking"]})
		if string(got) != want {
			t.Errorf("sent %s, want %s", got, want)
		}
	}
}

// Thinking that the provider hides comes as a blob alone.
func TestRedactedThinkingComesBack(t *testing.T) {
	s, m := serve(t, anthropic.Config{Model: "claude-sonnet-5", AdaptiveThinking: true}, func(r *providerwire.Request, w *providerwire.Writer) {
		if r.N > 1 {
			return
		}
		w.Raw("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":7,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"blob==\"}}\n\n" +
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":7}\n\n")
		w.Text("said")
	})
	s.Accept("blob==")
	r := modelsuite.Ask("hi")
	r.Messages = append(r.Messages, modelsuite.Message(modelsuite.Whole(t, m, r)), modelsuite.Says(model.User, "and?"))
	modelsuite.Whole(t, m, r)
	if body := s.Records()[1].Body; !strings.Contains(body, `{"data":"blob==","type":"redacted_thinking"}`) {
		t.Errorf("sent %s", body)
	}
}

func TestOnlyOlderModelsThatDoNotThinkPrefill(t *testing.T) {
	for id, want := range map[string]bool{
		"claude-3-5-haiku-latest": true, "claude-sonnet-4-20250514": true, "claude-sonnet-4-5-20250929": true, "claude-haiku-4-5": true, "claude-opus-4-5": true,
		"claude-opus-4-6": false, "claude-sonnet-4-6": false, "claude-sonnet-5": false, "claude-of-the-future": false,
	} {
		_, m := serve(t, anthropic.Config{Model: id}, silent)
		if model.Prefills(m) != want {
			t.Errorf("%s prefills: %v", id, !want)
		}
	}
	if _, m := serve(t, anthropic.Config{Model: "claude-sonnet-4-5", ThinkingTokens: 2000}, silent); model.Prefills(m) {
		t.Error("a model that thinks prefills")
	}
}

func TestTheEnvironmentStaysAtHome(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "of-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "of-the-environment")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	s, m := serve(t, anthropic.Config{Model: "claude-sonnet-5"}, silent)
	modelsuite.Whole(t, m, modelsuite.Ask("hi"))
	for name, values := range s.Records()[0].Header {
		if strings.Contains(strings.Join(values, ","), "of-the-environment") {
			t.Errorf("%s: %s was sent", name, values)
		}
	}
}

func TestAWrongConfigNamesItsField(t *testing.T) {
	for field, c := range map[string]anthropic.Config{
		"APIKey":           {Model: "m"},
		"Model":            {APIKey: "k"},
		"BaseURL":          {APIKey: "k", Model: "m", BaseURL: "x"},
		"MaxOutputTokens":  {APIKey: "k", Model: "m", MaxOutputTokens: -1},
		"CacheTTL":         {APIKey: "k", Model: "m", CacheTTL: "2h"},
		"ThinkingTokens":   {APIKey: "k", Model: "m", ThinkingTokens: 1000},
		"AdaptiveThinking": {APIKey: "k", Model: "m", ThinkingTokens: 2000, AdaptiveThinking: true},
	} {
		if _, err := anthropic.New(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v, want %s in it", c, err, field)
		}
	}
}

func TestCachePointsStandBehindWhatStays(t *testing.T) {
	s, m := serve(t, anthropic.Config{Model: "claude-sonnet-5", CacheTTL: "1h"}, silent)
	r := modelsuite.Ask("one")
	r.Instructions, r.Tools = "Be brief.", []model.Tool{{Name: "a"}, {Name: "b"}}
	r.Messages = append(r.Messages, modelsuite.Says(model.Assistant, "two"), modelsuite.Says(model.User, "three"), modelsuite.Says(model.Assistant, "four"), modelsuite.Says(model.User, "five"))
	modelsuite.Whole(t, m, r)
	const point = `"cache_control":{"ttl":"1h","type":"ephemeral"}`
	body := s.Records()[0].Body
	if n := strings.Count(body, point); n != 4 {
		t.Errorf("%d points in %s", n, body)
	}
	for _, want := range []string{`{` + point + `,"text":"three"`, `{` + point + `,"text":"five"`, `{` + point + `,"text":"Be brief."`, `{` + point + `,"description":"","input_schema":{"properties":{},"type":"object"},"name":"b"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	r.Messages[0].Content[0].Metadata = model.Metadata{"anthropic": json.RawMessage(`{"cacheControl":{"type":"ephemeral"}}`)}
	modelsuite.Whole(t, m, r)
	if body := s.Records()[1].Body; !strings.Contains(body, `{"cache_control":{"type":"ephemeral"},"text":"one"`) || strings.Count(body, point) != 2 {
		t.Errorf("with a point of the author's: %s", body)
	}
}

func TestADemandedToolGoesWithoutThinking(t *testing.T) {
	s, m := serve(t, anthropic.Config{Model: "claude-sonnet-4-5", ThinkingTokens: 2048}, silent)
	r := modelsuite.Ask("hi")
	r.Tools, r.ToolChoice = []model.Tool{{Name: "look"}}, "required"
	modelsuite.Whole(t, m, r)
	r.ToolChoice = "auto"
	modelsuite.Whole(t, m, r)
	for i, want := range []bool{false, true} {
		if body := s.Records()[i].Body; strings.Contains(body, "budget_tokens") != want {
			t.Errorf("sent %s", body)
		}
	}
}
