package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
	"github.com/holdfast-dev/holdfast/actors/model/openai"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

// sentInput asks a Responses model and returns the input that went out.
func sentInput(t *testing.T, config openai.Config, r model.Request) (body map[string]any, items []map[string]any) {
	t.Helper()
	s := providerwire.Start(func(*providerwire.Request, *providerwire.Writer) {})
	defer s.Close() //nolint:errcheck // the test is over
	s.Accept("enc")
	config.BaseURL, config.APIKey, config.HTTPClient = s.URL+"/v1", modelsuite.Key, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	m, err := openai.New(config)
	if err != nil {
		t.Fatal(err)
	}
	modelsuite.Whole(t, m, r)
	raw := []byte(s.Records()[0].Body)
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	for _, item := range body["input"].([]any) { //nolint:forcetypeassert // a list always
		items = append(items, item.(map[string]any)) //nolint:forcetypeassert // of objects
	}
	return body, items
}

// meta is metadata as this package hands it out.
func meta(id, encrypted string) model.Metadata {
	raw, _ := json.Marshal(map[string]string{"itemId": id, "reasoningEncryptedContent": encrypted})
	return model.Metadata{"openai": raw}
}

func TestReasoningGoesBackOnlyWithTheItemThatItLedTo(t *testing.T) {
	thought := func(text, id, encrypted string) model.Content {
		return model.Content{Kind: model.ReasoningContent, Text: text, Metadata: meta(id, encrypted)}
	}
	said := func(text, id string) model.Content {
		c := model.Content{Kind: model.TextContent, Text: text}
		if id != "" {
			c.Metadata = meta(id, "")
		}
		return c
	}
	for name, c := range map[string]struct {
		content []model.Content
		want    string // types and ids
	}{
		"whole":                         {[]model.Content{thought("a", "rs1", "enc"), said("b", "msg1")}, "reasoning rs1, message msg1"},
		"two parts of one summary":      {[]model.Content{thought("a", "rs1", ""), thought("b", "rs1", "enc"), said("c", "msg1")}, "reasoning rs1, message msg1"},
		"two items":                     {[]model.Content{thought("a", "rs1", "enc"), thought("b", "rs2", "enc"), said("c", "msg1")}, "reasoning rs1, reasoning rs2, message msg1"},
		"the follower was cut off":      {[]model.Content{thought("a", "rs1", "enc"), said("b", "")}, "message "},
		"nothing follows":               {[]model.Content{said("z", "msg0"), thought("a", "rs1", "enc")}, "message msg0"},
		"its content never came":        {[]model.Content{thought("a", "rs1", ""), said("b", "msg1")}, "message msg1"},
		"pieces of an answer are one":   {[]model.Content{said("a", ""), said("b", "")}, "message "},
		"thinking of another provider":  {[]model.Content{{Kind: model.ReasoningContent, Text: "x", Metadata: model.Metadata{"anthropic": []byte(`{"signature":"s"}`)}}, said("b", "")}, "message "},
		"a whole text then a broken on": {[]model.Content{said("a", "msg1"), said("b", "")}, "message msg1, message "},
	} {
		t.Run(name, func(t *testing.T) {
			r := modelsuite.Ask("hi")
			r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Content: c.content}, modelsuite.Says(model.User, "and?"))
			_, items := sentInput(t, openai.Config{Model: "gpt-5-mini"}, r)
			var got []string
			for _, item := range items[1 : len(items)-1] {
				id, _ := item["id"].(string)
				got = append(got, item["type"].(string)+" "+id) //nolint:forcetypeassert // each item has a type
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("sent %q, want %q", s, c.want)
			}
		})
	}
}

func TestReasoningOptionsAreForModelsThatReason(t *testing.T) {
	warm := 0.3
	r := modelsuite.Ask("hi")
	r.Temperature = &warm
	body, _ := sentInput(t, openai.Config{Model: "gpt-5-mini", ReasoningEffort: "low", ReasoningSummary: "auto"}, r)
	if body["include"] == nil || body["temperature"] != nil || body["store"] != false {
		t.Errorf("to a model that reasons: %v", body)
	}
	if got, _ := json.Marshal(body["reasoning"]); string(got) != `{"effort":"low","summary":"auto"}` {
		t.Errorf("reasoning %s", got)
	}
	body, _ = sentInput(t, openai.Config{Model: "gpt-4.1"}, r)
	if body["include"] != nil || body["temperature"] != warm || body["reasoning"] != nil {
		t.Errorf("to a model that does not: %v", body)
	}
}

func TestAWrongConfigNamesItsField(t *testing.T) {
	for field, c := range map[string]openai.Config{
		"APIKey":          {Model: "m"},
		"Model":           {APIKey: "k"},
		"BaseURL":         {APIKey: "k", Model: "m", BaseURL: "ftp://x"},
		"API":             {APIKey: "k", Model: "m", API: "telnet"},
		"ReasoningEffort": {APIKey: "k", Model: "m", API: openai.Completions, ReasoningEffort: "low"},
	} {
		if _, err := openai.New(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v, want %s in it", c, err, field)
		}
	}
}
