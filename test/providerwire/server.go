package providerwire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Handler answers one request. It runs on the request's goroutine and must
// return when w.Gone is closed.
type Handler func(r *Request, w *Writer)

// Server is a running provider. Its methods may be called at any time, from
// any goroutine.
type Server struct {
	// URL is "http://127.0.0.1:port". The base URL of OpenAI clients is
	// URL+"/v1", that of Anthropic's is URL, that of Google's URL+"/v1beta".
	URL string

	handle Handler
	http   *http.Server
	base   context.Context    //nolint:containedctx // of all requests; it ends with Close
	stop   context.CancelFunc // ends base

	mu         sync.Mutex
	records    []*Record
	signatures map[string]bool // given out with thinking
	changed    chan struct{}   // closed and replaced when a record changes
}

// maxBody is the largest request body, in bytes.
const maxBody = 32 << 20

// Start serves on a free port of 127.0.0.1. It panics if it cannot listen.
func Start(handle Handler) *Server {
	s, err := Listen("127.0.0.1:0", handle)
	if err != nil {
		panic(fmt.Sprintf("providerwire: %v", err))
	}
	return s
}

// Listen serves on addr until Close.
func Listen(addr string, handle Handler) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	base, stop := context.WithCancel(context.Background())
	s := &Server{
		URL: "http://" + l.Addr().String(), handle: handle, base: base, stop: stop,
		signatures: map[string]bool{}, changed: make(chan struct{}),
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
	}
	go s.http.Serve(l) //nolint:errcheck // ends with Close, which is the only way to end it
	return s, nil
}

// Close ends all answers that are under way, waits for their handlers and
// frees the port.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

func (s *Server) closing() bool { return s.base.Err() != nil }

func (s *Server) serve(rw http.ResponseWriter, hr *http.Request) {
	if hr.Method == http.MethodGet && hr.URL.Path == "/requests" {
		rw.Header().Set("Content-Type", "application/json")
		json.NewEncoder(rw).Encode(s.Records()) //nolint:errcheck // the reader has gone: nobody to tell
		return
	}
	d := dialectOf(hr.URL.Path)
	if d == nil || hr.Method != http.MethodPost {
		http.Error(rw, "providerwire: POST to …/chat/completions, …/responses, …/messages or …:streamGenerateContent, or GET /requests", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(rw, hr.Body, maxBody))
	if err != nil {
		http.Error(rw, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	rec := s.record(d.api(), hr, body)
	w := &Writer{server: s, rec: rec, rw: rw, ctx: hr.Context(), dialect: d}
	defer w.finished()
	req, refusal := s.decode(d, hr, body)
	if refusal != nil {
		w.Fail(refusal.status, nil, d.errorBody(refusal))
		return
	}
	req.N = rec.N
	d.begin(req)
	s.handle(req, w)
	if !w.ended {
		w.Finish("stop")
	}
}

// decode reads the request and refuses what the provider would refuse.
func (s *Server) decode(d dialect, hr *http.Request, body []byte) (*Request, *refusal) {
	key, ok := d.key(hr.Header)
	if !ok {
		return nil, &refusal{http.StatusUnauthorized, "authentication_error", "invalid_api_key", "no API key was given"}
	}
	if strings.Contains(key, "invalid") {
		return nil, &refusal{http.StatusUnauthorized, "authentication_error", "invalid_api_key", "Incorrect API key provided: " + key}
	}
	req := &Request{API: d.api(), Header: hr.Header.Clone(), Body: body, Key: hr.Header.Get("Idempotency-Key"), Path: hr.URL.Path}
	if err := d.decode(req); err != nil {
		return nil, &refusal{http.StatusBadRequest, "invalid_request_error", "invalid_request", err.Error()}
	}
	if err := s.check(req); err != nil {
		return nil, &refusal{http.StatusBadRequest, "invalid_request_error", "invalid_request", err.Error()}
	}
	return req, nil
}

// check holds for all providers: each result answers a call, and thinking
// comes back with a signature that was given out.
func (s *Server) check(r *Request) error {
	if !r.Stream {
		return fmt.Errorf("stream: this server only streams")
	}
	if len(r.Messages) == 0 {
		return fmt.Errorf("messages: at least one is required")
	}
	open := map[string]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range r.Messages {
		for _, c := range m.Calls {
			open[c.ID] = true
		}
		if m.Role == "tool" {
			if !open[m.CallID] {
				return fmt.Errorf("messages[%d]: a tool result for call %q, which no preceding message makes", i, m.CallID)
			}
			delete(open, m.CallID)
		}
		for _, sig := range m.Signatures {
			if !s.signatures[sig] {
				return fmt.Errorf("messages[%d]: invalid signature in a thinking block", i)
			}
		}
	}
	for id := range open {
		return fmt.Errorf("messages: call %q has no result", id)
	}
	return nil
}

// Accept takes a signature of thinking back as if the server had given it out.
func (s *Server) Accept(sig string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signatures[sig] = true
}

// refusal is a failure as the providers name it.
type refusal struct {
	status              int
	kind, code, message string
}
