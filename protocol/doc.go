// Package protocol is the WebSocket and HTTP side of a node: routes, frames,
// the room of an agent's sockets, resume. It speaks the wire protocol of the
// published Agents SDK clients and knows nothing of how agents work: it asks a
// Host and is told through a feed.
package protocol
