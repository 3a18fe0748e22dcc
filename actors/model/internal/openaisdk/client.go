// Package openaisdk holds what our clients of OpenAI's two protocols share: how
// they use OpenAI's library without its reading the environment, how they know
// that a stream is complete, and what its errors mean.
package openaisdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3/option"

	"github.com/holdfast-dev/holdfast/actors/model"
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
		option.WithMiddleware(c.headers(), watch),
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

// A Call is one request. It knows what the library does not tell of the
// response. It belongs to the goroutine that reads the answer.
type Call struct {
	done bool
	line []byte // of the line under way, as much as tells whether it is the marker
	body io.Closer
}

type callKey struct{}

// Context returns a context for the library's call, and what ends it: end closes
// the connection unless the body has been read to its end.
func (c *Call) Context(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	return context.WithValue(ctx, callKey{}, c), func() {
		cancel()
		if c.body != nil {
			c.body.Close() //nolint:errcheck // nothing was written
		}
	}
}

// Done tells whether the body so far holds the marker that ends each stream of
// Chat Completions: a line "data: [DONE]".
func (c *Call) Done() bool { return c.done }

// watch lets the call of the request's context see the body.
func watch(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	if t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); t == "text/html" {
		resp.Body.Close() //nolint:errcheck // a page that nobody reads
		return nil, &model.Error{
			Cause:  model.Refused,
			Public: "The model did not accept the request.",
			Err:    fmt.Errorf("%s answered with a web page instead of a stream: is the base URL right?", r.URL),
		}
	}
	if c, ok := r.Context().Value(callKey{}).(*Call); ok {
		c.body = resp.Body
		resp.Body = &watchedBody{ReadCloser: resp.Body, call: c}
	}
	return resp, nil
}

type watchedBody struct {
	io.ReadCloser
	call *Call
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.call.see(p[:n])
	if errors.Is(err, io.EOF) {
		b.call.see([]byte{'\n'})
	}
	return n, err
}

// longestMarker is the length of the longest line that see has to know whole.
const longestMarker = len("data: [DONE]\r")

// see reads on, line by line; a line and a read may end anywhere.
func (c *Call) see(p []byte) {
	for _, b := range p {
		switch {
		case b != '\n':
			if len(c.line) <= longestMarker {
				c.line = append(c.line, b)
			}
		default:
			data, ok := strings.CutPrefix(strings.TrimSuffix(string(c.line), "\r"), "data:")
			c.done = c.done || ok && strings.TrimPrefix(data, " ") == "[DONE]"
			c.line = c.line[:0]
		}
	}
}
