package protocol

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// corkConn holds back small writes while it is corked, so that all frames of a
// batch go out in one system call (the WebSocket library flushes after each).
// It also sets the write deadline, once for each real write.
type corkConn struct {
	net.Conn
	timeout time.Duration
	reads   atomic.Uint64 // how often something has come in

	mu     sync.Mutex // guards what follows; control frames come from other goroutines than the writer's
	corked bool
	held   *[]byte // from heldBytes while something is held back
}

// maxHeld is also the largest single write, so that the deadline is for that much.
const maxHeld = 64 << 10

var heldBytes = sync.Pool{New: func() any { b := make([]byte, 0, maxHeld); return &b }}

func (c *corkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.reads.Add(1)
	}
	return n, err
}

// writing tells whether a batch is on its way out.
func (c *corkConn) writing() bool {
	if !c.mu.TryLock() {
		return true
	}
	defer c.mu.Unlock()
	return c.corked
}

func (c *corkConn) cork() {
	c.mu.Lock()
	c.corked = true
	c.mu.Unlock()
}

func (c *corkConn) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corked = false
	return c.flush()
}

func (c *corkConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.corked && len(p) < maxHeld/2 {
		if c.held != nil && len(*c.held)+len(p) > maxHeld {
			if err := c.flush(); err != nil {
				return 0, err
			}
		}
		if c.held == nil {
			c.held = heldBytes.Get().(*[]byte)
		}
		*c.held = append(*c.held, p...)
		return len(p), nil
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.send(p)
}

func (c *corkConn) flush() error {
	if c.held == nil {
		return nil
	}
	_, err := c.send(*c.held)
	*c.held = (*c.held)[:0]
	heldBytes.Put(c.held)
	c.held = nil
	return err
}

func (c *corkConn) send(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), maxHeld)]
		if err = c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return n, err
		}
		var k int
		k, err = c.Conn.Write(part)
		n, p = n+k, p[k:]
	}
	return n, err
}

// corkWriter makes an upgrade end up on a corkConn.
type corkWriter struct {
	http.ResponseWriter
	timeout time.Duration
	conn    *corkConn // set by Hijack
}

// Hijack implements http.Hijacker. The reader's buffered bytes stay with it.
func (w *corkWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = &corkConn{Conn: conn, timeout: w.timeout}
	return w.conn, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(w.conn, 512)), nil
}
