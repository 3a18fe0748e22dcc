package plain

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
	"github.com/holdfast-dev/holdfast/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }

// agent is one agent of a node.
type agent struct {
	t    *testing.T
	node *process.Node
	path string
}

// do sends a request; headers are "Key: value".
func (a agent) do(method, path, body string, headers ...string) *http.Response {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), process.Patience)
	a.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.node.Addr+a.path+path, strings.NewReader(body))
	require.NoError(a.t, err)
	for _, h := range headers {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(a.t, err)
	a.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// text is the whole body of a response.
func (a agent) text(resp *http.Response) string {
	a.t.Helper()
	b, err := io.ReadAll(resp.Body)
	require.NoError(a.t, err)
	return string(b)
}

// stored is the conversation.
func (a agent) stored() []uimessage.Message {
	a.t.Helper()
	list, err := uimessage.ParseMessages([]byte(a.text(a.do("GET", "/get-messages", ""))))
	require.NoError(a.t, err)
	return list
}

// ask posts a message as useChat does.
func (a agent) ask(id, text string) *stream {
	a.t.Helper()
	parts := []any{map[string]string{"type": "text", "text": text}}
	body, err := json.Marshal(map[string]any{
		"id": "chat", "trigger": "submit-message", "messages": []any{map[string]any{"id": id, "role": "user", "parts": parts}},
	})
	require.NoError(a.t, err)
	return a.stream(a.do("POST", "/chat", string(body)))
}

func (a agent) resume() *stream { return a.stream(a.do("GET", "/chat/chat/stream", "")) }

// stream is an answer under way, as a page builds it.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	fold  *uimessage.Fold
	last  uimessage.Chunk
}

func (a agent) stream(resp *http.Response) *stream {
	a.t.Helper()
	require.Equal(a.t, http.StatusOK, resp.StatusCode)
	return &stream{t: a.t, lines: bufio.NewScanner(resp.Body), fold: uimessage.NewFold(uimessage.Message{Role: uimessage.Assistant})}
}

// next adds one chunk to the message; false at the end of the stream.
func (s *stream) next() bool {
	s.t.Helper()
	for s.lines.Scan() {
		data, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return false
		}
		c, err := uimessage.ParseChunk([]byte(data))
		require.NoError(s.t, err)
		s.last = c
		s.fold.Apply(c)
		return true
	}
	s.t.Fatalf("the stream breaks: %v", s.lines.Err())
	return false
}

// whole is the message when the stream has ended.
func (s *stream) whole() uimessage.Message {
	s.t.Helper()
	for s.next() {
	}
	return s.fold.Message()
}

func (s *stream) until(text string) {
	s.t.Helper()
	for s.last.Delta != text {
		require.True(s.t, s.next(), "ends before %q", text)
	}
}
