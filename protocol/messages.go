package protocol

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// maxID is the longest id that a client may choose, in bytes.
const maxID = 256

// checkMessages reads a client's messages, also those of a page that is older than
// the AI SDK 5. Errors name the field, the value and the limit.
func checkMessages(raw json.RawMessage) ([]uimessage.Message, error) {
	list, err := uimessage.HealMessages(raw)
	if err != nil {
		return nil, invalid(err.Error())
	}
	return list, nil
}

// text decodes a JSON string.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// shown is a value as an error names it.
func shown(raw json.RawMessage) string {
	switch {
	case len(raw) == 0:
		return "missing"
	case len(raw) > 40:
		return string(raw[:40]) + "…"
	}
	return string(raw)
}
