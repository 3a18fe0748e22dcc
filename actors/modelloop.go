package actors

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// prepareModel runs one step of the model loop.
func (a *shell) prepareModel(e chat.CallModel) func(context.Context) chat.Command {
	s := &a.core.State
	t := s.Turns.Running()
	entries, continues := s.PromptFor(t), t.Continues
	class, log := a.class, a.log.With("request", t.Request)
	key := fmt.Sprintf("%s/%d/%d", a.addr, e.Turn, e.Step)
	out, me := newStream(a, t.ID, t.Attempt, t.Request), a.addr
	return func(ctx context.Context) chat.Command {
		ctx = inside(ctx, me)
		req := model.Request{
			Instructions: class.Instructions, Messages: prompt(entries, continues, class.Model),
			MaxOutputTokens: class.MaxOutputTokens, Temperature: class.Temperature, Key: key,
		}
		step := &modelStep{out: out}
		err := a.watched(ctx, out, func(ctx context.Context) error { return step.run(ctx, class.Model, req) })
		err = asFailure(err)
		if err == nil {
			return step.answered(ctx, e, class.Model.Name())
		}
		if ctx.Err() == nil && !errors.Is(err, ErrTurnOver) {
			log.Warn("model failed", "model", class.Model.Name(), "step", e.Step, "attempt", e.Attempt, "error", err)
		}
		failed := erred(e, err)
		if !failed.Transient {
			failed.Cleaned, _ = out.cleaned(ctx) // it has failed already
		}
		return failed
	}
}

func erred(e chat.CallModel, err error) chat.StepErred {
	out := chat.StepErred{
		Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Cause: string(model.CauseOf(err)), Public: generalFailure,
		Text: valid(err.Error()), Transient: model.CauseOf(err) == model.Transient, Now: nowMS(), Ids: newIDs(),
	}
	var v *visible
	if errors.As(err, &v) {
		out.Public = valid(v.Error())
	}
	var me *model.Error
	if errors.As(err, &me) {
		out.RetryAfter = me.RetryAfter.Milliseconds()
		if me.Public != "" {
			out.Public = valid(me.Public)
		}
	}
	return out
}

// modelStep turns the parts of one answer into chunks for clients, and keeps
// what the model said in its own words.
type modelStep struct {
	out     *Stream
	opened  bool
	content []model.Content
	open    map[string]*openPart
	finish  model.FinishPart
}

// openPart is text that is being written; at is its place in content.
type openPart struct {
	at   int
	text strings.Builder
}

