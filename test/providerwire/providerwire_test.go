package providerwire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/test/providerwire"
)

// paths of the three protocols, and the least body that each takes.
var protocols = map[string]string{
	"/v1/chat/completions": `{"model":"m","stream":true,"messages":[{"role":"user","content":%s}]}`,
	"/v1/responses":        `{"model":"m","stream":true,"input":[{"role":"user","content":%s}]}`,
	"/v1/messages":         `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":%s}]}`,
}

func post(t *testing.T, ctx context.Context, url, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() }) //nolint:errcheck // read only
	return resp
}

func user(body, text string) string {
	quoted, _ := json.Marshal(text)
	return strings.Replace(body, "%s", string(quoted), 1)
}

func TestTheScriptAnswersByItsWords(t *testing.T) {
	s := providerwire.Start(providerwire.Script())
	defer s.Close() //nolint:errcheck // the test is over
	for path, body := range protocols {
		for asked, want := range map[string]struct {
			status int
			sent   string
		}{
			"hello there":  {200, "You said: hello there"},
			"think please": {200, "You said: think please"},
			"slow 3":       {200, "1 2 3"},
			"error":        {500, ""},
		} {
			resp := post(t, t.Context(), s.URL+path, user(body, asked))
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Fatal(err)
			}
			records, err := s.Await(t.Context(), func(r []providerwire.Record) bool { return r[len(r)-1].Done })
			if err != nil {
				t.Fatal(err)
			}
			if last := records[len(records)-1]; resp.StatusCode != want.status || last.Sent != want.sent || last.Cut {
				t.Errorf("%s %q: %d, %+v", path, asked, resp.StatusCode, last)
			}
		}
	}
}

func TestTheScriptCallsToolsStepByStepAndTellsWhatTheySaid(t *testing.T) {
	s := providerwire.Start(providerwire.Script())
	defer s.Close() //nolint:errcheck // the test is over
	asked := `call a {\"n\":1} call b {} then call c {}`
	call := func(id, tool string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"` + tool + `","arguments":"{}"}}`
	}
	step1 := `,{"role":"assistant","content":"","tool_calls":[` + call("1", "a") + `,` + call("2", "b") + `]}` +
		`,{"role":"tool","tool_call_id":"1","content":"one"},{"role":"tool","tool_call_id":"2","content":"two"}`
	step2 := `,{"role":"assistant","content":"","tool_calls":[` + call("3", "c") + `]},{"role":"tool","tool_call_id":"3","content":"three"}`
	for soFar, want := range map[string][]string{
		"":            {`"name":"a"`, `"name":"b"`, `"finish_reason":"tool_calls"`},
		step1:         {`"name":"c"`, `"finish_reason":"tool_calls"`},
		step1 + step2: {"said:", " one", " two", " three", `"finish_reason":"stop"`},
	} {
		body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"` + asked + `"}` + soFar + `]}`
		got, err := io.ReadAll(post(t, t.Context(), s.URL+"/v1/chat/completions", body).Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(got), w) {
				t.Errorf("after %q: no %s in %s", soFar, w, got)
			}
		}
	}
}

func TestTheScriptFailsOnceWhereItSaysSo(t *testing.T) {
	s := providerwire.Start(providerwire.Script())
	defer s.Close() //nolint:errcheck // the test is over
	url := s.URL + "/v1/chat/completions"
	ask := func(text string) (int, error) {
		resp := post(t, t.Context(), url, user(protocols["/v1/chat/completions"], text))
		_, err := io.ReadAll(resp.Body)
		return resp.StatusCode, err
	}
	if status, _ := ask("busy now"); status != 429 {
		t.Errorf("busy: %d", status)
	}
	if status, err := ask("busy now"); status != 200 || err != nil {
		t.Errorf("busy again: %d, %v", status, err)
	}
	if _, err := ask("cut it"); err == nil {
		t.Error("cut: the connection did not break")
	}
	if _, err := ask("cut it"); err != nil {
		t.Errorf("cut again: %v", err)
	}
}

func TestAPartialAnswerIsContinued(t *testing.T) {
	s := providerwire.Start(providerwire.Script())
	defer s.Close() //nolint:errcheck // the test is over
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"slow 4"},{"role":"assistant","content":"1 2"}]}`
	if _, err := io.ReadAll(post(t, t.Context(), s.URL+"/v1/chat/completions", body).Body); err != nil {
		t.Fatal(err)
	}
	if sent := s.Records()[0].Sent; sent != " 3 4" {
		t.Errorf("sent %q", sent)
	}
}

func TestARequestThatTheClientLeftIsRecordedAsCut(t *testing.T) {
	s := providerwire.Start(providerwire.Script())
	defer s.Close() //nolint:errcheck // the test is over
	for path, body := range protocols {
		ctx, cancel := context.WithCancel(t.Context())
		resp := post(t, ctx, s.URL+path, user(body, "slow 9999"))
		if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := s.Await(t.Context(), func(r []providerwire.Record) bool { return r[len(r)-1].Cut }); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	resp, err := http.Get(s.URL + "/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	var shown []providerwire.Record
	if err := json.NewDecoder(resp.Body).Decode(&shown); err != nil || len(shown) != 3 || !shown[0].Cut || shown[0].Body == "" {
		t.Errorf("%v, GET /requests shows %+v", err, shown)
	}
}

func TestWhatTheProvidersRefuseIsRefused(t *testing.T) {
	s := providerwire.Start(providerwire.Script())
	defer s.Close() //nolint:errcheck // the test is over
	for body, path := range map[string]string{
		`{`: "/v1/chat/completions",
		`{"model":"m","stream":true,"messages":[]}`:                                                                                                     "/v1/chat/completions",
		`{"model":"m","stream":true,"messages":[{"role":"tool","tool_call_id":"x","content":"1"}]}`:                                                     "/v1/chat/completions",
		`{"model":"m","stream":true,"messages":[{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]}]}`:              "/v1/chat/completions",
		`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`:                                                                       "/v1/messages",
		`{"model":"m","stream":true,"max_tokens":1,"messages":[{"role":"assistant","content":"hi"}]}`:                                                   "/v1/messages",
		`{"model":"m","stream":true,"max_tokens":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ends with "}]}`:            "/v1/messages",
		`{"model":"m","stream":true,"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs","encrypted_content":"forged","summary":[]}]}`: "/v1/responses",
	} {
		resp := post(t, t.Context(), s.URL+path, body)
		said, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 400 || !bytes.Contains(said, []byte("invalid_request_error")) {
			t.Errorf("%s %s: %d %s", path, body, resp.StatusCode, said)
		}
	}
}
