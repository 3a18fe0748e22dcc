package providerwire

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// A Record is what the server remembers of one request.
type Record struct {
	N      int         `json:"n"` // counts from 1 in order of arrival
	API    API         `json:"api"`
	Path   string      `json:"path"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`   // as it came
	Status int         `json:"status"` // 0: no answer has begun
	Sent   string      `json:"sent"`   // text that was written so far
	Done   bool        `json:"done"`   // the handler has returned
	Cut    bool        `json:"cut"`    // the client hung up before the answer was complete
}

// Records returns copies of all records, oldest first.
func (s *Server) Records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Record, len(s.records))
	for i, r := range s.records {
		out[i] = *r
		out[i].Header = r.Header.Clone()
	}
	return out
}

// Await waits until ok holds for the records and returns them, or the records
// and the error of ctx. ok is called again whenever one has changed.
func (s *Server) Await(ctx context.Context, ok func([]Record) bool) ([]Record, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		records := s.Records()
		if ok(records) {
			return records, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return records, ctx.Err()
		}
	}
}

func (s *Server) record(api API, hr *http.Request, body []byte) *Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &Record{N: len(s.records) + 1, API: api, Path: hr.URL.Path, Header: hr.Header.Clone(), Body: string(body)}
	s.records = append(s.records, rec)
	s.announce()
	return rec
}

// note changes a record.
func (s *Server) note(rec *Record, change func(*Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(rec)
	s.announce()
}

// announce wakes Await. The caller holds mu.
func (s *Server) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// dialectOf picks the protocol by the end of the path, as base URLs differ.
func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return &completions{}
	case strings.HasSuffix(path, "/responses"):
		return &responses{}
	case strings.HasSuffix(path, "/messages"):
		return &messages{}
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return &generate{}
	}
	return nil
}

// API names a provider's protocol.
type API string

// The protocols.
const (
	Completions API = "openai-completions"
	Responses   API = "openai-responses"
	Messages    API = "anthropic-messages"
	Generate    API = "google-generate"
)

// A Request is what the client asked, the same for all protocols.
type Request struct {
	N            int // number of its Record
	API          API
	Model        string
	Instructions string // system prompt
	Messages     []Message
	Tools        []string // names
	ToolChoice   string   // "" if the request has none, "auto", "none", "required" or a tool's name
	MaxTokens    int64
	Stream       bool
	Key          string // Idempotency-Key header
	Header       http.Header
	Body         []byte // as it came
	Path         string

	wantsUsage bool // Chat Completions: stream_options.include_usage
}

// A Message is one entry of the conversation. A tool result is a message of
// its own, with role "tool".
type Message struct {
	Role       string // "user", "assistant", "tool"
	Text       string
	Reasoning  string
	Signatures []string // of thinking; encrypted content of Responses
	Calls      []Call
	CallID     string // of a tool result; its output is Text
	Files      int    // images and documents
}

// A Call is a tool call of the conversation.
type Call struct{ ID, Tool, Input string }

// LastUser is the text of the last user message.
func (r *Request) LastUser() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return m.Text
		}
	}
	return ""
}

// Partial is the text of the assistant message that ends the conversation, if
// one does: the answer has to go on after it.
func (r *Request) Partial() string {
	if len(r.Messages) == 0 {
		return ""
	}
	if m := r.Messages[len(r.Messages)-1]; m.Role == "assistant" {
		return m.Text
	}
	return ""
}
