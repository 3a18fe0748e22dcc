package uimessage

import (
	"encoding/json"
	"slices"
	"strings"
)

// Heal reads one message as ParseMessage does, but makes good what older
// versions of the AI SDK wrote: a string or a list of pieces as content,
// toolInvocations, a reasoning text, attachments, the role "data", and parts in
// their form of version 4. Tool inputs that no provider would accept are
// normalized (see NormalizeInput; what that loses stays in RawInput). Fields
// that have no place in a part, such as createdAt, stay in Extra.
//
// It is for what clients send and for stored rows: a message without id, role
// or parts, or with a part that cannot be read, is still refused with an
// *InvalidError that names the field. A message that ParseMessage takes and
// whose inputs are objects comes out the same, and so does a healed one.
func Heal(data []byte) (Message, error) {
	raw, bad := clean(data)
	if bad != nil {
		return Message{}, bad
	}
	m, bad := heal(raw)
	if bad != nil {
		return Message{}, bad
	}
	return m, nil
}

// HealMessages reads a JSON array of messages as Heal does. The paths in its
// errors begin with "messages".
func HealMessages(data []byte) ([]Message, error) { return parseMessages(data, heal) }

func heal(raw json.RawMessage) (Message, *InvalidError) {
	if obj, ok := split(raw); ok && modernize(&obj) {
		raw = obj.json()
	}
	m, bad := parseMessage(raw)
	for i := range m.Parts {
		m.Parts[i].healInput()
	}
	return m, bad
}

// healInput gives a call an input that is an object. What it was stays in
// RawInput unless that has the original already.
func (p *Part) healInput() {
	if !p.IsTool() || len(p.Input) > 0 && p.Input[0] == '{' {
		return
	}
	original := p.Input
	if len(p.RawInput) > 0 {
		original = p.RawInput
	}
	in, lost := normalizeInput(p.Input)
	p.Input = in
	if lost {
		p.RawInput = original
	}
}

// modernize brings a message into today's form; it returns false if it has that.
func modernize(obj *members) (changed bool) {
	if string(obj.get("role")) == `"data"` {
		obj.set("role", json.RawMessage(`"system"`))
		changed = true
	}
	parts := obj.get("parts")
	list, ok := elements(parts)
	switch {
	case ok:
		if !modernizeParts(list) {
			return changed
		}
	case len(parts) > 0:
		return changed // no array: refused later
	default:
		if list, ok = partsOfOld(obj); !ok {
			return changed
		}
	}
	obj.set("parts", array(list))
	return true
}

// partsOfOld takes the fields that messages had before they had parts.
func partsOfOld(obj *members) (parts []json.RawMessage, ok bool) {
	reasoning, calls, content := obj.take("reasoning"), obj.take("toolInvocations"), obj.take("content")
	files := slices.Concat(elementsOf(obj.take("experimental_attachments")), elementsOf(obj.take("files")))
	var text string
	if unquote(reasoning, &text) && text != "" {
		parts = append(parts, textPart(ReasoningPart, reasoning))
	}
	for _, raw := range elementsOf(calls) {
		parts = append(parts, modernPart(wrap("tool-invocation", "toolInvocation", raw)))
	}
	for _, raw := range files {
		if file, ok := split(raw); ok {
			parts = append(parts, file.toFile().json())
		}
	}
	if unquote(content, &text) && (text != "" || len(parts) == 0) {
		parts = append(parts, textPart(TextPart, content))
	}
	for _, raw := range elementsOf(content) {
		if raw[0] == '"' {
			raw = textPart(TextPart, raw)
		} else if piece, ok := split(raw); ok && piece.get("type") == nil && piece.get("text") != nil {
			raw = textPart(TextPart, piece.get("text"))
		}
		parts = append(parts, modernPart(raw))
	}
	return parts, len(parts) > 0 || len(content) > 0 && content[0] == '['
}

