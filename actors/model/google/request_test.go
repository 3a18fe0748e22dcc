package google_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/google"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

// sent asks a model and returns the body that went out.
func sent(t *testing.T, c google.Config, r model.Request) string {
	t.Helper()
	s := providerwire.Start(func(*providerwire.Request, *providerwire.Writer) {})
	defer s.Close() //nolint:errcheck // the test is over
	s.Accept("skip_thought_signature_validator")
	c.BaseURL, c.APIKey, c.HTTPClient = s.URL+"/v1beta", modelsuite.Key, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	m, err := google.New(c)
	if err != nil {
		t.Fatal(err)
	}
	modelsuite.Whole(t, m, r)
	return s.Records()[0].Body
}

func TestTheRequestIsInTheWordsOfTheAPI(t *testing.T) {
	warm, top, seed, budget := 0.5, 0.9, int64(7), int64(0)
	r := modelsuite.Ask("hi")
	r.Temperature, r.TopP, r.Seed, r.StopSequences, r.MaxOutputTokens = &warm, &top, &seed, []string{"END"}, 9
	r.Schema = json.RawMessage(`{"type":"object"}`)
	r.ProviderOptions = map[string]json.RawMessage{"google": json.RawMessage(`{"generationConfig":{"topK":3},"safetySettings":[]}`)}
	got := sent(t, google.Config{Model: "models/gemini-2.5-flash", ThinkingTokens: &budget, ShowThoughts: true}, r)
	want := `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":9,"responseJsonSchema":{"type":"object"},` +
		`"responseMimeType":"application/json","seed":7,"stopSequences":["END"],"temperature":0.5,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":0},"topK":3,"topP":0.9},"safetySettings":[]}`
	if got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}

// What another model has called has no signature of Google's.
func TestAConversationOfAnotherModelGoesOn(t *testing.T) {
	r := modelsuite.Ask("hi")
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Content: []model.Content{
		{Kind: model.ReasoningContent, Text: "hm", Metadata: model.Metadata{"anthropic": []byte(`{"signature":"s"}`)}},
		{Kind: model.ToolCallContent, CallID: "toolu_1", Tool: "look", Input: []byte(`{}`)},
		{Kind: model.ToolCallContent, CallID: "toolu_2", Tool: "look", Input: []byte(`{}`)},
	}}, model.Message{Role: model.ToolRole, Content: []model.Content{
		{Kind: model.ToolResultContent, CallID: "toolu_1", Output: []byte(`1`)},
		{Kind: model.ToolResultContent, CallID: "toolu_2", Text: "broken", IsError: true},
	}})
	for id, want := range map[string]int{"gemini-3-pro": 1, "gemini-2.5-flash": 0} {
		got := sent(t, google.Config{Model: id}, r)
		if n := strings.Count(got, "skip_thought_signature_validator"); n != want || strings.Contains(got, "hm") || strings.Contains(got, "toolu") {
			t.Errorf("%s: sent %s", id, got)
		}
		if !strings.Contains(got, `{"error":"broken"}`) || !strings.Contains(got, `{"output":1}`) {
			t.Errorf("%s: sent %s", id, got)
		}
	}
}

func TestAWrongConfigNamesItsField(t *testing.T) {
	low, some := int64(-2), int64(100)
	for field, c := range map[string]google.Config{
		"APIKey":         {Model: "m"},
		"Model":          {APIKey: "k"},
		"BaseURL":        {APIKey: "k", Model: "m", BaseURL: "x"},
		"ThinkingTokens": {APIKey: "k", Model: "m", ThinkingTokens: &low},
		"ThinkingLevel":  {APIKey: "k", Model: "m", ThinkingTokens: &some, ThinkingLevel: "low"},
	} {
		if _, err := google.New(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v, want %s in it", c, err, field)
		}
	}
}
