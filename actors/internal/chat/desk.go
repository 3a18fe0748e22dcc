package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// Desk is what the author keeps beside the conversation. A clear leaves it alone.
type Desk struct {
	State []byte             // JSON, never changed in place; nil: never set
	MCP   []*pb.McpServerSet // the MCP servers, in the order in which they came; never changed in place
}

// ErrStateChanged refuses a SetState whose Was is no longer the state.
var ErrStateChanged = errors.New("chat: the state has changed meanwhile")

// decideSetState replaces the state; what is there already is no change.
func (c *Core) decideSetState(cmd SetState) ([]Event, error) {
	state := c.State.Desk.State
	if cmd.Swap && !same(state, cmd.Was) {
		return nil, ErrStateChanged
	}
	if same(state, cmd.JSON) {
		return nil, nil
	}
	return []Event{event(&pb.StateSet{Json: cmd.JSON})}, nil
}

// same tells no state from any state, also from null.
func same(a, b json.RawMessage) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func (d *Desk) applyStateSet(e *pb.StateSet) { d.State = e.GetJson() }

// applyMCPSet adds a server, or gives the one of that id other options.
func (d *Desk) applyMCPSet(e *pb.McpServerSet) {
	servers := slices.Clone(d.MCP)
	if i := slices.IndexFunc(servers, func(s *pb.McpServerSet) bool { return s.GetId() == e.GetId() }); i >= 0 {
		servers[i] = e
	} else {
		servers = append(servers, e)
	}
	d.MCP = servers
}

func (d *Desk) applyMCPRemoved(e *pb.McpServerRemoved) {
	d.MCP = slices.DeleteFunc(slices.Clone(d.MCP), func(s *pb.McpServerSet) bool { return s.GetId() == e.GetId() })
	if len(d.MCP) == 0 {
		d.MCP = nil
	}
}
