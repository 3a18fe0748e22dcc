package client

import "encoding/json"

// Frame is one frame of a node, with the fields that tests ask for. Raw has the rest.
type Frame struct {
	Raw []byte `json:"-"`

	Type           string          `json:"type"`
	ID             string          `json:"id"`
	ProbeID        string          `json:"probeId"`
	Reason         string          `json:"reason"`
	Body           string          `json:"body"`
	Outcome        string          `json:"outcome"`
	Seq            *uint64         `json:"seq"`
	MessageIDs     []string        `json:"messageIds"`
	Messages       json.RawMessage `json:"messages"`
	Done           bool            `json:"done"`
	Error          bool            `json:"error"`
	Replay         bool            `json:"replay"`
	ReplayComplete bool            `json:"replayComplete"`
	Continuation   bool            `json:"continuation"`
	Connect        bool            `json:"connect"`
	Recovering     bool            `json:"recovering"`
	State          json.RawMessage `json:"state"`
	Success        bool            `json:"success"`
	Result         json.RawMessage `json:"result"`

	// Refusal is the error of a type whose error is a text.
	Refusal string `json:"-"`
}

// Types of frames.
const (
	Identity   = "cf_agent_identity"
	MCP        = "cf_agent_mcp_servers"
	Messages   = "cf_agent_chat_messages"
	Response   = "cf_agent_use_chat_response"
	Resuming   = "cf_agent_stream_resuming"
	Pending    = "cf_agent_stream_pending"
	None       = "cf_agent_stream_resume_none"
	Clear      = "cf_agent_chat_clear"
	Recovering = "cf_agent_chat_recovering"
	State      = "cf_agent_state"
	StateError = "cf_agent_state_error"
	RPC        = "rpc"
)

// Chunk is one UI-message chunk, the content of a response frame.
type Chunk struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Delta     string `json:"delta"`
	MessageID string `json:"messageId"`
}

// Content reports whether f carries a chunk, and the chunk.
func (f *Frame) Content() (c Chunk, ok bool) {
	if f.Type != Response || f.Seq == nil {
		return c, false
	}
	return c, json.Unmarshal([]byte(f.Body), &c) == nil
}

// Terminal reports whether f ends its request for a client.
func (f *Frame) Terminal() bool { return f.Type == Response && (f.Done || f.Error) }

func parseFrame(raw []byte) (f Frame) {
	_ = json.Unmarshal(raw, &f) // a frame that is no JSON has no fields, only Raw
	f.Raw = raw
	if f.Type == StateError || f.Type == RPC {
		var refusal struct{ Error string }
		_ = json.Unmarshal(raw, &refusal) // likewise
		f.Refusal = refusal.Error
	}
	return f
}

// Message is a UI message as far as tests look into it.
type Message struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is a part of a Message.
type Part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	State string `json:"state"`
}

// MarshalJSON writes a text even if it is empty, as the clients do.
func (p Part) MarshalJSON() ([]byte, error) {
	fields := map[string]string{"type": p.Type}
	if p.Type == "text" {
		fields["text"] = p.Text
	}
	if p.State != "" {
		fields["state"] = p.State
	}
	return json.Marshal(fields)
}

// User is a user's message with that text.
func User(id, text string) Message {
	return Message{ID: id, Role: "user", Parts: []Part{{Type: "text", Text: text}}}
}

// Chat is the frame with which the official hook asks for a turn: messages is a
// JSON-able list of the whole conversation, extra are further fields of the body.
func Chat(request string, messages any, extra map[string]any) any {
	body := map[string]any{"messages": messages, "trigger": "submit-message"}
	for k, v := range extra {
		body[k] = v
	}
	return ChatBody(request, string(mustJSON(body)))
}

// ChatBody is Chat with a body that need not be what it should.
func ChatBody(request, body string) any {
	return map[string]any{
		"type": "cf_agent_use_chat_request", "id": request,
		"init": map[string]any{"method": "POST", "body": body},
	}
}

// Call calls one of the author's methods.
func Call(id, method string, args ...any) any {
	return map[string]any{"type": RPC, "id": id, "method": method, "args": append([]any{}, args...)}
}

// Probe asks whether there is something to resume.
func Probe(id string) any {
	return map[string]any{"type": "cf_agent_stream_resume_request", "probeId": id}
}

// Ack accepts the offer of a stream.
func Ack(request string) any {
	return map[string]any{"type": "cf_agent_stream_resume_ack", "id": request}
}

// Cancel ends a turn.
func Cancel(request string) any {
	return map[string]any{"type": "cf_agent_chat_request_cancel", "id": request}
}

// ClearAll wipes the conversation.
func ClearAll() any { return map[string]any{"type": Clear} }

// SetState replaces the agent's state.
func SetState(state any) any { return map[string]any{"type": State, "state": state} }

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return data
}
