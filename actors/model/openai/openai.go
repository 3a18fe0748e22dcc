// Package openai is OpenAI's models, through the Responses API or through Chat
// Completions. For other endpoints that speak the latter use package
// openaicompat.
package openai

import (
	"context"
	"fmt"
	"net/http"

	fantasyopenai "charm.land/fantasy/providers/openai"
	"github.com/openai/openai-go/v3/responses"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/completions"
	"github.com/holdfast-dev/holdfast/actors/model/internal/openaisdk"
)

// API is one of OpenAI's protocols.
type API string

const (
	// Responses is what OpenAI develops further; reasoning survives from step to
	// step only here.
	Responses API = "responses"
	// Completions is the older Chat Completions.
	Completions API = "completions"
)

// DefaultBaseURL is OpenAI's own endpoint.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which model to ask.
type Config struct {
	// APIKey is OpenAI's secret key. Required: the environment is not read.
	APIKey string
	// Model is the model's name, such as "gpt-5-mini". Required.
	Model string
	// BaseURL is what comes before "/responses". "" means DefaultBaseURL.
	BaseURL string
	// API is the protocol. "" means Responses.
	API API
	// ReasoningEffort is "" for the model's default, or "none", "minimal", "low",
	// "medium", "high", "xhigh". With Responses only.
	ReasoningEffort string
	// ReasoningSummary is "" for none, or "auto", "concise", "detailed": what
	// visitors can see of the reasoning. With Responses only; OpenAI wants some
	// organisations to be verified for it.
	ReasoningSummary string
	// Headers are added to each request, such as OpenAI-Organization.
	Headers map[string]string
	// HTTPClient makes the requests; nil means http.DefaultClient. A Timeout of
	// the client cuts long answers: the context of a call is the limit to use.
	HTTPClient *http.Client
}

// New returns the model. It does not contact OpenAI. The error names the field
// that is wrong.
func New(c Config) (model.Model, error) {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	sdk := openaisdk.Config{Provider: "openai", BaseURL: c.BaseURL, APIKey: c.APIKey, Headers: c.Headers, Client: c.HTTPClient}
	if err := sdk.Validate(c.Model); err != nil {
		return nil, err
	}
	if c.APIKey == "" {
		return nil, fmt.Errorf("openai: APIKey is empty")
	}
	switch c.API {
	case "", Responses:
		return &responsesModel{
			config: c, sdk: sdk, reasons: reasons(c.Model),
			service: responses.NewResponseService(sdk.Options()...),
		}, nil
	case Completions:
		return newCompletions(c, sdk)
	}
	return nil, fmt.Errorf("openai: API is %q, not %q or %q", c.API, Responses, Completions)
}

// newCompletions makes a model that does not prefill: OpenAI takes a trailing
// assistant message for a finished one.
func newCompletions(c Config, sdk openaisdk.Config) (model.Model, error) {
	if c.ReasoningEffort != "" || c.ReasoningSummary != "" {
		return nil, fmt.Errorf("openai: ReasoningEffort and ReasoningSummary need API %q", Responses)
	}
	provider, err := fantasyopenai.New(
		fantasyopenai.WithBaseURL(c.BaseURL),
		fantasyopenai.WithSDKOptions(sdk.Options()...),
		fantasyopenai.WithLanguageModelOptions(completions.Hooks(nil)...),
	)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	language, err := provider.LanguageModel(context.Background(), c.Model)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	return &completions.Model{Config: sdk, Language: language}, nil
}
