// Package modelsuite is what each provider's model has to do, over the
// provider's real wire. A package of a provider runs it in its tests.
package modelsuite

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

// A Provider is the model under test.
type Provider struct {
	// New returns a model that asks the server at url with the client and the key.
	New func(t *testing.T, url, key string, client *http.Client) model.Model
	// Reasons: reasoning reaches the caller.
	Reasons bool
	// Signs: reasoning has a signature that must come back.
	Signs bool
	// Options is the provider's name in ProviderOptions.
	Options string
	// WholeCalls: the input of a call comes whole, as JSON.
	WholeCalls bool
}

// Run runs the suite.
func Run(t *testing.T, p Provider) {
	t.Run("answers", p.answers)
	t.Run("tools", p.tools)
	t.Run("failures", p.failures)
	t.Run("endings", p.endings)
	t.Run("rounds", p.rounds)
}

// Key is the key that tests use.
const Key = "sk-test-secret"

// serve starts a server for one test and a model that asks it. After the test
// no goroutine of either may be left.
func (p Provider) serve(t *testing.T, handle providerwire.Handler) (*providerwire.Server, model.Model) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s := providerwire.Start(handle)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
		goleak.VerifyNone(t, before)
	})
	return s, p.New(t, s.URL, Key, &http.Client{Transport: transport})
}

// Ask is a request with one user message.
func Ask(text string) model.Request {
	return model.Request{Messages: []model.Message{Says(model.User, text)}}
}

// Says is a message of text.
func Says(role model.Role, text string) model.Message {
	return model.Message{Role: role, Content: []model.Content{{Kind: model.TextContent, Text: text}}}
}

// Collect reads an answer to its end, and checks what holds for each answer:
// blocks begin before their deltas and end once, ids are not used twice, and a
// finish comes last or an error does.
func Collect(t *testing.T, ctx context.Context, m model.Model, r model.Request) (parts []model.Part, err error) {
	t.Helper()
	for p, e := range m.Stream(ctx, r) {
		if err != nil {
			t.Errorf("%#v, %v after the error %v", p, e, err)
		}
		if e != nil {
			err = e
			continue
		}
		parts = append(parts, p)
	}
	checkOrder(t, parts, err != nil)
	return parts, err
}

// checkOrder fails the test if blocks are not whole. An answer that failed may
// leave the last ones open.
func checkOrder(t *testing.T, parts []model.Part, failed bool) {
	t.Helper()
	open, used := map[string]bool{}, map[string]bool{}
	start := func(id string) {
		if used[id] {
			t.Errorf("id %q is used twice", id)
		}
		open[id], used[id] = true, true
	}
	end := func(id string) {
		if !open[id] {
			t.Errorf("block %q ends but is not open", id)
		}
		delete(open, id)
	}
	delta := func(id string) {
		if !open[id] {
			t.Errorf("a delta of %q, which is not open", id)
		}
	}
	finished := false
	for _, p := range parts {
		if finished {
			t.Errorf("%#v after the finish", p)
		}
		switch p := p.(type) {
		case model.TextStart:
			start(p.ID)
		case model.TextDelta:
			delta(p.ID)
		case model.TextEnd:
			end(p.ID)
		case model.ReasoningStart:
			start(p.ID)
		case model.ReasoningDelta:
			delta(p.ID)
		case model.ReasoningEnd:
			end(p.ID)
		case model.ToolInputStart:
			start(p.CallID)
		case model.ToolInputDelta:
			delta(p.CallID)
		case model.ToolCall:
			end(p.CallID)
		case model.FinishPart:
			finished = true
		}
	}
	if finished == failed {
		t.Errorf("finished: %v, failed: %v", finished, failed)
	}
	if !failed && len(open) > 0 {
		t.Errorf("left open: %v", open)
	}
}

// Whole reads an answer that must not fail.
func Whole(t *testing.T, m model.Model, r model.Request) []model.Part {
	t.Helper()
	parts, err := Collect(t, t.Context(), m, r)
	if err != nil {
		t.Fatalf("the answer failed: %v", err)
	}
	return parts
}

// Message is the assistant message that an answer makes, as the runtime records
// it for the next step.
func Message(parts []model.Part) model.Message {
	m := model.Message{Role: model.Assistant}
	at := map[string]int{}
	add := func(id string, c model.Content) {
		at[id] = len(m.Content)
		m.Content = append(m.Content, c)
	}
	for _, p := range parts {
		switch p := p.(type) {
		case model.TextStart:
			add(p.ID, model.Content{Kind: model.TextContent})
		case model.TextDelta:
			m.Content[at[p.ID]].Text += p.Text
		case model.TextEnd:
			m.Content[at[p.ID]].Metadata = p.Metadata
		case model.ReasoningStart:
			add(p.ID, model.Content{Kind: model.ReasoningContent, Metadata: p.Metadata})
		case model.ReasoningDelta:
			m.Content[at[p.ID]].Text += p.Text
		case model.ReasoningEnd:
			m.Content[at[p.ID]].Metadata = p.Metadata
		case model.ToolCall:
			m.Content = append(m.Content, model.Content{
				Kind: model.ToolCallContent, CallID: p.CallID, Tool: p.Tool, Input: p.Input, Metadata: p.Metadata,
			})
		}
	}
	return m
}

// Result answers a call.
func Result(callID, output string) model.Message {
	return model.Message{Role: model.ToolRole, Content: []model.Content{
		{Kind: model.ToolResultContent, CallID: callID, Output: []byte(output)},
	}}
}

// Text is the answer's text; Reasoning its reasoning.
func Text(parts []model.Part) string      { return joined(parts, model.TextContent) }
func Reasoning(parts []model.Part) string { return joined(parts, model.ReasoningContent) }

func joined(parts []model.Part, kind model.ContentKind) string {
	var b strings.Builder
	for _, c := range Message(parts).Content {
		if c.Kind == kind {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// Finish is the answer's last part.
func Finish(t *testing.T, parts []model.Part) model.FinishPart {
	t.Helper()
	f, ok := parts[len(parts)-1].(model.FinishPart)
	if !ok {
		t.Fatalf("the last part is %#v", parts[len(parts)-1])
	}
	return f
}
