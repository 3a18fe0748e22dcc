package anthropic_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/anthropic"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
)

func TestMessages(t *testing.T) {
	modelsuite.Run(t, modelsuite.Provider{
		New: func(t *testing.T, url, key string, client *http.Client) model.Model {
			t.Helper()
			m, err := anthropic.New(anthropic.Config{APIKey: key, Model: "claude-sonnet-4-5", BaseURL: url, HTTPClient: client})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Options: "anthropic", Reasons: true, Signs: true,
	})
}