func modernizeParts(list []json.RawMessage) (changed bool) {
	for i, raw := range list {
		list[i] = modernPart(raw)
		changed = changed || string(list[i]) != string(raw)
	}
	return changed
}

// modernPart brings a part of version 4 into today's form. Others, and what is
// no part, are left as they are.
func modernPart(raw json.RawMessage) json.RawMessage {
	obj, ok := split(raw)
	if !ok {
		return raw
	}
	var typ string
	unquote(obj.get("type"), &typ)
	switch {
	case typ == "tool-invocation":
		if call, ok := split(obj.get("toolInvocation")); ok {
			return call.toCall()
		}
	case typ == "tool-call" && obj.get("state") == nil:
		return obj.toCall()
	case typ == ReasoningPart && obj.get("text") == nil && obj.get("reasoning") != nil:
		obj.rename("reasoning", "text")
		obj.take("details") // the same text, by paragraph
		return obj.json()
	case typ == "source":
		if source, ok := split(obj.get("source")); ok {
			source.take("sourceType")
			source.rename("id", "sourceId")
			return append(members{{"type", json.RawMessage(`"source-url"`)}}, source...).json()
		}
	case typ == "image", typ == "file" && (obj.get("url") == nil || obj.get("mediaType") == nil):
		return obj.toFile().json()
	}
	return raw
}

// callStates are the states of calls in version 4 and what they are called now.
var callStates = map[string]string{
	"partial-call": InputStreaming, "call": InputAvailable, "result": OutputAvailable, "error": OutputError,
}

// toCall makes a tool part of a toolInvocation.
func (m members) toCall() json.RawMessage {
	var name, old, fault string
	unquote(m.get("toolName"), &name)
	unquote(m.get("state"), &old)
	state, known := callStates[old]
	if !known {
		state = InputAvailable
	}
	p := members{
		{"type", AppendString(nil, toolPrefix+name)}, {"toolName", AppendString(nil, name)},
		{"state", AppendString(nil, state)}, {"input", orNull(m.get("args"))},
	}
	if id := m.get("toolCallId"); len(id) > 0 {
		p = append(p, member{"toolCallId", id})
	}
	switch state {
	case OutputAvailable:
		p = append(p, member{"output", orNull(m.get("result"))})
	case OutputError:
		if !unquote(m.get("errorText"), &fault) {
			unquote(m.get("result"), &fault)
		}
		p = append(p, member{"errorText", AppendString(nil, fault)})
	}
	return p.json()
}

// toFile makes a file part of an attachment, or of a file or image of version 4.
func (m members) toFile() members {
	var mediaType, url, name string
	for _, key := range []string{"mediaType", "mimeType", "contentType"} {
		_ = mediaType == "" && unquote(m.get(key), &mediaType)
	}
	for _, key := range []string{"url", "image", "data"} {
		_ = url == "" && unquote(m.get(key), &url)
	}
	for _, key := range []string{"filename", "name"} {
		_ = name == "" && unquote(m.get(key), &name)
	}
	if told, _, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";"); ok && mediaType == "" && strings.HasPrefix(url, "data:") {
		mediaType = told
	}
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	if url != "" && !strings.Contains(url, ":") { // base64 alone
		url = "data:" + mediaType + ";base64," + url
	}
	p := members{{"type", json.RawMessage(`"file"`)}, {"mediaType", AppendString(nil, mediaType)}, {"url", AppendString(nil, url)}}
	if name != "" {
		p = append(p, member{"filename", AppendString(nil, name)})
	}
	return p
}

func textPart(typ string, text json.RawMessage) json.RawMessage {
	return members{{"type", AppendString(nil, typ)}, {"text", text}}.json()
}

func wrap(typ, name string, raw json.RawMessage) json.RawMessage {
	return members{{"type", AppendString(nil, typ)}, {name, raw}}.json()
}

func elementsOf(raw json.RawMessage) []json.RawMessage {
	list, _ := elements(raw)
	return list
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
