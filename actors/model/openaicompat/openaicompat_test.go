package openaicompat_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
	"github.com/holdfast-dev/holdfast/actors/model/openaicompat"
)

func TestACompatibleEndpoint(t *testing.T) {
	modelsuite.Run(t, modelsuite.Provider{
		New: func(t *testing.T, url, key string, client *http.Client) model.Model {
			t.Helper()
			m, err := openaicompat.New(openaicompat.Config{BaseURL: url + "/v1", Model: "test", APIKey: key, HTTPClient: client})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Options: "openai-completions", Reasons: true,
	})
}
