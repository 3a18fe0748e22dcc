package feed

// A Socket is one connection of a client to an agent, as the agent sees it. All
// methods may be called concurrently and never block.
type Socket interface {
	// ID is unique for ever; feed items name the socket by it.
	ID() string
	// Key is what the client calls itself (_pk): the same over its reconnects,
	// perhaps shared by two sockets for a moment.
	Key() string
	// Send queues a frame of the author's own behind what the socket is due
	// already. It reports false if the socket is closed.
	Send(data []byte, binary bool) bool
	// Close ends the socket with a code and a reason (at most 123 bytes), after
	// what is due to it.
	Close(code int, reason string)
}

// Terms are what an agent grants a connection. The zero value is the usual one.
type Terms struct {
	Readonly   bool   // may not change the agent's state
	NoProtocol bool   // is not sent identity, state and MCP servers
	NoIdentity bool   // is not sent identity
	Who        string // whom it speaks for, as the author's program knows; recorded with what it answers and approves
}
