// Package plain speaks to a node by HTTP alone, as pages without sockets and
// programs do: streams of answers, stop, turns with keys, single messages.
package plain
