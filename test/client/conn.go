package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/test/process"
)

// Conn is a socket that records what it receives, for tests that wait for frames.
// Its methods fail the test when what they wait for does not come.
type Conn struct {
	Name string

	t      testing.TB
	socket *Socket
	line   *cork
	cancel context.CancelFunc

	mu     sync.Mutex
	frames []Frame
	moved  chan struct{} // closed and replaced when something has come
	closed *websocket.CloseError
	err    error // the read error; nil while open
}

// Open opens a recorded socket on path of the node at addr. It is closed with the test.
func Open(t testing.TB, addr, name, path string) *Conn {
	t.Helper()
	c, err := TryOpen(t, addr, name, path)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// TryOpen is Open where it is no failure of the test if the node refuses; the error
// is as that of Dial.
func TryOpen(t testing.TB, addr, name, path string) (*Conn, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	dialing, stop := context.WithTimeout(ctx, process.Patience)
	defer stop()
	line := &cork{}
	s, err := DialThrough(dialing, URL(addr, name, path), &http.Transport{DialContext: line.dial})
	if err != nil {
		cancel()
		return nil, err
	}
	c := &Conn{Name: name, t: t, socket: s, line: line, cancel: cancel, moved: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.record(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		s.Drop()
		<-ended
	})
	return c, nil
}

// URL is the address of a socket; pk is the id that it keeps over reconnects, if any.
func URL(addr, pk, path string) string {
	if pk == "" {
		return "ws://" + addr + path
	}
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return "ws://" + addr + path + sep + "_pk=pk-" + pk
}

func (c *Conn) record(ctx context.Context) {
	for {
		f, err := c.socket.Read(ctx)
		c.mu.Lock()
		if err != nil {
			c.err = err
			var closed websocket.CloseError
			if errors.As(err, &closed) {
				c.closed = &closed
			}
		} else {
			c.frames = append(c.frames, f)
		}
		close(c.moved)
		c.moved = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Greeted waits for the last frame that every connect sequence has.
func (c *Conn) Greeted() *Conn {
	c.t.Helper()
	c.Wait("the connect sequence", OfType(MCP))
	return c
}

// Send sends v as JSON.
func (c *Conn) Send(v any) {
	c.t.Helper()
	if err := c.socket.Send(context.Background(), v); err != nil {
		c.t.Fatalf("%s: send: %v", c.Name, err)
	}
}

// SendTogether sends frames in one write of the network.
func (c *Conn) SendTogether(frames ...any) {
	c.t.Helper()
	c.line.hold()
	for _, f := range frames {
		c.Send(f)
	}
	if err := c.line.release(); err != nil {
		c.t.Fatalf("%s: send: %v", c.Name, err)
	}
}

// TrySend is Send where it is no failure of the test if the socket breaks.
func (c *Conn) TrySend(ctx context.Context, v any) error { return c.socket.Send(ctx, v) }

// SendRaw sends a frame as it is.
func (c *Conn) SendRaw(kind websocket.MessageType, data []byte) {
	c.t.Helper()
	if err := c.socket.SendRaw(context.Background(), kind, data); err != nil {
		c.t.Fatalf("%s: send: %v", c.Name, err)
	}
}

// Wait returns the first frame, of those that have come and will come, that is
// what the test waits for.
func (c *Conn) Wait(what string, is func(*Frame) bool) Frame {
	c.t.Helper()
	return c.WaitN(1, what, is)
}

// WaitN returns the n-th such frame.
func (c *Conn) WaitN(n int, what string, is func(*Frame) bool) Frame {
	c.t.Helper()
	var found Frame
	c.until(what, func() bool {
		left := n
		for i := range c.frames {
			if is(&c.frames[i]) {
				if left--; left == 0 {
					found = c.frames[i]
					return true
				}
			}
		}
		return false
	})
	return found
}

// WaitClosed waits until the node has closed the socket; the code is -1 if it has
// gone without a close frame.
func (c *Conn) WaitClosed() (code websocket.StatusCode, reason string) {
	c.t.Helper()
	limit := time.NewTimer(process.Patience)
	defer limit.Stop()
	for {
		c.mu.Lock()
		err, closed, moved := c.err, c.closed, c.moved
		c.mu.Unlock()
		if closed != nil {
			return closed.Code, closed.Reason
		}
		if err != nil {
			return -1, err.Error()
		}
		select {
		case <-moved:
		case <-limit.C:
			c.t.Fatalf("%s: the socket is not closed", c.Name)
		}
	}
}

// until waits for a condition over the frames.
func (c *Conn) until(what string, met func() bool) {
	c.t.Helper()
	limit := time.NewTimer(process.Patience)
	defer limit.Stop()
	for {
		c.mu.Lock()
		ok, moved, err, n := met(), c.moved, c.err, len(c.frames)
		c.mu.Unlock()
		if ok {
			return
		}
		if err != nil {
			c.t.Fatalf("%s: the socket closed before %s came: %v", c.Name, what, err)
		}
		select {
		case <-moved:
		case <-limit.C:
			c.t.Fatalf("%s: %s did not come; %d frames did, the last of them:\n%s", c.Name, what, n, c.tail(5))
		}
	}
}

// Frames returns what has come so far.
func (c *Conn) Frames() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frames[:len(c.frames):len(c.frames)]
}

// Forget drops what has come, for tests in which it is much. It still counts for WaitN.
func (c *Conn) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.frames {
		c.frames[i] = Frame{Type: c.frames[i].Type, ID: c.frames[i].ID, Done: c.frames[i].Done}
	}
}

// Closed tells how the node has closed the socket; nil if it has not.
func (c *Conn) Closed() *websocket.CloseError {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Drop closes the connection without a word.
func (c *Conn) Drop() {
	c.cancel()
	c.socket.Drop()
}

func (c *Conn) tail(n int) string {
	var b strings.Builder
	frames := c.Frames()
	for _, f := range frames[max(0, len(frames)-n):] {
		raw := f.Raw
		if len(raw) > 300 {
			raw = raw[:300]
		}
		b.WriteString("  " + string(raw) + "\n")
	}
	return b.String()
}

// OfType is a frame of that type.
func OfType(kind string) func(*Frame) bool {
	return func(f *Frame) bool { return f.Type == kind }
}

// Done is the terminal frame of a request.
func Done(request string) func(*Frame) bool {
	return func(f *Frame) bool { return f.Type == Response && f.ID == request && f.Done }
}

// ChunkOf is a content frame of a request with a chunk of that type.
func ChunkOf(request, kind string) func(*Frame) bool {
	return func(f *Frame) bool {
		c, ok := f.Content()
		return ok && f.ID == request && c.Type == kind
	}
}

// Returned is the end of a call.
func Returned(call string) func(*Frame) bool {
	return func(f *Frame) bool { return f.Type == RPC && f.ID == call && (f.Done || !f.Success) }
}

// AnswerTo is the direct answer to a probe.
func AnswerTo(probe string) func(*Frame) bool {
	return func(f *Frame) bool { return f.ProbeID == probe }
}
