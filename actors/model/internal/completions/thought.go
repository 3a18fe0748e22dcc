package completions

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// thoughtKey is where what belongs to reasoning lives in model.Metadata.
const thoughtKey = metadataKey + "-reasoning"

// usualField is where most servers have reasoning, and want it back.
const usualField = "reasoning_content"

// thought is what has to come back with reasoning: the field that it came in, if
// it is not the usual one, and signed details.
type thought struct {
	Field   string            `json:"field,omitempty"`
	Details []json.RawMessage `json:"details,omitempty"`
}

func (t thought) pack() model.Metadata {
	if t.Field == "" && len(t.Details) == 0 {
		return nil
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return nil // cannot be: the details are JSON
	}
	return model.Metadata{thoughtKey: raw}
}

// unpackThought also tells whether the metadata may come from this protocol:
// reasoning of another provider is none of this one's business.
func unpackThought(m model.Metadata) (t thought, ours bool) {
	raw, ok := m[thoughtKey]
	if ok {
		ok = json.Unmarshal(raw, &t) == nil
	}
	return t, ok || len(m) == 0
}

func (m *mender) takeDetails() []json.RawMessage {
	details := m.details
	m.details = nil
	return details
}
