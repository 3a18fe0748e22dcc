package actorstest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/holdfast-dev/holdfast/actors"
)

// Socket is a client's connection to an agent without a network: what an author's
// hooks and methods see of a real one. What all sockets are told (state, broadcasts)
// is in Harness.Items. Its methods may be called concurrently, except that Say,
// SayBinary and Leave are for one goroutine.
type Socket struct {
	h       *Harness
	peer    *actors.Peer
	id, key string

	mu     sync.Mutex
	frames []string
	code   int // 0: open
	reason string
}

// Connect opens a socket of an agent and returns when OnConnect has. target is what
// follows the agent's URL, such as "?token=x"; its _pk is the client's key. An error
// is Agent.Terms' refusal.
func (h *Harness) Connect(r *actors.Ref, target string) (*Socket, error) {
	return h.ConnectRequest(r, httptest.NewRequestWithContext(h.t.Context(), http.MethodGet, "/"+target, nil))
}

// ConnectRequest is Connect with a request of the test's.
func (h *Harness) ConnectRequest(r *actors.Ref, req *http.Request) (*Socket, error) {
	s := &Socket{h: h, id: rand.Text(), key: req.URL.Query().Get("_pk")}
	var err error
	if s.peer, err = r.Connect(h.t.Context(), s, req); err != nil {
		return nil, err
	}
	s.peer.Opened(context.Background())
	return s, nil
}

// ID implements feed.Socket.
func (s *Socket) ID() string { return s.id }

// Key implements feed.Socket.
func (s *Socket) Key() string { return s.key }

// Send implements feed.Socket.
func (s *Socket) Send(data []byte, _ bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code != 0 {
		return false
	}
	s.frames = append(s.frames, string(data))
	return true
}

// Close implements feed.Socket: the agent closes the socket. OnClose runs at Leave.
func (s *Socket) Close(code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code == 0 {
		s.code, s.reason = code, reason
	}
}

// Frames returns what the agent has sent to this socket alone.
func (s *Socket) Frames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.frames...)
}

// Closed returns the code and reason with which the socket was closed; 0 if it is open.
func (s *Socket) Closed() (code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.code, s.reason
}

// Say sends a text frame and returns when OnMessage has.
func (s *Socket) Say(text string) { s.peer.Message(context.Background(), []byte(text), false) }

// SayBinary is Say with a binary frame.
func (s *Socket) SayBinary(data []byte) { s.peer.Message(context.Background(), data, true) }

// Leave ends the socket, if the agent has not, and returns when OnClose has.
func (s *Socket) Leave(code int, reason string) {
	s.Close(code, reason)
	s.peer.Closed(s.Closed())
}

// SetState sends the state that the JSON of v is.
func (s *Socket) SetState(ctx context.Context, v any) error {
	return s.peer.SetState(ctx, s.h.json(v))
}

// Call calls a method as a client does, and returns its result as JSON, and before
// it what a streaming method has said. A result is empty if the method has none.
func (s *Socket) Call(ctx context.Context, method string, args ...any) (result string, said []string, err error) {
	list := []json.RawMessage{}
	for _, arg := range args {
		list = append(list, s.h.json(arg))
	}
	var mu sync.Mutex
	out, err := s.peer.Call(ctx, method, list, func(piece json.RawMessage) error {
		mu.Lock()
		defer mu.Unlock()
		if code, _ := s.Closed(); code != 0 {
			return actors.ErrConnectionClosed
		}
		said = append(said, string(piece))
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	return string(out), said, err
}

func (h *Harness) json(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		h.t.Fatalf("%v is no JSON: %v", v, err)
	}
	return data
}
