// Package client is a chat client over real sockets that speaks the wire
// protocol of the published Agents SDK clients and does nothing by itself: what
// it sends and when is up to the test, and it keeps everything that it receives.
package client
