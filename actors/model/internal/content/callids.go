package content

import (
	"crypto/rand"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// CallIDs keeps the ids of calls apart where a provider gives none or numbers
// them anew in each answer: everybody else knows a call by its id, in the whole
// conversation. The provider gets its own id back. It belongs to one request.
type CallIDs struct {
	key  string            // of the original id in a call's metadata
	used map[string]bool   // ids of the conversation, ours
	wire map[string]string // the provider's id by ours, where they differ
}

// originalID is the metadata of a call that had to be renamed.
type originalID struct {
	ID string `json:"id"`
}

// NewCallIDs reads the ids of a conversation. provider is the name of the
// provider's metadata.
func NewCallIDs(provider string, messages []model.Message) *CallIDs {
	c := &CallIDs{key: provider + "-call", used: map[string]bool{}, wire: map[string]string{}}
	for _, m := range messages {
		for _, p := range m.Content {
			if p.Kind != model.ToolCallContent {
				continue
			}
			c.used[p.CallID] = true
			var o originalID
			if raw := p.Metadata[c.key]; raw != nil && json.Unmarshal(raw, &o) == nil {
				c.wire[p.CallID] = o.ID
			}
		}
	}
	return c
}

// Wire is the provider's id of a call.
func (c *CallIDs) Wire(id string) string {
	if w, ok := c.wire[id]; ok {
		return w
	}
	return id
}

// Take returns the id of a new call: the provider's if nothing else has it.
func (c *CallIDs) Take(wire string) string {
	id := wire
	if id == "" || c.used[id] {
		id = "call_" + rand.Text()
		if wire != "" {
			c.wire[id] = wire
		}
	}
	c.used[id] = true
	return id
}

// Metadata adds to a call's metadata what it takes to give the provider's id back.
func (c *CallIDs) Metadata(id string, m model.Metadata) model.Metadata {
	wire, renamed := c.wire[id]
	if !renamed {
		return m
	}
	raw, err := json.Marshal(originalID{wire})
	if err != nil {
		return m // cannot be: a string always marshals
	}
	if m == nil {
		m = model.Metadata{}
	}
	m[c.key] = raw
	return m
}
