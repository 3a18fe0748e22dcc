package node

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol"
)

// Config is what a node needs. Only Agents is required. It is copied by Start,
// but what it points to is shared.
type Config struct {
	// Agents are the classes that this node runs, at least one, each with a URL of
	// its own. A mistake in one panics in Start, with the agent's and the field's
	// name.
	Agents []*actors.Agent

	// Data is the folder of the journal; it is made if it does not exist. Default
	// "data". It belongs to one process at a time. Ignored if Store is set.
	Data string
	// Store holds the journals instead of a file in Data. It stays open when the
	// node stops.
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

// validate fills in the defaults and reports the first field that makes no sense.
func (c *Config) validate() error {
	switch {
	case len(c.Agents) == 0:
		return errors.New("node: Config.Agents is empty: there is nothing to run")
	case c.StopTimeout < 0:
		return fmt.Errorf("node: Config.StopTimeout is %s, must not be negative", c.StopTimeout)
	case c.WakeRate < 0:
		return fmt.Errorf("node: Config.WakeRate is %d, must not be negative", c.WakeRate)
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
	return c.validateURLs()
}

// validateURLs: two names can have one kebab form ("AI" and "Ai"), and then one
// of the agents could not be reached.
func (c *Config) validateURLs() error {
	seen := make(map[string]string, len(c.Agents))
	for i, a := range c.Agents {
		if a == nil {
			return fmt.Errorf("node: Config.Agents[%d] is nil", i)
		}
		segment := protocol.Kebab(a.Name)
		if other, taken := seen[segment]; taken && other != a.Name {
			return fmt.Errorf("node: Config.Agents: %q and %q have the same URL /%s: rename one", other, a.Name, segment)
		}
		seen[segment] = a.Name
	}
	return nil
}
