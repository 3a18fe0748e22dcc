package model

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MarshalJSON implements [json.Marshaler]. Input and Output that JSON would
// refuse or reformat are stored as bytes beside the other fields.
func (c Content) MarshalJSON() ([]byte, error) {
	w := contentJSON{plainContent: plainContent(c)}
	if !exact(c.Input) {
		w.Input, w.InputBytes = nil, c.Input
	}
	if !exact(c.Output) {
		w.Output, w.OutputBytes = nil, c.Output
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Content) UnmarshalJSON(data []byte) error {
	var w contentJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*c = Content(w.plainContent)
	if w.InputBytes != nil {
		c.Input = w.InputBytes
	}
	if w.OutputBytes != nil {
		c.Output = w.OutputBytes
	}
	return nil
}

// plainContent is Content without its methods, so that encoding/json does not
// call them again.
type plainContent Content

type contentJSON struct {
	plainContent
	InputBytes  []byte `json:"inputBytes,omitempty"`
	OutputBytes []byte `json:"outputBytes,omitempty"`
}

// MarshalJSON implements [json.Marshaler]. A value is an object; one that
// encoding/json would reformat is stored as bytes, which JSON shows as a string.
func (m Metadata) MarshalJSON() ([]byte, error) {
	w := make(map[string]any, len(m))
	for provider, v := range m {
		switch {
		case !isObject(v):
			return nil, fmt.Errorf("model: metadata of %q is not a JSON object", provider)
		case exact(v):
			w[provider] = v
		default:
			w[provider] = []byte(v)
		}
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Metadata) UnmarshalJSON(data []byte) error {
	var w map[string]json.RawMessage
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	for provider, v := range w {
		if isObject(v) {
			continue
		}
		var b []byte
		if err := json.Unmarshal(v, &b); err != nil || !isObject(b) {
			return fmt.Errorf("model: metadata of %q is neither an object nor the bytes of one", provider)
		}
		w[provider] = b
	}
	*m = w
	return nil
}

// exact tells whether encoding/json keeps raw as it is: it removes white space
// and escapes what HTML would read as a tag.
func exact(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return true // left out
	}
	out, err := json.Marshal(raw)
	return err == nil && bytes.Equal(out, raw)
}

func isObject(raw json.RawMessage) bool {
	b := bytes.TrimLeft(raw, " \t\r\n")
	return len(b) > 0 && b[0] == '{' && json.Valid(raw)
}
