package providerwire

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// responses is OpenAI Responses. Its state is that of one answer.
type responses struct {
	id, model string
	seq       int   // number of the next event
	open      *item // the output item under way
	output    []obj // finished items
	calls     int
}

// item is an output item while it streams.
type item struct {
	kind  string // "message", "reasoning", "function_call"
	body  obj
	text  string // of text, summary or arguments so far
	index int
}

func (*responses) api() API { return Responses }

func (*responses) key(h http.Header) (string, bool) { return bearer(h) }

func (d *responses) begin(r *Request) { d.id, d.model = fmt.Sprintf("resp_%d", r.N), r.Model }

func (*responses) errorBody(r *refusal) string { return openAIError(r) }

type responsesItem struct {
	Type, Role, ID, Name, Arguments, Output string
	CallID                                  string `json:"call_id"`
	Content                                 json.RawMessage
	EncryptedContent                        string `json:"encrypted_content"`
	Summary                                 []struct{ Text string }
}

func (*responses) decode(r *Request) error {
	var in struct {
		Model           string
		Stream          bool
		Instructions    string
		MaxOutputTokens int64 `json:"max_output_tokens"`
		Input           []responsesItem
		Tools           []struct{ Name string }
		ToolChoice      toolChoice `json:"tool_choice"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return err
	}
	r.Model, r.Stream, r.Instructions, r.MaxTokens = in.Model, in.Stream, in.Instructions, in.MaxOutputTokens
	r.ToolChoice = in.ToolChoice.name()
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for i, it := range in.Input {
		if err := it.into(r); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	return nil
}

func (it responsesItem) into(r *Request) error {
	switch it.Type {
	case "", "message":
		text, files, err := contentText(it.Content)
		if err != nil {
			return err
		}
		switch it.Role {
		case "system", "developer":
			r.Instructions += text
		case "user", "assistant":
			r.Messages = append(r.Messages, Message{Role: it.Role, Text: text, Files: files})
		default:
			return fmt.Errorf("role: %q", it.Role)
		}
	case "reasoning":
		m := Message{Role: "assistant"}
		for _, s := range it.Summary {
			m.Reasoning += s.Text
		}
		if it.EncryptedContent == "" {
			return fmt.Errorf("item with id %q not found: items are not persisted when store is false", it.ID)
		}
		m.Signatures = []string{it.EncryptedContent}
		r.Messages = append(r.Messages, m)
	case "function_call":
		r.Messages = append(r.Messages, Message{Role: "assistant", Calls: []Call{{it.CallID, it.Name, it.Arguments}}})
	case "function_call_output":
		r.Messages = append(r.Messages, Message{Role: "tool", CallID: it.CallID, Text: it.Output})
	default:
		return fmt.Errorf("type: %q", it.Type)
	}
	return nil
}

func (d *responses) event(kind string, body obj) event {
	body["type"], body["sequence_number"] = kind, d.seq
	d.seq++
	return event{kind, body}
}

func (d *responses) response(status string, more obj) obj {
	out := obj{
		"id": d.id, "object": "response", "created_at": 1700000000, "model": d.model, "status": status,
		"error": nil, "incomplete_details": nil, "output": d.output, "usage": nil,
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}

func (d *responses) start() []event {
	d.output = []obj{}
	return []event{
		d.event("response.created", obj{"response": d.response("in_progress", nil)}),
		d.event("response.in_progress", obj{"response": d.response("in_progress", nil)}),
	}
}

// item opens an item of the kind, unless one is open; it closes another one.
func (d *responses) item(kind string, body obj) []event {
	if d.open != nil && d.open.kind == kind && kind != "function_call" {
		return nil
	}
	events := d.close(nil)
	index := len(d.output)
	body["type"], body["id"], body["status"] = kind, fmt.Sprintf("%s_%s_%d", kind, d.id, index), "in_progress"
	d.open = &item{kind: kind, body: body, index: index}
	events = append(events, d.event("response.output_item.added", obj{"output_index": index, "item": body}))
	switch kind {
	case "message":
		events = append(events, d.event("response.content_part.added", d.at(obj{"content_index": 0, "part": outputText("")})))
	case "reasoning":
		events = append(events, d.event("response.reasoning_summary_part.added", d.at(obj{"summary_index": 0, "part": summaryText("")})))
	}
	return events
}

func outputText(s string) obj {
	return obj{"type": "output_text", "text": s, "annotations": []any{}, "logprobs": []any{}}
}
func summaryText(s string) obj { return obj{"type": "summary_text", "text": s} }

// at adds where the open item is.
func (d *responses) at(body obj) obj {
	body["item_id"], body["output_index"] = d.open.body["id"], d.open.index
	return body
}

// close ends the open item; more goes into its final form.
func (d *responses) close(more obj) []event {
	if d.open == nil {
		return nil
	}
	var events []event
	done := obj{}
	for k, v := range d.open.body {
		done[k] = v
	}
	text := d.open.text
	switch d.open.kind {
	case "message":
		events = append(events,
			d.event("response.output_text.done", d.at(obj{"content_index": 0, "text": text})),
			d.event("response.content_part.done", d.at(obj{"content_index": 0, "part": outputText(text)})))
		done["content"] = []obj{outputText(text)}
	case "reasoning":
		events = append(events,
			d.event("response.reasoning_summary_text.done", d.at(obj{"summary_index": 0, "text": text})),
			d.event("response.reasoning_summary_part.done", d.at(obj{"summary_index": 0, "part": summaryText(text)})))
		done["summary"] = []obj{summaryText(text)}
	case "function_call":
		events = append(events, d.event("response.function_call_arguments.done", d.at(obj{"arguments": text})))
		done["arguments"] = text
	}
	done["status"] = "completed"
	for k, v := range more {
		done[k] = v
	}
	events = append(events, d.event("response.output_item.done", obj{"output_index": d.open.index, "item": done}))
	d.output = append(d.output, done)
	d.open = nil
	return events
}

func (d *responses) delta(kind, piece string, where obj) event {
	d.open.text += piece
	where["delta"] = piece
	return d.event(kind, d.at(where))
}

func (d *responses) text(piece string) []event {
	events := d.item("message", obj{"role": "assistant", "content": []any{}})
	return append(events, d.delta("response.output_text.delta", piece, obj{"content_index": 0, "logprobs": []any{}}))
}

func (d *responses) reasoning(piece string) []event {
	events := d.item("reasoning", obj{"summary": []any{}})
	return append(events, d.delta("response.reasoning_summary_text.delta", piece, obj{"summary_index": 0}))
}

func (d *responses) signature(sig string) []event {
	events := d.item("reasoning", obj{"summary": []any{}})
	return append(events, d.close(obj{"encrypted_content": sig})...)
}

func (d *responses) callStart(id, tool string) []event {
	d.calls++
	return d.item("function_call", obj{"call_id": id, "name": tool, "arguments": ""})
}

func (d *responses) callDelta(piece string) []event {
	return []event{d.delta("response.function_call_arguments.delta", piece, obj{})}
}

func (d *responses) finish(reason string, u Usage) []event {
	events := d.close(nil)
	more := obj{"usage": obj{
		"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  obj{"cached_tokens": u.CacheRead},
		"output_tokens_details": obj{"reasoning_tokens": u.Reasoning},
	}}
	switch reason {
	case "length":
		more["incomplete_details"] = obj{"reason": "max_output_tokens"}
	case "content_filter":
		more["incomplete_details"] = obj{"reason": "content_filter"}
	default:
		return append(events, d.event("response.completed", obj{"response": d.response("completed", more)}))
	}
	return append(events, d.event("response.incomplete", obj{"response": d.response("incomplete", more)}))
}

func (d *responses) streamError(kind, message string) []event {
	return []event{d.event("response.failed", obj{"response": d.response("failed", obj{
		"error": obj{"code": kind, "message": message},
	})})}
}

func (d *responses) keepAlive() []event {
	return []event{{"", rawData(": keep-alive\n\n")}, d.event("keepalive", obj{})}
}
