// Package anthropic is Anthropic's models through the Messages API.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
	"github.com/holdfast-dev/holdfast/actors/model/internal/wire"
)

// DefaultBaseURL is Anthropic's own endpoint.
const DefaultBaseURL = "https://api.anthropic.com"

const provider = "anthropic"

// minThinking is the API's least budget, in tokens.
const minThinking = 1024

// Config says which model to ask.
type Config struct {
	// APIKey is Anthropic's secret key. Required: the environment is not read.
	APIKey string
	// Model is the model's name, such as "claude-sonnet-5". Required.
	Model string
	// BaseURL is what comes before "/v1/messages". "" means DefaultBaseURL.
	BaseURL string
	// MaxOutputTokens limits an answer, thinking included, where the request does
	// not. The API wants a number; 0 means 32,000, or what an older model can do.
	MaxOutputTokens int64
	// AdaptiveThinking lets the model think as much as it finds fit. For models
	// from Claude 4.6 on. A request that demands a tool goes without thinking: the
	// API has no both.
	AdaptiveThinking bool
	// ThinkingTokens is a fixed budget for thinking, for older models: 0 for none,
	// else at least 1,024 and below MaxOutputTokens.
	ThinkingTokens int64
	// CacheTTL is "" for no caching, or how long the provider keeps what the next
	// request begins with, too: "5m" or "1h". Then tools, instructions and messages
	// get cache points; a message that has one of the author's own (metadata of
	// "anthropic" with the field cacheControl) ends those for messages.
	CacheTTL string
	// Headers are added to each request, such as anthropic-beta.
	Headers map[string]string
	// HTTPClient makes the requests; nil means http.DefaultClient. A Timeout of
	// the client cuts long answers: the context of a call is the limit to use.
	HTTPClient *http.Client
}

// New returns the model. It does not contact Anthropic. The error names the
// field that is wrong.
func New(c Config) (model.Model, error) {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.MaxOutputTokens == 0 {
		c.MaxOutputTokens = defaultMaxTokens(c.Model)
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	if c.HTTPClient == nil {
		c.HTTPClient = http.DefaultClient
	}
	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL),
		option.WithAPIKey(c.APIKey),
		option.WithHTTPClient(c.HTTPClient),
		option.WithMaxRetries(0), // the caller records each attempt and decides
		option.WithHeader("User-Agent", "holdfast"),
		option.WithMiddleware(wire.Headers, wire.Watch),
	}
	for name, value := range c.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	// The service is made by itself: a whole client would read ANTHROPIC_…
	// variables and profiles of its own accord.
	return &messagesModel{config: c, service: sdk.NewMessageService(options...)}, nil
}

func (c Config) validate() error {
	u, err := url.Parse(c.BaseURL)
	switch {
	case c.APIKey == "":
		return errors.New("APIKey is empty")
	case c.Model == "":
		return errors.New("no Model: name the model to ask")
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("BaseURL %q is not an http or https URL", c.BaseURL)
	case c.MaxOutputTokens < 0:
		return fmt.Errorf("MaxOutputTokens is %d, below 0", c.MaxOutputTokens)
	case c.CacheTTL != "" && c.CacheTTL != "5m" && c.CacheTTL != "1h":
		return fmt.Errorf("CacheTTL is %q, not 5m or 1h", c.CacheTTL)
	case c.ThinkingTokens != 0 && c.AdaptiveThinking:
		return errors.New("ThinkingTokens and AdaptiveThinking exclude each other")
	case c.ThinkingTokens != 0 && (c.ThinkingTokens < minThinking || c.ThinkingTokens >= c.MaxOutputTokens):
		return fmt.Errorf("ThinkingTokens is %d, not from %d to below MaxOutputTokens, %d", c.ThinkingTokens, minThinking, c.MaxOutputTokens)
	}
	return nil
}

// defaultMaxTokens is 32,000 or the limit of an older model.
func defaultMaxTokens(modelID string) int64 {
	switch {
	case strings.HasPrefix(modelID, "claude-3-5-"):
		return 8_192
	case strings.HasPrefix(modelID, "claude-3-7-"):
		return 32_000
	case strings.HasPrefix(modelID, "claude-3-"), strings.HasPrefix(modelID, "claude-2"):
		return 4_096
	}
	return 32_000
}

// prefilling are the models that continue an assistant message, by prefix;
// Claude 4.6 and what came after refuse one.
var prefilling = []string{
	"claude-2", "claude-3-", "claude-instant", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2025", "claude-opus-4-5",
	"claude-sonnet-4-0", "claude-sonnet-4-2025", "claude-sonnet-4-5", "claude-haiku-4-5",
}

// messagesModel may be used by many turns at once.
type messagesModel struct {
	config  Config
	service sdk.MessageService
}

// Name implements [model.Model].
func (m *messagesModel) Name() string { return "anthropic/" + m.config.Model }

// Prefill implements [model.Prefiller]. A model that thinks never prefills.
func (m *messagesModel) Prefill() bool {
	if m.config.AdaptiveThinking || m.config.ThinkingTokens > 0 {
		return false
	}
	for _, p := range prefilling {
		if strings.HasPrefix(m.config.Model, p) {
			return true
		}
	}
	return false
}

// Stream implements [model.Model].
func (m *messagesModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		ids := content.NewCallIDs(metadataKey, r.Messages)
		body, trimmed, err := m.body(r, ids)
		if err != nil {
			yield(nil, failure.Unusable(provider, err))
			return
		}
		inner, end := (&wire.Call{Headers: r.Headers, Mender: &mender{}}).Context(ctx)
		defer end()
		stream := m.service.NewStreaming(inner, sdk.MessageNewParams{}, option.WithRequestBody("application/json", body))
		defer stream.Close() //nolint:errcheck // nothing was written
		t := translation{ids: ids, overlap: trimmed}
		for stream.Next() {
			for _, p := range t.event(stream.Current()) {
				if ctx.Err() != nil {
					break
				}
				if !yield(p, nil) {
					return
				}
			}
			switch {
			case ctx.Err() != nil:
				yield(nil, failure.Broken(ctx, provider, ctx.Err()))
				return
			case t.finished:
				return
			}
		}
		err = stream.Err()
		if err == nil {
			err = failure.ErrTruncated
		}
		yield(nil, m.failure(ctx, err))
	}
}

// failure says what an error of the library means.
func (m *messagesModel) failure(ctx context.Context, err error) error {
	var ours *model.Error
	var api *sdk.Error
	switch {
	case ctx.Err() == nil && errors.As(err, &ours):
		return ours
	case ctx.Err() != nil || !errors.As(err, &api):
		return failure.Broken(ctx, provider, err)
	}
	answer := failure.Answer{
		Provider: provider, Status: api.StatusCode, Secret: m.config.APIKey,
		Kind: string(api.Type()), Message: api.RawJSON(),
	}
	if api.Response != nil {
		answer.Header = api.Response.Header
	}
	var said struct{ Error struct{ Message string } }
	if json.Unmarshal([]byte(api.RawJSON()), &said) == nil && said.Error.Message != "" {
		answer.Message = said.Error.Message
	}
	return failure.Of(answer)
}
