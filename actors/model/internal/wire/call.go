// Package wire stands between a provider's library and the network: it adds to
// requests what the library has no word for, and lets a mender see answers first.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/content"
	"github.com/holdfast-dev/holdfast/actors/model/internal/sse"
)

// A Call is one request: what goes beside the library's own idea of it, both
// ways. It belongs to the goroutine that reads the answer.
type Call struct {
	Headers map[string]string          // win over all others
	Fields  map[string]json.RawMessage // go into the request's body and win over its own
	Mender  sse.Mender

	body io.Closer
}

type callKey struct{}

// Of returns the call that a request belongs to, or nil.
func Of(r *http.Request) *Call {
	c, _ := r.Context().Value(callKey{}).(*Call)
	return c
}

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

// A Next sends a request on: what follows a middleware of the libraries.
type Next = func(*http.Request) (*http.Response, error)

// Headers sets the headers of the request's call.
func Headers(r *http.Request, next Next) (*http.Response, error) {
	if c := Of(r); c != nil {
		for name, value := range c.Headers {
			r.Header.Set(name, value)
		}
	}
	return next(r)
}

// Complete puts the call's fields into the body.
func Complete(r *http.Request, next Next) (*http.Response, error) {
	c := Of(r)
	if c == nil || len(c.Fields) == 0 {
		return next(r)
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(content.Merge(body, c.Fields)); err != nil {
		return nil, err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return next(r)
}

// Watch lets the call of the request's context see the body.
func Watch(r *http.Request, next Next) (*http.Response, error) {
	resp, err := next(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if mediaType == "text/html" {
		resp.Body.Close() //nolint:errcheck // a page that nobody reads
		return nil, &model.Error{
			Cause:  model.Refused,
			Class:  model.BadRequest,
			Public: "The model did not accept the request.",
			Err:    fmt.Errorf("%s answered with a web page instead of a stream: is the base URL right?", r.URL),
		}
	}
	c := Of(r)
	if c == nil {
		return resp, nil
	}
	c.body = resp.Body
	if mediaType == "application/json" {
		resp.Body = &oneEvent{ReadCloser: resp.Body}
		resp.Header.Set("Content-Type", "text/event-stream")
	}
	if c.Mender != nil {
		resp.Body = sse.Mend(resp.Body, c.Mender, model.Raw(r.Context()))
	}
	return resp, nil
}

// oneEvent reads the JSON of a server that does not stream as a stream.
type oneEvent struct {
	io.ReadCloser
	out *bytes.Reader // nil before the first Read
}

func (o *oneEvent) Read(p []byte) (int, error) {
	if o.out == nil {
		raw, err := io.ReadAll(io.LimitReader(o.ReadCloser, sse.MaxEvent))
		if err != nil {
			return 0, err
		}
		var b bytes.Buffer
		b.WriteString("data: ")
		if json.Compact(&b, raw) != nil {
			b.Write(bytes.ReplaceAll(raw, []byte("\n"), nil))
		}
		b.WriteString("\n\ndata: [DONE]\n\n")
		o.out = bytes.NewReader(b.Bytes())
	}
	return o.out.Read(p)
}
