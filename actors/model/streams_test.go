package model_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/anthropic"
	"github.com/holdfast-dev/holdfast/actors/model/google"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
	"github.com/holdfast-dev/holdfast/actors/model/openai"
	"github.com/holdfast-dev/holdfast/actors/model/openaicompat"
)

// Each file of testdata/streams has the streams of one protocol, as servers send
// them or as their faults make them, and what an answer has to become. Commands:
//
//	answer [split=N] [crlf|cr] [end=…] [status=N] [type=…] [retry-after=…]
//	      the input is what the server writes, over real HTTP. split cuts it into
//	      writes of N bytes. {{x*70000}} is 70,000 times x. end is how the server
//	      ends: "blank" (default: a blank line, and a clean end), "bare" (a clean end
//	      right after the input), "broken" (the connection breaks inside the body),
//	      "open" (it stays open).
//	back  the answer goes back in the next request, with a result for each call; the
//	      output is what of it the server gets, an object a line.
func TestStreams(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for protocol, make := range map[string]func(url string) (model.Model, error){
		"completions": func(url string) (model.Model, error) {
			return openaicompat.New(openaicompat.Config{BaseURL: url, Model: "m", HTTPClient: client})
		},
		"responses": func(url string) (model.Model, error) {
			return openai.New(openai.Config{BaseURL: url, Model: "gpt-5-mini", APIKey: "sk-secret", HTTPClient: client})
		},
		"anthropic": func(url string) (model.Model, error) {
			return anthropic.New(anthropic.Config{BaseURL: url, Model: "claude-sonnet-5", APIKey: "sk-secret", HTTPClient: client})
		},
		"google": func(url string) (model.Model, error) {
			return google.New(google.Config{BaseURL: url, Model: "gemini-3-pro", APIKey: "sk-secret", HTTPClient: client})
		},
	} {
		t.Run(protocol, func(t *testing.T) {
			var s stream
			server := httptest.NewServer(&s)
			defer server.Close()
			m, err := make(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			datadriven.RunTest(t, "testdata/streams/"+protocol, func(t *testing.T, d *datadriven.TestData) string {
				s.t = t
				switch d.Cmd {
				case "answer":
					s.TestData, s.answer = *d, nil
					parts, err := modelsuite.Collect(t, t.Context(), m, modelsuite.Ask("hi"))
					s.answer = parts
					return renamed(outcome(parts, err))
				case "back":
					return renamed(s.back(t, m))
				}
				d.Fatalf(t, "no such command")
				return ""
			})
		})
	}
}

// A stream is the server of one case.
type stream struct {
	datadriven.TestData
	t      *testing.T
	answer []model.Part
	body   []byte // of the last request
}

var repeated = regexp.MustCompile(`\{\{(.)\*(\d+)\}\}`)

func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.body, _ = io.ReadAll(r.Body)
	status, split, mediaType, end := 200, 0, "text/event-stream", "blank"
	s.MaybeScanArgs(s.t, "status", &status)
	s.MaybeScanArgs(s.t, "split", &split)
	s.MaybeScanArgs(s.t, "type", &mediaType)
	s.MaybeScanArgs(s.t, "end", &end)
	var retryAfter string
	if s.MaybeScanArgs(s.t, "retry-after", &retryAfter) {
		w.Header().Set("Retry-After", retryAfter)
	}
	out := repeated.ReplaceAllStringFunc(s.Input, func(macro string) string {
		m := repeated.FindStringSubmatch(macro)
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	})
	if end != "bare" {
		out += "\n\n"
	}
	switch {
	case s.HasArg("crlf"):
		out = strings.ReplaceAll(out, "\n", "\r\n")
	case s.HasArg("cr"):
		out = strings.ReplaceAll(out, "\n", "\r")
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	flush := http.NewResponseController(w)
	for step := max(split, 0); out != ""; {
		n := len(out)
		if step > 0 {
			n = min(step, n)
		}
		if _, err := io.WriteString(w, out[:n]); err != nil {
			return
		}
		flush.Flush() //nolint:errcheck // the client has gone
		out = out[n:]
	}
	switch end {
	case "open":
		<-r.Context().Done()
	case "broken":
		if conn, _, err := flush.Hijack(); err == nil {
			conn.(*net.TCPConn).SetLinger(0) //nolint:errcheck,forcetypeassert // a TCP server
			conn.Close()                     //nolint:errcheck // that is the point
		}
	}
}

// back returns what of the answer goes back in the next request.
func (s *stream) back(t *testing.T, m model.Model) string {
	message := modelsuite.Message(s.answer)
	raw, err := json.Marshal(message)
	if err == nil {
		err = json.Unmarshal(raw, &message)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := modelsuite.Ask("hi")
	r.Messages = append(r.Messages, message)
	for _, c := range message.Content {
		if c.Kind == model.ToolCallContent {
			r.Messages = append(r.Messages, modelsuite.Result(c.CallID, `{"ok":true}`))
		}
	}
	r.Messages = append(r.Messages, modelsuite.Says(model.User, "next"))
	modelsuite.Collect(t, t.Context(), m, r) //nolint:errcheck // the request is what counts
	var body struct {
		Messages, Input, Contents []json.RawMessage
	}
	if err := json.Unmarshal(s.body, &body); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, m := range append(append(body.Messages, body.Input...), body.Contents...)[1:] {
		fmt.Fprintf(&out, "%s\n", m)
	}
	return out.String()
}

// outcome writes an answer, a block a line.
func outcome(parts []model.Part, err error) string {
	var out strings.Builder
	message := modelsuite.Message(parts)
	for _, c := range message.Content {
		switch c.Kind {
		case model.ToolCallContent:
			input := string(c.Input)
			if len(input) > 300 {
				input = short(input)
			}
			fmt.Fprintf(&out, "call %s %s %s", c.CallID, c.Tool, input)
		default:
			fmt.Fprintf(&out, "%s %s", c.Kind, short(c.Text))
		}
		for _, name := range slices.Sorted(maps.Keys(c.Metadata)) {
			fmt.Fprintf(&out, " %s:%s", name, c.Metadata[name])
		}
		out.WriteByte('\n')
	}
	for _, p := range parts {
		switch p := p.(type) {
		case model.Source:
			fmt.Fprintf(&out, "source %s %s %s\n", p.URL, p.Title, p.Filename)
		case model.File:
			fmt.Fprintf(&out, "file %s %q\n", p.MediaType, p.Data)
		case model.FinishPart:
			fmt.Fprintf(&out, "finish %s, in %d, out %d", p.Reason, p.Usage.Input, p.Usage.Output)
			if p.Usage.Reasoning > 0 {
				fmt.Fprintf(&out, ", reasoning %d", p.Usage.Reasoning)
			}
			if p.Usage.CacheRead+p.Usage.CacheWrite > 0 {
				fmt.Fprintf(&out, ", cache read %d, write %d", p.Usage.CacheRead, p.Usage.CacheWrite)
			}
			out.WriteByte('\n')
		}
	}
	var e *model.Error
	switch {
	case errors.As(err, &e):
		fmt.Fprintf(&out, "error %s, %s", e.Cause, e.Class)
		if e.Status > 0 {
			fmt.Fprintf(&out, ", status %d", e.Status)
		}
		if e.RetryAfter > 0 {
			fmt.Fprintf(&out, ", retry after %v", e.RetryAfter)
		}
		fmt.Fprintf(&out, ": %s\n", port.ReplaceAllString(short(e.Err.Error()), "host:port"))
	case err != nil:
		fmt.Fprintf(&out, "error %v\n", err)
	}
	return out.String()
}

var (
	port   = regexp.MustCompile(`127\.0\.0\.1:\d+(->127\.0\.0\.1:\d+)?`)
	random = regexp.MustCompile(`call_[A-Z2-7]{26}`)
)

// short quotes a text; a long one is its beginning and its length.
func short(s string) string {
	if len(s) > 300 {
		return fmt.Sprintf("%q… %d bytes", s[:20], len(s))
	}
	return strconv.Quote(s)
}

// renamed numbers the ids that were made up.
func renamed(s string) string {
	var seen [][]byte
	return string(random.ReplaceAllFunc([]byte(s), func(id []byte) []byte {
		for i, other := range seen {
			if bytes.Equal(id, other) {
				return fmt.Appendf(nil, "<made up %d>", i+1)
			}
		}
		seen = append(seen, bytes.Clone(id))
		return fmt.Appendf(nil, "<made up %d>", len(seen))
	}))
}
