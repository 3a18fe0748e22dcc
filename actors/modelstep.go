package actors

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// modelStep turns the parts of one answer into chunks for clients, and keeps
// what the model said in its own words.
type modelStep struct {
	words
	callIDs
	loop   *loopStep
	cfg    *loopConfig
	opened bool
	finish model.FinishPart
	raw    []json.RawMessage // events since the last part

	started  map[string]string // calls whose input is being written: their tools
	calls    int
	runnable int // calls for the server to run now
	waiting  int // calls for clients and people
}

func (m *modelStep) run(ctx context.Context, mod model.Model, req model.Request) error {
	m.callIDs, m.started = newCallIDs(m.loop.used), make(map[string]string)
	hook := m.loop.class.OnChunk
	if hook != nil {
		ctx = model.WithRaw(ctx, func(event json.RawMessage) { m.raw = append(m.raw, event) })
	}
	finished := false
	for part, err := range mod.Stream(ctx, req) {
		if err != nil {
			return err
		}
		m.loop.out.alive()
		if hook != nil {
			hook(ctx, ChunkInfo{RequestID: m.loop.request, Step: int(m.loop.e.Step), Part: part, Raw: m.raw, Self: m.loop.self})
			m.raw = nil
		}
		if err := m.take(ctx, part); err != nil {
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
	if err := m.begin(); err != nil {
		return err
	}
	return m.giveUpInputs()
}

// begin opens the stream at the first part: until then the turn has not begun
// to answer, and a failure is tried again unseen.
func (m *modelStep) begin() error {
	if m.opened {
		return nil
	}
	m.opened, m.loop.setup.opened = true, true
	return m.loop.out.Chunk(uimessage.Chunk{Type: "start-step"})
}

func (m *modelStep) take(ctx context.Context, part model.Part) error {
	if call, ok := part.(model.ToolCall); ok {
		if err := m.begin(); err != nil {
			return err
		}
		return m.call(ctx, call)
	}
	c, ok := m.chunk(part)
	if !ok {
		return nil
	}
	if err := m.begin(); err != nil {
		return err
	}
	return m.loop.out.Chunk(c)
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
	case model.ToolInputStart:
		id := m.id(p.CallID)
		m.started[id] = p.Tool
		return uimessage.Chunk{Type: "tool-input-start", ToolCallID: id, ToolName: valid(p.Tool)}, true
	case model.ToolInputDelta:
		return uimessage.Chunk{Type: "tool-input-delta", ToolCallID: m.id(p.CallID), Delta: p.Text}, true
	case model.ToolCall: // see call
	case model.FinishPart: // told by answered
	}
	return uimessage.Chunk{}, false
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
