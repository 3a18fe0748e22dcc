package uimessage

import (
	"encoding/json"
	"strings"
)

// A Chunk is one step in the making of a message: the body of a content frame.
// Which fields count depends on Type (see the table of kinds); chunks of a kind
// that this package does not know have all their fields in Extra.
type Chunk struct {
	Type  string
	ID    string // text, reasoning, data, steering-message
	Delta string // text; of a tool-input-delta the wire calls it inputTextDelta

	MessageID       string          // start
	MessageMetadata json.RawMessage // start, message-metadata, finish
	FinishReason    string          // finish, before the guard has rewritten it

	ToolCallID       string
	ToolName         string
	Title            string // tools, source-url, source-document
	Input            json.RawMessage
	InputEncoding    string // "json" (the same as "") or "text"
	Output           json.RawMessage
	ErrorText        string
	Dynamic          bool
	Preliminary      bool // Output will be replaced by a later one
	ProviderExecuted bool
	ToolMetadata     json.RawMessage

	ApprovalID string
	Approved   bool
	Reason     string // tool-approval-request, tool-approval-response, abort

	Data                               json.RawMessage
	Transient                          bool // shown once, never stored
	URL, MediaType, Filename, SourceID string
	Kind                               string          // custom: "vendor.name"
	Parts                              json.RawMessage // steering-message
	Citations                          json.RawMessage // text-end
	ProviderMetadata                   json.RawMessage

	// Extra holds the fields that are not named above, by name.
	Extra map[string]json.RawMessage
}

// ParseChunk reads one chunk and checks that it has the fields that its kind
// needs. Kinds that are not known are accepted as they are. Errors are
// *InvalidError.
func ParseChunk(data []byte) (Chunk, error) {
	raw, bad := clean(data)
	if bad != nil {
		return Chunk{}, bad
	}
	obj, bad := object(raw)
	if bad != nil {
		return Chunk{}, bad
	}
	var c Chunk
	if c.Type, bad = takeType(&obj); bad != nil {
		return Chunk{}, bad
	}
	if c.Extra, bad = decode(kindOf(c.Type).fields, obj, &c); bad != nil {
		return Chunk{}, bad
	}
	return c, nil
}

// AppendJSON appends the chunk as one JSON object. Equal chunks give equal
// bytes. A delta costs no allocation if dst has room.
func (c Chunk) AppendJSON(dst []byte) []byte {
	if len(c.ProviderMetadata) == 0 && len(c.Extra) == 0 {
		switch c.Type { // nearly all chunks are deltas; through the table they would go to the heap
		case "text-delta", "reasoning-delta":
			return appendDelta(dst, c.Type, `,"id":`, c.ID, `,"delta":`, c.Delta)
		case "tool-input-delta":
			return appendDelta(dst, c.Type, `,"toolCallId":`, c.ToolCallID, `,"inputTextDelta":`, c.Delta)
		}
	}
	return c.appendByKind(dst)
}

func (c Chunk) appendByKind(dst []byte) []byte {
	return encode(dst, c.Type, kindOf(c.Type).fields, &c, c.Extra)
}

func appendDelta(dst []byte, typ, idKey, id, deltaKey, delta string) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, typ...)
	dst = append(dst, '"')
	dst = append(dst, idKey...)
	dst = AppendString(dst, id)
	dst = append(dst, deltaKey...)
	dst = AppendString(dst, delta)
	return append(dst, '}')
}

// MarshalJSON is AppendJSON for encoding/json.
func (c Chunk) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// UnmarshalJSON is ParseChunk for encoding/json.
func (c *Chunk) UnmarshalJSON(data []byte) error {
	out, err := ParseChunk(data)
	if err != nil {
		return err
	}
	*c = out
	return nil
}

func (c *Chunk) isData() bool { return strings.HasPrefix(c.Type, dataPrefix) }
