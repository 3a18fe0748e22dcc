// Package google is Google's Gemini models through the Gemini API.
//
// It reads the API's stream itself. Both libraries at hand were weighed: fantasy's
// moves the signature of a call or of text to the last thinking, so that it can't go
// back to where it was, and brings the code of two clouds; Google's own brings one.
package google

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/failure"
	"github.com/holdfast-dev/holdfast/actors/model/internal/sse"
)

// DefaultBaseURL is Google's own endpoint.
const DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

const provider = "google"

// maxError is how much of an error's body is read, in bytes.
const maxError = 64 << 10

// Config says which model to ask.
type Config struct {
	// APIKey is a key of the Gemini API. Required: the environment is not read.
	APIKey string
	// Model is the model's name, such as "gemini-2.5-flash". Required.
	Model string
	// BaseURL is what comes before "/models/". "" means DefaultBaseURL.
	BaseURL string
	// ThinkingTokens is the budget for thinking of models before Gemini 3: nil for
	// the model's default, 0 for none, -1 for as much as it finds fit.
	ThinkingTokens *int64
	// ThinkingLevel is "" for the model's default, or "minimal", "low", "medium",
	// "high". From Gemini 3 on.
	ThinkingLevel string
	// ShowThoughts asks for summaries of the thinking, which visitors can see.
	ShowThoughts bool
	// Headers are added to each request.
	Headers map[string]string
	// HTTPClient makes the requests; nil means http.DefaultClient. A Timeout of
	// the client cuts long answers: the context of a call is the limit to use.
	HTTPClient *http.Client
}

// New returns the model. It does not contact Google. The error names the field
// that is wrong.
func New(c Config) (model.Model, error) {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.HTTPClient == nil {
		c.HTTPClient = http.DefaultClient
	}
	c.Model = strings.TrimPrefix(c.Model, "models/")
	u, err := url.Parse(c.BaseURL)
	switch {
	case c.APIKey == "":
		err = errors.New("APIKey is empty")
	case c.Model == "":
		err = errors.New("no Model: name the model to ask")
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		err = fmt.Errorf("BaseURL %q is not an http or https URL", c.BaseURL)
	case c.ThinkingTokens != nil && *c.ThinkingTokens < -1:
		err = fmt.Errorf("ThinkingTokens is %d, below -1", *c.ThinkingTokens)
	case c.ThinkingTokens != nil && c.ThinkingLevel != "":
		err = errors.New("ThinkingTokens and ThinkingLevel exclude each other")
	}
	if err != nil {
		return nil, fmt.Errorf("google: %w", err)
	}
	return &gemini{config: c, url: strings.TrimSuffix(c.BaseURL, "/") + "/models/" + url.PathEscape(c.Model) + ":streamGenerateContent?alt=sse"}, nil
}

// gemini may be used by many turns at once.
type gemini struct {
	config Config
	url    string
}

// Name implements [model.Model].
func (m *gemini) Name() string { return "google/" + m.config.Model }

// Stream implements [model.Model]. It is no [model.Prefiller]: the API does not
// promise to go on from a trailing message of the model.
func (m *gemini) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		p, body, err := m.prepare(r)
		if err != nil {
			yield(nil, failure.Unusable(provider, err))
			return
		}
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := m.post(inner, r, body)
		if err != nil {
			yield(nil, m.broken(ctx, err))
			return
		}
		defer resp.Body.Close()
		t := translation{ids: p.ids}
		events, raw := sse.NewReader(resp.Body), model.Raw(ctx)
		for err == nil {
			var parts []model.Part
			if parts, err = m.next(events, &t, raw); ctx.Err() != nil {
				err = ctx.Err()
				break
			}
			for _, part := range parts {
				if !yield(part, nil) {
					return
				}
			}
		}
		if err == io.EOF && ctx.Err() == nil { //nolint:errorlint // next's own
			return
		}
		yield(nil, m.broken(ctx, err))
	}
}

// next returns the parts of the next event. It returns io.EOF beside the last ones.
func (m *gemini) next(events *sse.Reader, t *translation, raw func(json.RawMessage)) ([]model.Part, error) {
	e, err := events.Next()
	switch {
	case err != nil && t.reason != "": // what broke after it was not the answer
		return t.finish(), io.EOF
	case errors.Is(err, io.EOF):
		return nil, failure.ErrTruncated
	case err != nil:
		return nil, err
	}
	if len(bytes.TrimSpace(e.Data)) == 0 || string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		return nil, nil
	}
	var c chunk
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return nil, err
	}
	if raw != nil {
		raw(bytes.Clone(e.Data))
	}
	if c.Error != nil {
		return nil, failure.Of(c.Error.answer(nil, m.config.APIKey))
	}
	return t.chunk(c)
}

func (m *gemini) post(ctx context.Context, r model.Request, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "holdfast")
	req.Header.Set("X-Goog-Api-Key", m.config.APIKey)
	for _, headers := range []map[string]string{m.config.Headers, r.Headers} {
		for name, value := range headers {
			req.Header.Set(name, value)
		}
	}
	resp, err := m.config.HTTPClient.Do(req)
	if err != nil {
		return nil, err
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && mediaType != "text/html" {
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil, failure.Unusable(provider, fmt.Errorf("%s answered with a web page instead of a stream: is the base URL right?", m.config.BaseURL))
	}
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return nil, failure.Of(readError(said).answer(resp, m.config.APIKey))
}

// broken is what an error means for the caller, whose context ctx is.
func (m *gemini) broken(ctx context.Context, err error) error {
	var ours *model.Error
	if ctx.Err() == nil && errors.As(err, &ours) {
		return ours
	}
	return failure.Broken(ctx, provider, err)
}
