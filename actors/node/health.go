package node

import (
	"fmt"
	"net/http"
)

// health answers whether visitors should be sent to this node: 200 while it runs
// and its store takes appends, else 503. The text is for people.
func (n *Node) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	switch err := n.store.Health(); {
	case n.stopping.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "the node is stopping")
	case err != nil:
		n.log.Warn("not healthy", "error", err)
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "the journal cannot be written")
	default:
		fmt.Fprintln(w, "ok")
	}
}
