package openaisdk

import (
	"bytes"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/actors/model/internal/sse"
)

// Events mends what is not peculiar to Chat Completions: events without data, and
// an error of null, which the library takes for an error.
type Events struct{}

// Event implements [sse.Mender].
func (Events) Event(e sse.Event) ([]sse.Event, error) {
	if len(bytes.TrimSpace(e.Data)) == 0 {
		return nil, nil
	}
	if bytes.Contains(e.Data, []byte(`"error"`)) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(e.Data, &fields) == nil && string(fields["error"]) == "null" {
			delete(fields, "error")
			data, err := json.Marshal(fields)
			if err != nil {
				return nil, err
			}
			e.Data = data
		}
	}
	return []sse.Event{e}, nil
}

// End implements [sse.Mender].
func (Events) End(err error) ([]sse.Event, error) { return nil, err }
