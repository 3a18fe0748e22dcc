// Package openaicompat is a model behind any endpoint that speaks OpenAI's Chat
// Completions: Ollama, llama.cpp, vLLM, OpenRouter, and many others.
package openaicompat

import (
	"context"
	"fmt"
	"net/http"

	fantasycompat "charm.land/fantasy/providers/openaicompat"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/completions"
	"github.com/holdfast-dev/holdfast/actors/model/internal/openaisdk"
)

// Config says which model to ask, and where.
type Config struct {
	// BaseURL is what comes before "/chat/completions", such as
	// "http://localhost:11434/v1". Required.
	BaseURL string
	// Model is the endpoint's name for the model. Required.
	Model string
	// APIKey is sent as a bearer token. "": none is sent.
	APIKey string
	// Headers are added to each request.
	Headers map[string]string
	// HTTPClient makes the requests; nil means http.DefaultClient. A Timeout of
	// the client cuts long answers: the context of a call is the limit to use.
	HTTPClient *http.Client
	// Provider is the name in logs and on pages. "" means "openai-compatible".
	Provider string
	// RefusesPrefill says that the endpoint does not continue an assistant
	// message at the end of a request. Most local servers do; vLLM does not
	// unless it is told to, and starts a new answer.
	RefusesPrefill bool
	// OmitsReasoning says that reasoning does not go back to the endpoint with the
	// answer that it led to. Some endpoints want it there, and others refuse it.
	OmitsReasoning bool
}

// New returns the model. It does not contact the endpoint. The error names the
// field that is wrong.
func New(c Config) (model.Model, error) {
	if c.Provider == "" {
		c.Provider = "openai-compatible"
	}
	sdk := openaisdk.Config{Provider: c.Provider, BaseURL: c.BaseURL, APIKey: c.APIKey, Headers: c.Headers, Client: c.HTTPClient}
	if err := sdk.Validate(c.Model); err != nil {
		return nil, err
	}
	provider, err := fantasycompat.New(
		fantasycompat.WithBaseURL(c.BaseURL),
		fantasycompat.WithSDKOptions(sdk.Options()...),
		fantasycompat.WithLanguageModelOptions(completions.Hooks(fantasycompat.StreamExtraFunc)...),
	)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Provider, err)
	}
	language, err := provider.LanguageModel(context.Background(), c.Model)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Provider, err)
	}
	return &completions.Model{Config: sdk, Language: language, Prefills: !c.RefusesPrefill, OmitsReasoning: c.OmitsReasoning}, nil
}
