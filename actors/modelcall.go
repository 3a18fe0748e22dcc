package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// call takes a call whose input is complete: it is in the journal before clients
// see it. What no tool takes fails at once, and the model is told.
func (m *modelStep) call(ctx context.Context, p model.ToolCall) error {
	id := m.id(p.CallID)
	delete(m.started, id)
	m.complete(p.CallID)
	m.calls++
	tool, input, approve, err := m.examine(ctx, p)
	said := model.Content{Kind: model.ToolCallContent, CallID: id, Tool: valid(p.Tool), Input: uimessage.NormalizeInput(input), Metadata: p.Metadata}
	m.content = append(m.content, said)
	if err != nil {
		return m.loop.out.Chunk(uimessage.Chunk{
			Type: "tool-input-error", ToolCallID: id, ToolName: said.Tool, Input: shown(p.Input), ErrorText: valid(err.Error()), ProviderMetadata: metadata(p.Metadata),
		})
	}
	open := chat.Call{
		ID: id, Tool: tool.Name, Kind: journalv1.CallKind_CALL_KIND_SERVER, Input: said.Input, Repeatable: tool.repeatable,
		Turn: m.loop.e.Turn, Step: m.loop.e.Step,
	}
	if tool.run == nil {
		open.Kind = journalv1.CallKind_CALL_KIND_CLIENT
	}
	if approve {
		open.ApprovalID = "approval_" + newIDs().Request
	}
	m.runnable++
	if approve || tool.run == nil {
		m.runnable--
		m.waiting++
		if d := m.loop.class.AnswerTimeout; d > 0 {
			open.Expires = nowMS() + d.Milliseconds()
		}
	}
	if err := m.loop.openCall(ctx, open); err != nil {
		return err
	}
	chunks := []uimessage.Chunk{{
		Type: "tool-input-available", ToolCallID: id, ToolName: tool.Name, Input: said.Input, ProviderMetadata: metadata(p.Metadata),
	}}
	if approve {
		chunks = append(chunks, uimessage.Chunk{Type: "tool-approval-request", ApprovalID: open.ApprovalID, ToolCallID: id})
	}
	return m.loop.out.chunks(chunks...)
}

// examine finds the tool of a call, whose input it takes, and whether a person has to
// approve it. An error is for the model.
func (m *modelStep) examine(ctx context.Context, p model.ToolCall) (tool Tool, input json.RawMessage, approve bool, err error) {
	tool, ok := m.cfg.tools.get(p.Tool)
	if !ok {
		return tool, p.Input, false, noTool(p.Tool)
	}
	input = p.Input
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	err = tool.takes(input)
	if repair := m.loop.class.RepairToolInput; err != nil && repair != nil {
		repaired, rerr := repair(ctx, BadInput{Tool: tool, Input: p.Input, Err: err, Self: m.loop.self})
		if rerr == nil && repaired != nil {
			input, err = repaired, tool.takes(repaired)
		}
	}
	if err == nil {
		approve, err = m.loop.shell.rt.toolHost(m.loop.log).needsApproval(tool, input)
	}
	return tool, input, approve, err
}

// shown is an input as a chunk can have it.
func shown(input json.RawMessage) json.RawMessage {
	if json.Valid(input) {
		return input
	}
	return quoted(valid(string(input)))
}

// giveUpInputs ends inputs that the answer has left incomplete.
func (m *modelStep) giveUpInputs() error {
	for id, tool := range m.started {
		err := m.loop.out.Chunk(uimessage.Chunk{
			Type: "tool-input-error", ToolCallID: id, ToolName: valid(tool), Input: json.RawMessage("{}"),
			ErrorText: "The answer ended before the input was complete.",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// openCall has a call decided upon.
func (l *loopStep) openCall(ctx context.Context, c chat.Call) error {
	decided := make(chan error, 1)
	l.shell.tell(forget(func(a *shell) {
		decided <- a.decide(chat.OpenCall{Turn: l.e.Turn, Step: l.e.Step, Attempt: l.e.Attempt, Call: c}, "", a.core.Step)
	}))
	select {
	case err := <-decided:
		if errors.Is(err, chat.ErrTurnOver) || errors.Is(err, chat.ErrDeleted) {
			return ErrTurnOver
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
