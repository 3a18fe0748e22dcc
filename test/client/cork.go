package client

import (
	"context"
	"net"
	"sync"
)

// cork is a network connection whose writes can be held back, to be one.
type cork struct {
	net.Conn

	mu   sync.Mutex
	held bool
	buf  []byte
}

func (c *cork) dial(ctx context.Context, network, addr string) (_ net.Conn, err error) {
	var d net.Dialer
	c.Conn, err = d.DialContext(ctx, network, addr)
	return c, err
}

func (c *cork) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.buf = append(c.buf, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *cork) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
}

func (c *cork) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.Conn.Write(c.buf)
	c.held, c.buf = false, nil
	return err
}
