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

// Marshal is the request's body with the author's fields in it.
func Marshal(body map[string]any, r model.Request, provider string) ([]byte, error) {
	fields, err := Options(r, provider)
	if err != nil {
		return nil, err
	}
	if len(fields) > 0 {
		body = maps.Clone(body)
		for name, value := range fields {
			body[name] = value
		}
	}
	return json.Marshal(body)
}