func (m *modelStep) run(ctx context.Context, mod model.Model, req model.Request) error {
	m.open = make(map[string]*openPart)
	finished := false
	for part, err := range mod.Stream(ctx, req) {
		if err != nil {
			return err
		}
		m.out.alive()
		if err := m.take(part); err != nil {
			return err
		}
		if f, ok := part.(model.FinishPart); ok {
			m.finish, finished = f, true
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !finished {
		return &model.Error{Cause: model.Transient, Public: generalFailure, Err: errors.New("the answer has no end")}
	}
	if !m.opened {
		return m.begin()
	}
	return nil
}

// begin opens the stream at the first part: until then the turn has not begun
// to answer, and a failure is tried again unseen.
func (m *modelStep) begin() error {
	if m.opened {
		return nil
	}
	m.opened = true
	return m.out.Chunk(uimessage.Chunk{Type: "start-step"})
}

func (m *modelStep) take(part model.Part) error {
	c, ok := m.chunk(part)
	if !ok {
		return nil
	}
	if err := m.begin(); err != nil {
		return err
	}
	return m.out.Chunk(c)
}

// chunk is what clients see of a part; parts that they do not see are not ok.
func (m *modelStep) chunk(part model.Part) (c uimessage.Chunk, ok bool) {
	switch p := part.(type) {
	case model.TextStart:
		m.start(p.ID, model.Content{Kind: model.TextContent})
		return uimessage.Chunk{Type: "text-start", ID: p.ID}, true
	case model.TextDelta:
		m.add(p.ID, p.Text)
		return uimessage.Chunk{Type: "text-delta", ID: p.ID, Delta: p.Text}, true
	case model.TextEnd:
		m.end(p.ID, p.Metadata)
		return uimessage.Chunk{Type: "text-end", ID: p.ID, ProviderMetadata: metadata(p.Metadata)}, true
	case model.ReasoningStart:
		m.start(p.ID, model.Content{Kind: model.ReasoningContent, Metadata: p.Metadata})
		return uimessage.Chunk{Type: "reasoning-start", ID: p.ID, ProviderMetadata: metadata(p.Metadata)}, true
	case model.ReasoningDelta:
		m.add(p.ID, p.Text)
		return uimessage.Chunk{Type: "reasoning-delta", ID: p.ID, Delta: p.Text, ProviderMetadata: metadata(p.Metadata)}, true
	case model.ReasoningEnd:
		m.end(p.ID, p.Metadata)
		return uimessage.Chunk{Type: "reasoning-end", ID: p.ID, ProviderMetadata: metadata(p.Metadata)}, true
	case model.Source:
		if p.MediaType == "" {
			return uimessage.Chunk{Type: "source-url", SourceID: p.ID, URL: p.URL, Title: p.Title, ProviderMetadata: metadata(p.Metadata)}, true
		}
		return uimessage.Chunk{Type: "source-document", SourceID: p.ID, MediaType: p.MediaType, Title: p.Title, Filename: p.Filename, ProviderMetadata: metadata(p.Metadata)}, true
	case model.File:
		m.content = append(m.content, model.Content{Kind: model.FileContent, MediaType: p.MediaType, Data: p.Data})
		url := "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
		return uimessage.Chunk{Type: "file", MediaType: p.MediaType, URL: url}, true
	case model.ToolInputStart, model.ToolInputDelta, model.ToolCall: // no tool was offered
	case model.FinishPart: // told by answered
	}
	return uimessage.Chunk{}, false
}

func (m *modelStep) start(id string, c model.Content) {
	m.open[id] = &openPart{at: len(m.content)}
	m.content = append(m.content, c)
}

func (m *modelStep) add(id, text string) {
	if p := m.open[id]; p != nil {
		p.text.WriteString(text)
	}
}

func (m *modelStep) end(id string, md model.Metadata) {
	p := m.open[id]
	if p == nil {
		return
	}
	m.content[p.at].Text = p.text.String()
	if md != nil {
		m.content[p.at].Metadata = md
	}
	delete(m.open, id)
}

// answered closes the message for clients and hands in the step.
func (m *modelStep) answered(ctx context.Context, e chat.CallModel, name string) chat.Command {
	// If the turn is over meanwhile, the outcome is ignored as well.
	_ = m.out.chunks(
		uimessage.Chunk{Type: "finish-step"},
		uimessage.Chunk{Type: "finish", FinishReason: string(m.finish.Reason)})
	for id := range m.open { // a block that its model has left without an end
		m.end(id, nil)
	}
	content, err := encode(m.content)
	if err != nil {
		return erred(e, err)
	}
	cleaned, err := m.out.cleaned(ctx)
	if err != nil {
		failed := erred(e, err)
		failed.Cleaned = cleaned
		return failed
	}
	u := m.finish.Usage
	return chat.StepAnswered{
		Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Content: content, Reason: valid(string(m.finish.Reason)), Model: valid(name), Cleaned: cleaned,
		Usage: &journalv1.Usage{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite},
	}
}

func metadata(md model.Metadata) json.RawMessage {
	if len(md) == 0 {
		return nil
	}
	data, err := json.Marshal(md)
	if err != nil {
		return nil // not JSON: not for clients; the step record has it
	}
	return data
}

// encode is json.Marshal without the escapes of HTML, which would make six bytes of one.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
