package actors

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Terms are what an agent grants a socket. The zero value is the usual.
type Terms struct {
	// Readonly: the socket sees everything, but neither it nor a method that it calls
	// or a turn that it asks for may change the agent's state. The conversation is open
	// to it.
	Readonly bool
	// NoProtocol: it is not sent identity, state and MCP servers, at no time.
	NoProtocol bool
	// NoIdentity: it is not sent identity.
	NoIdentity bool
	// Who is whom the socket speaks for, as your program has found out (an account's id,
	// say). It is recorded with each answer to a call and each approval. "": not known.
	Who string
	// Tags are words of the author's, to find the socket by: see Self.Connections.
	Tags []string
}

// Connection is a socket of a client. It outlives the agent's stay in memory, and
// is over when the socket is: a client that reconnects has another one. All methods
// may be called concurrently, and none blocks.
type Connection struct {
	socket  feed.Socket
	agent   feed.Address
	request *http.Request
	terms   Terms
	values  sync.Map
}

// ErrConnectionClosed is returned to those who send to a socket that is gone.
var ErrConnectionClosed = errors.New("actors: the connection is closed")

// ConnectionFrom returns the connection that has caused what ctx is for: a hook
// of the socket's, a method that it has called, a change of the state or a turn that
// it has asked for. nil if it was none, or is gone when the turn begins, and in a turn
// that goes on after a crash.
func ConnectionFrom(ctx context.Context) *Connection {
	c, _ := ctx.Value(connectionKey{}).(*Connection)
	return c
}

type connectionKey struct{}

func withConnection(ctx context.Context, c *Connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// Connections returns the agent's open sockets on this node that have all of the
// tags, in the order in which they came.
func (s *Self) Connections(tags ...string) []*Connection { return s.rt.lobbies.list(s.addr, tags) }

// ID is unique for ever.
func (c *Connection) ID() string { return c.socket.ID() }

// Key is what the client calls itself: the same when it reconnects, and perhaps
// shared by an old socket and a new one for a moment.
func (c *Connection) Key() string { return c.socket.Key() }

// Request is the one that has opened the socket, with its URL, headers and the
// values of its context. It has no body and must not be changed.
func (c *Connection) Request() *http.Request { return c.request }

// Readonly reports whether the socket may not change the agent's state.
func (c *Connection) Readonly() bool { return c.terms.Readonly }

// Tags returns those of the socket's Terms.
func (c *Connection) Tags() []string { return slices.Clone(c.terms.Tags) }

// Send queues a text frame for this client, behind what it is due already. No
// error is no receipt.
func (c *Connection) Send(text string) error { return c.send([]byte(valid(text)), false) }

// SendBinary is Send with a binary frame. data is not kept.
func (c *Connection) SendBinary(data []byte) error { return c.send(slices.Clone(data), true) }

// SendJSON is Send with the JSON of v.
func (c *Connection) SendJSON(v any) error {
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("actors: frame: %w", err)
	}
	return c.send(data, false)
}

func (c *Connection) send(data []byte, binary bool) error {
	if !c.socket.Send(data, binary) {
		return ErrConnectionClosed
	}
	return nil
}

// Close ends the socket after what is due to it. Clients stay away after the
// codes 1008 and 4000 to 4999, and come back after all others. A code that may not be
// sent becomes 1000; a reason is cut after 123 bytes.
func (c *Connection) Close(code int, reason string) { c.socket.Close(code, valid(reason)) }

// Set keeps a value for as long as the socket is open. It is stored nowhere.
func (c *Connection) Set(key, value any) { c.values.Store(key, value) }

// Get returns what was last Set under key; nil if nothing was.
func (c *Connection) Get(key any) any {
	value, _ := c.values.Load(key)
	return value
}

// String names the connection in logs.
func (c *Connection) String() string {
	return strings.Join([]string{c.agent.String(), c.Key(), c.ID()}, " ")
}
