package bad

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// A message above 1.8 MB is shown compacted, and served whole by its id, whoever
// has written it; also after a restart.
func TestALargeMessageIsServedWhole(t *testing.T) {
	const path, limit = "/agents/bench-agent/large", 1_800_000
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", path).Greeted()
	question, answer := strings.Repeat("y", 2_000_000), strings.Repeat("x", 2_000_000)
	asks(t, c, "r1", []any{client.User("u1", `{"deltas":2000,"size":1000}`)}, nil)
	asks(t, c, "r2", []any{client.User("u2", question)}, nil)
	for _, restarted := range []bool{false, true} {
		if restarted {
			n.Kill()
			n.Up()
		}
		list := transcript(t, n, path)
		require.Len(t, list, 4)
		for i, want := range map[int]string{1: answer, 2: question} {
			require.Less(t, len(list[i]), limit)
			require.NotContains(t, string(list[i]), want)
			require.True(t, want == wholeText(t, n, path, idOf(t, list[i])), "the text is another")
		}
	}
	// What the page has of it is shorter, and changes nothing.
	c = client.Open(t, n.Addr, "a", path).Greeted()
	before := transcript(t, n, path)
	var page []any
	for _, m := range before {
		page = append(page, m)
	}
	asks(t, c, "r3", append(page, client.User("u3", "{}")), nil)
	require.Equal(t, before, transcript(t, n, path)[:4])
	require.True(t, question == wholeText(t, n, path, "u2"), "the text is another")
}

// wholeText is the last text of a message that is read by its id.
func wholeText(t *testing.T, n *process.Node, path, id string) string {
	t.Helper()
	res := raw(t, n.Addr, http.MethodGet, path+"/messages/"+id)
	require.Equal(t, http.StatusOK, res.status)
	var whole client.Message
	require.NoError(t, json.Unmarshal([]byte(res.body), &whole))
	return whole.Parts[len(whole.Parts)-1].Text
}

func TestBodiesThatAreRefused(t *testing.T) {
	const path = "/agents/chat-agent/bodies"
	n := process.Start(t, process.Options{})
	large := `{"text":"` + strings.Repeat("x", 16<<20) + `"}`
	for _, endpoint := range []string{"/chat", "/turns", "/chat/stop"} {
		for _, b := range []struct {
			name, body string
			status     int
			says       string
		}{
			{"over the limit", large, 413, "16 MiB (MaxFrameBytes)"},
			{"no JSON", `not json`, 400, "must be a JSON object"},
			{"a list", `[]`, 400, "must be a JSON object"},
			{"null", `null`, 400, "must be a JSON object"},
			{"half", `{"messages":[`, 400, "must be a JSON object"},
			{"deep", `{"messages":` + strings.Repeat("[", 20000), 400, "must be a JSON object"},
			{"zeros", "\x00\x00", 400, "must be a JSON object"},
		} {
			t.Run(endpoint+" "+b.name, func(t *testing.T) {
				for _, chunked := range []bool{false, true} {
					res := send(t, n, path+endpoint, b.body, chunked)
					require.Equal(t, b.status, res.status, res.body)
					require.Contains(t, res.body, b.says)
					require.Less(t, len(res.body), 300)
				}
			})
		}
	}
	for endpoint, bodies := range map[string]map[string]string{
		"/chat":      {`{}`: "messages", `{"messages":7}`: "messages", `{"messages":[{"id":"","role":"user","parts":[]}]}`: "messages[0].id", `{"messages":[],"trigger":"x"}`: "trigger"},
		"/turns":     {`{}`: "either text or messages", `{"text":"x","messages":[]}`: "either text or messages", `{"text":""}`: "text", `{"text":7}`: "text", `{"messages":[]}`: "messages is empty"},
		"/chat/stop": {`{"requestId":7}`: "requestId", `{"requestId":""}`: "requestId"},
	} {
		for body, says := range bodies {
			t.Run(endpoint+" "+body, func(t *testing.T) {
				res := post(t, n, path+endpoint, body)
				require.Equal(t, 400, res.status, res.body)
				require.Contains(t, res.body, says)
			})
		}
	}
	for _, r := range []struct{ method, rest string }{{"GET", "/chat"}, {"DELETE", "/turns"}, {"GET", "/chat/stop"}, {"PUT", "/messages/u"}} {
		require.Equal(t, http.StatusMethodNotAllowed, raw(t, n.Addr, r.method, path+r.rest, "Content-Length: 0").status)
	}
	require.Empty(t, stored(t, n, path))
	answers(t, n, path)
}

// send is post, chunked or with its length.
func send(t *testing.T, n *process.Node, path, body string, chunked bool) response {
	t.Helper()
	var reader io.Reader = strings.NewReader(body)
	if chunked {
		reader = io.MultiReader(bytes.NewReader(nil), reader) // of no known length
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.Addr+path, reader)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return response{res.StatusCode, res.Header, string(text)}
}
