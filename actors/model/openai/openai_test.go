package openai_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
	"github.com/holdfast-dev/holdfast/actors/model/openai"
)

func newModel(api openai.API) func(t *testing.T, url, key string, client *http.Client) model.Model {
	return func(t *testing.T, url, key string, client *http.Client) model.Model {
		t.Helper()
		m, err := openai.New(openai.Config{APIKey: key, Model: "gpt-5-mini", BaseURL: url + "/v1", API: api, HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func TestResponses(t *testing.T) {
	modelsuite.Run(t, modelsuite.Provider{New: newModel(openai.Responses), Options: "openai", Reasons: true, Signs: true})
}

func TestChatCompletions(t *testing.T) {
	modelsuite.Run(t, modelsuite.Provider{New: newModel(openai.Completions), Options: "openai-completions"})
}
