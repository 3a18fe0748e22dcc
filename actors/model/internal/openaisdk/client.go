// Package openaisdk holds what our clients of OpenAI's two protocols share: how
// they use OpenAI's library without its reading the environment, how they know
// that a stream is complete, and what its errors mean.
package openaisdk

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/openai/openai-go/v3/option"

	"github.com/holdfast-dev/holdfast/actors/model/internal/wire"
)

// Config is where and how to ask. It is copied where it is used.
type Config struct {
	Provider string // for logs and names
	BaseURL  string // such as "https://api.openai.com/v1"
	APIKey   string // "": no Authorization header
	Headers  map[string]string
	Client   *http.Client // nil: http.DefaultClient
}

// Validate checks what New of a provider's package is given.
func (c Config) Validate(modelID string) error {
	if modelID == "" {
		return fmt.Errorf("%s: Model is empty: name the model to ask", c.Provider)
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("%s: BaseURL %q is not an http or https URL", c.Provider, c.BaseURL)
	}
	return nil
}

// Options are the library's options for the config: no retries (the caller
// records each attempt and decides), our headers alone, a watched body.
func (c Config) Options() []option.RequestOption {
	client := c.Client
	if client == nil {
		client = http.DefaultClient
	}
	return []option.RequestOption{
		option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
		option.WithMiddleware(c.headers(), wire.Headers, wire.Complete, wire.Watch),
	}
}

// ours are the library's headers that may go out.
var ours = []string{"Accept", "Content-Type", "Idempotency-Key"}

// headers replaces all headers but ours: the library adds keys, organisations
// and whatever else it finds in OPENAI_… variables, which must not reach an
// endpoint that the config does not give them to.
func (c Config) headers() option.Middleware {
	given := maps.Clone(c.Headers)
	return func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		kept := http.Header{}
		for _, name := range ours {
			if v := r.Header.Values(name); len(v) > 0 {
				kept[name] = v
			}
		}
		kept.Set("User-Agent", "holdfast")
		if c.APIKey != "" {
			kept.Set("Authorization", "Bearer "+c.APIKey)
		}
		for name, value := range given {
			kept.Set(name, value)
		}
		r.Header = kept
		return next(r)
	}
}
