package aisdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// The rules of comparison. What is not named here must be the same.

// sevenOnly are the kinds that AI SDK 6 does not know and leaves out.
var sevenOnly = []string{"custom", "reasoning-file", "steering-message", "tool-approval-response"}

// A view is a message as one of the two sides has it.
type view struct {
	ID       string          `json:"id"`
	Metadata json.RawMessage `json:"metadata"`
	Parts    []uimessage.Part
}

// differences tells where reader's view is not ours. told are the calls whose
// whole input was in the stream, or in one before; twice those that are not compared.
func differences(reader, ours view, old bool, told, twice map[string]bool) error {
	if reader.ID != ours.ID {
		return fmt.Errorf("id %q, ours %q", reader.ID, ours.ID)
	}
	// Ours leaves metadata out when it is empty; the reader has {}, from the chunk that makes it tell.
	if a, b := orEmpty(reader.Metadata), orEmpty(ours.Metadata); !uimessage.SameJSON(a, b) {
		return fmt.Errorf("metadata %s, ours %s", a, b)
	}
	a, b := without(reader.Parts, twice), without(ours.Parts, twice)
	if len(a) != len(b) {
		return fmt.Errorf("%d parts, ours %d", len(a), len(b))
	}
	for i := range a {
		if err := partDifference(a[i], b[i], old, told); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(`{}`)
	}
	return raw
}

// forked names the calls of which the reader may have two parts, or had until a
// reset-step: it looks for a call's input in the current step only, so one that
// goes on behind a start-step makes another part. A store keeps one part a call;
// nothing that a guard could send instead would reach the first part.
func forked(base []uimessage.Part, sent []uimessage.Chunk) map[string]bool {
	step, place, found := 0, make(map[string]int), make(map[string]bool)
	for i := range base {
		if base[i].Type == uimessage.StepStart {
			step++
		}
		if base[i].IsTool() {
			place[base[i].ToolCallID] = step
		}
	}
	first := step
	for _, c := range sent {
		switch c.Type {
		case "start-step":
			step++
		case "reset-step":
			for id, at := range place {
				if at == step && step > first {
					delete(place, id)
				}
			}
		case "tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error":
			at, known := place[c.ToolCallID]
			if !known {
				place[c.ToolCallID] = step
			}
			found[c.ToolCallID] = found[c.ToolCallID] || known && at != step
		}
	}
	return found
}

func without(parts []uimessage.Part, calls map[string]bool) []uimessage.Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p uimessage.Part) bool { return p.IsTool() && calls[p.ToolCallID] })
}

func partDifference(reader, ours uimessage.Part, old bool, told map[string]bool) error {
	for _, m := range [][2]json.RawMessage{
		{reader.ProviderMetadata, ours.ProviderMetadata},
		{reader.CallProviderMetadata, ours.CallProviderMetadata},
		{reader.ResultProviderMetadata, ours.ResultProviderMetadata},
	} {
		if !within(m[0], m[1]) {
			return fmt.Errorf("provider metadata %s, ours %s", m[0], m[1])
		}
	}
	a, b := comparable(reader, old, told).AppendJSON(nil), comparable(ours, old, told).AppendJSON(nil)
	if !uimessage.SameJSON(a, b) {
		return fmt.Errorf("\n reader %s\n ours   %s", a, b)
	}
	return nil
}

// within reports whether ours has all that the reader has. It has more when one
// provider spoke of a part and then another: the reader forgets the first, a
// store keeps both, since each provider wants its own back.
func within(reader, ours json.RawMessage) bool {
	var a, b map[string]json.RawMessage
	if len(reader) == 0 {
		return true
	}
	if json.Unmarshal(reader, &a) != nil || len(ours) > 0 && json.Unmarshal(ours, &b) != nil {
		return false
	}
	for provider, v := range a {
		if !uimessage.SameJSON(v, b[provider]) {
			return false
		}
	}
	return true
}

// beginsJSON reports whether the input so far is the beginning of a JSON text, or a text.
func beginsJSON(p uimessage.Part) bool {
	var raw string
	if p.InputEncoding == "text" || json.Unmarshal(p.RawInput, &raw) != nil {
		return true
	}
	var bad *json.SyntaxError
	return !errors.As(json.NewDecoder(strings.NewReader(raw)).Decode(new(any)), &bad)
}

// comparable is p without what may differ.
func comparable(p uimessage.Part, old bool, told map[string]bool) uimessage.Part {
	p.ProviderMetadata, p.CallProviderMetadata, p.ResultProviderMetadata = nil, nil, nil // see within
	if old {
		p.Citations = nil // version 6 does not know them
	}
	if !p.IsTool() {
		return p
	}
	p.ToolName = p.Tool() // a store names the tool of a static part, too; observers want it
	if p.InputEncoding == "json" {
		p.InputEncoding = "" // the same, said at length
	}
	if string(p.RawInput) == `""` {
		p.RawInput = nil // the reader has it once a delta came, even an empty one
	}
	if old && p.Approval != nil {
		p.Approval = &uimessage.Approval{ID: p.Approval.ID, Approved: p.Approval.Approved, Reason: p.Approval.Reason}
	}
	if p.State == uimessage.InputStreaming {
		if !beginsJSON(p) {
			p.Input = nil // whatever the reader can make of it
		}
		return p
	}
	if old && p.State == uimessage.OutputError && len(p.Input) == 0 {
		p.Input = p.RawInput // version 6 keeps there what was no input
	}
	// A store gives providers an object, whatever the model has said, and no half of one.
	p.Input, p.RawInput, p.InputEncoding = uimessage.NormalizeInput(p.Input), nil, ""
	if !told[p.ToolCallID] {
		p.Input = nil
	}
	return p
}
