package content

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// Options are the fields that the author adds to a provider's request.
func Options(r model.Request, provider string) (map[string]json.RawMessage, error) {
	raw := r.ProviderOptions[provider]
	if len(raw) == 0 {
		return nil, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("ProviderOptions of %q are not a JSON object: %w", provider, err)
	}
	return fields, nil
}

// Merge returns base with the fields of over; where both have an object, its
// fields are merged in turn.
func Merge(base, over map[string]json.RawMessage) map[string]json.RawMessage {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	for name, value := range over {
		var a, b map[string]json.RawMessage
		if json.Unmarshal(out[name], &a) == nil && a != nil && json.Unmarshal(value, &b) == nil && b != nil {
			if merged, err := json.Marshal(Merge(a, b)); err == nil {
				value = merged
			}
		}
		out[name] = value
	}
	return out
}

// Marshal is the request's body with the author's fields in it.
func Marshal(body map[string]any, r model.Request, provider string) ([]byte, error) {
	fields, err := Options(r, provider)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(body)
	if err != nil || len(fields) == 0 {
		return raw, err
	}
	var ours map[string]json.RawMessage
	if err := json.Unmarshal(raw, &ours); err != nil {
		return nil, err
	}
	return json.Marshal(Merge(ours, fields))
}
