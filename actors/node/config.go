package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol"
)

// Config is what a node needs. Only Agents is required.
type Config struct {
	// Agents are the classes that this node runs. A mistake in one panics in
	// Start, with the agent's and the field's name.
	Agents []*actors.Agent

	// Data is the folder of the journal; it is made if it does not exist. Default
	// "data". It belongs to one process at a time. Ignored if Store is set.
	Data string
	// Store holds the journals instead of a file in Data. It is not closed by Stop.
	Store persistence.Store

	// Name of this node in journals and logs. Default "node".
	Name string
	// Log of the node. Default slog.Default().
	Log *slog.Logger

	// Protocol sets limits, origins, CORS and hooks of the sockets and of HTTP;
	// its Host and Log are set by the node. The zero value is good for a page
	// that comes from the same host.
	Protocol protocol.Config

	// WakeRate is how many agents that a stop or crash has left with work are
	// brought into memory per second at start. Default 200.
	WakeRate int

	// StopTimeout bounds Stop if its context has no earlier end. Default 20 s.
	StopTimeout time.Duration
}

func (c *Config) validate() error {
	if len(c.Agents) == 0 {
		return errors.New("node: Config.Agents is empty: there is nothing to run")
	}
	if c.Data == "" {
		c.Data = "data"
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.StopTimeout == 0 {
		c.StopTimeout = 20 * time.Second
	}
	if c.StopTimeout < 0 || c.WakeRate < 0 {
		return fmt.Errorf("node: Config.StopTimeout is %s and WakeRate %d: they must not be negative", c.StopTimeout, c.WakeRate)
	}
	return nil
}

// health answers whether the node can do its work.
func (n *Node) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err := n.store.Health(); err != nil {
		n.log.Warn("not healthy", "error", err)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, "the journal cannot be written")
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
