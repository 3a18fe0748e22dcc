package google_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/google"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
)

func TestGemini(t *testing.T) {
	modelsuite.Run(t, modelsuite.Provider{
		New: func(t *testing.T, url, key string, client *http.Client) model.Model {
			t.Helper()
			m, err := google.New(google.Config{APIKey: key, Model: "gemini-2.5-flash", BaseURL: url + "/v1beta", HTTPClient: client, ShowThoughts: true})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Options: "google", Reasons: true, Signs: true, WholeCalls: true,
	})
}
