package openaicompat_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/internal/modelsuite"
	"github.com/holdfast-dev/holdfast/actors/model/openaicompat"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

// serve starts a server and a model that asks it; change may alter the config.
func serve(t *testing.T, handler providerwire.Handler, change func(*openaicompat.Config)) (*providerwire.Server, model.Model) {
	t.Helper()
	s := providerwire.Start(handler)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close() //nolint:errcheck // the test is over
	})
	c := openaicompat.Config{BaseURL: s.URL + "/v1", Model: "test", APIKey: modelsuite.Key, HTTPClient: &http.Client{Transport: transport}}
	if change != nil {
		change(&c)
	}
	m, err := openaicompat.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// A node's OPENAI_… variables are for OpenAI, not for whatever endpoint an
// author configures beside it.
func TestTheEnvironmentStaysAtHome(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-the-environment")
	t.Setenv("OPENAI_ORG_ID", "org-of-the-environment")
	t.Setenv("OPENAI_PROJECT_ID", "project-of-the-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: of-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/of-the-environment")
	s, m := serve(t, func(*providerwire.Request, *providerwire.Writer) {}, func(c *openaicompat.Config) {
		c.APIKey = ""
		c.Headers = map[string]string{"X-Mine": "yes"}
	})
	_, err := modelsuite.Collect(t, t.Context(), m, modelsuite.Ask("hi"))
	if model.CauseOf(err) != model.Unauthorised {
		t.Errorf("asked without a key: %v", err)
	}
	records := s.Records()
	if len(records) != 1 || records[0].Header.Get("X-Mine") != "yes" {
		t.Fatalf("records %+v", records)
	}
	for name, values := range records[0].Header {
		if v := strings.Join(values, ","); strings.Contains(v, "of-the-environment") || strings.HasPrefix(name, "X-Stainless") {
			t.Errorf("%s: %s was sent", name, v)
		}
	}
}

func TestTheKeyOfAStepIsSentForIdempotency(t *testing.T) {
	s, m := serve(t, func(*providerwire.Request, *providerwire.Writer) {}, nil)
	r := modelsuite.Ask("hi")
	r.Key = "agent/turn/step-1"
	modelsuite.Whole(t, m, r)
	if got := s.Records()[0].Header.Get("Idempotency-Key"); got != r.Key {
		t.Errorf("Idempotency-Key: %q", got)
	}
}

// Google's endpoint signs its calls in a field of its own.
func TestExtraContentOfACallComesBackByteForByte(t *testing.T) {
	const extra = `{"google":{"thought_signature":"A<b>==\u00e9"}}`
	s, m := serve(t, func(r *providerwire.Request, w *providerwire.Writer) {
		if r.N > 1 {
			w.Text("done")
			return
		}
		w.Raw(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":` + extra + "}]}}]}\n\n")
		w.Finish("tool_calls")
	}, nil)
	r := modelsuite.Ask("hi")
	r.Tools = []model.Tool{{Name: "look"}}
	answer := modelsuite.Message(modelsuite.Whole(t, m, r))
	raw, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var stored model.Message
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, stored, modelsuite.Result("c1", `1`))
	modelsuite.Whole(t, m, r)
	var sent struct {
		Messages []struct {
			ToolCalls []struct {
				Extra struct {
					Google struct {
						Signature string `json:"thought_signature"`
					}
				} `json:"extra_content"`
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal([]byte(s.Records()[1].Body), &sent); err != nil {
		t.Fatal(err)
	}
	if calls := sent.Messages[1].ToolCalls; len(calls) != 1 || calls[0].Extra.Google.Signature != "A<b>==é" {
		t.Errorf("sent %s", s.Records()[1].Body)
	}
}

// A finish reason says that the answer is whole, also where "[DONE]" is missing
// or the connection breaks; without either it is not, however whole a call looks.
func TestAnAnswerIsWholeWithItsFinishReason(t *testing.T) {
	_, m := serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
		w.Text("all")
		w.Raw("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
		w.Cut()
	}, nil)
	if got := modelsuite.Text(modelsuite.Whole(t, m, modelsuite.Ask("hi"))); got != "all" {
		t.Errorf("%q", got)
	}
	_, m = serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
		w.Call("c1", "look", `{"at":1}`)
		w.Cut()
	}, nil)
	parts, err := modelsuite.Collect(t, t.Context(), m, modelsuite.Ask("hi"))
	if model.CauseOf(err) != model.Transient {
		t.Errorf("%v", err)
	}
	for _, p := range parts {
		if c, ok := p.(model.ToolCall); ok {
			t.Errorf("%+v", c)
		}
	}
}

func TestAWrongConfigNamesItsField(t *testing.T) {
	for field, c := range map[string]openaicompat.Config{
		"Model":   {BaseURL: "http://localhost:1/v1"},
		"BaseURL": {Model: "m", BaseURL: "localhost:1"},
	} {
		if _, err := openaicompat.New(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v, want %s in it", c, err, field)
		}
	}
}
