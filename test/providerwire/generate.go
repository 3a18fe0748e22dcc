package providerwire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// generate is Google's Gemini API. Its state is that of one answer.
type generate struct {
	model string
	call  *Call // under way: calls are sent whole
}

func (*generate) api() API { return Generate }

func (*generate) key(h http.Header) (string, bool) {
	key := h.Get("X-Goog-Api-Key")
	return key, key != ""
}

func (d *generate) begin(r *Request) { d.model = r.Model }

func (*generate) errorBody(r *refusal) string { return marshal(googleError(r.status, r.message)) }

// googleStatus is the API's word for an HTTP status.
var googleStatus = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
	500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func googleError(status int, message string) obj {
	return obj{"error": obj{"code": status, "message": message, "status": googleStatus[status]}}
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("providerwire: %v", err))
	}
	return string(b)
}

type generateParts struct{ Parts []generatePart }

type generatePart struct {
	Text             string
	Thought          bool
	ThoughtSignature string
	InlineData       json.RawMessage
	FileData         json.RawMessage
	FunctionCall     *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response map[string]json.RawMessage
	}
}

func (*generate) decode(r *Request) error {
	var in struct {
		Contents []struct {
			generateParts
			Role string
		}
		SystemInstruction generateParts
		Tools             []struct {
			FunctionDeclarations []struct{ Name string }
		}
		ToolConfig struct {
			FunctionCallingConfig struct {
				Mode                 string
				AllowedFunctionNames []string
			}
		}
		GenerationConfig struct{ MaxOutputTokens int64 }
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return err
	}
	r.Model, r.Stream, r.MaxTokens = strings.TrimSuffix(path.Base(r.Path), ":streamGenerateContent"), true, in.GenerationConfig.MaxOutputTokens
	for _, p := range in.SystemInstruction.Parts {
		r.Instructions += p.Text
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			r.Tools = append(r.Tools, f.Name)
		}
	}
	calling := in.ToolConfig.FunctionCallingConfig
	r.ToolChoice = map[string]string{"AUTO": "auto", "NONE": "none", "ANY": "required"}[calling.Mode]
	if len(calling.AllowedFunctionNames) > 0 {
		r.ToolChoice = calling.AllowedFunctionNames[0]
	}
	var open []Call
	for i, c := range in.Contents {
		if c.Role != "user" && c.Role != "model" {
			return fmt.Errorf("contents[%d].role: %q is not user or model", i, c.Role)
		}
		if len(c.Parts) == 0 {
			return fmt.Errorf("contents[%d].parts: must not be empty", i)
		}
		out := Message{Role: map[string]string{"user": "user", "model": "assistant"}[c.Role]}
		for _, p := range c.Parts {
			if err := p.into(r, &out, &open); err != nil {
				return fmt.Errorf("contents[%d].parts: %w", i, err)
			}
		}
		if out.Text != "" || out.Reasoning != "" || len(out.Calls)+out.Files+len(out.Signatures) > 0 {
			r.Messages = append(r.Messages, out)
		}
	}
	return nil
}

// into adds the part to its message; results are messages of their own. open are
// the calls that have no result yet: few have an id, so names have to do.
func (p generatePart) into(r *Request, out *Message, open *[]Call) error {
	if p.ThoughtSignature != "" {
		out.Signatures = append(out.Signatures, p.ThoughtSignature)
	}
	switch {
	case p.FunctionCall != nil:
		if len(p.FunctionCall.Args) > 0 && p.FunctionCall.Args[0] != '{' {
			return fmt.Errorf("function_call.args: is no object")
		}
		c := Call{p.FunctionCall.ID, p.FunctionCall.Name, string(p.FunctionCall.Args)}
		if c.ID == "" {
			c.ID = fmt.Sprintf("%s#%d.%d", c.Tool, len(r.Messages), len(out.Calls))
		}
		out.Calls, *open = append(out.Calls, c), append(*open, c)
	case p.FunctionResponse != nil:
		m := Message{Role: "tool", CallID: p.FunctionResponse.ID}
		for i, c := range *open {
			if c.Tool == p.FunctionResponse.Name && (m.CallID == "" || m.CallID == c.ID) {
				m.CallID, *open = c.ID, append((*open)[:i:i], (*open)[i+1:]...)
				break
			}
		}
		for _, field := range []string{"output", "error"} {
			raw := p.FunctionResponse.Response[field]
			if s := ""; json.Unmarshal(raw, &s) == nil && s != "" {
				m.Text += s
			} else {
				m.Text += string(raw)
			}
		}
		r.Messages = append(r.Messages, m)
	case len(p.InlineData)+len(p.FileData) > 0:
		out.Files++
	case p.Thought:
		out.Reasoning += p.Text
	case p.Text == "" && p.ThoughtSignature == "":
		return fmt.Errorf("a part has no data")
	default:
		out.Text += p.Text
	}
	return nil
}

func (*generate) start() []event { return nil }

// parts sends the call under way and then the part, which is JSON.
func (d *generate) parts(part string, more obj) []event {
	var events []event
	if c := d.call; c != nil {
		d.call = nil
		id := ""
		if c.ID != "" {
			id = `"id":` + marshal(c.ID) + `,`
		}
		events = d.parts(`{"functionCall":{`+id+`"name":`+marshal(c.Tool)+`,"args":`+c.Input+`}}`, nil)
	}
	candidate := `"index":0,"content":{"role":"model","parts":[` + part + `]}`
	rest := ""
	for _, name := range []string{"finishReason", "usageMetadata"} {
		switch value, ok := more[name]; {
		case ok && name == "finishReason":
			candidate += `,"finishReason":` + marshal(value)
		case ok:
			rest = `,"` + name + `":` + marshal(value)
		}
	}
	return append(events, event{"", rawData(`data: {"candidates":[{` + candidate + `}]` + rest + `,"modelVersion":` + marshal(d.model) + "}\r\n\r\n")})
}

func (d *generate) text(piece string) []event { return d.parts(marshal(obj{"text": piece}), nil) }

func (d *generate) reasoning(piece string) []event {
	return d.parts(marshal(obj{"text": piece, "thought": true}), nil)
}

func (d *generate) signature(sig string) []event {
	return d.parts(marshal(obj{"text": "", "thought": true, "thoughtSignature": sig}), nil)
}

func (d *generate) callStart(id, tool string) []event {
	var events []event
	if d.call != nil {
		events = d.parts("", nil)
	}
	d.call = &Call{ID: id, Tool: tool}
	return events
}

func (d *generate) callDelta(piece string) []event {
	d.call.Input += piece
	return nil
}

func (d *generate) finish(reason string, u Usage) []event {
	why := map[string]string{"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"}[reason]
	return d.parts("", obj{"finishReason": why, "usageMetadata": obj{
		"promptTokenCount": u.Input, "candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning,
		"cachedContentTokenCount": u.CacheRead, "totalTokenCount": u.Input + u.Output,
	}})
}

func (*generate) streamError(kind, message string) []event {
	status := map[string]int{"overloaded_error": 503, "server_error": 500, "rate_limit_error": 429, "invalid_request_error": 400, "insufficient_quota": 403}[kind]
	return []event{{"", rawData("data: " + marshal(googleError(status, message)) + "\r\n\r\n")}}
}

func (*generate) keepAlive() []event { return []event{{"", rawData(": keep-alive\n\n")}} }
