package uimessage

import (
	"encoding/json"
	"strings"
)

// States of a tool part, in the order in which a call may take them. Text and
// reasoning parts have Streaming and Done.
const (
	InputStreaming    = "input-streaming"
	InputAvailable    = "input-available"
	ApprovalRequested = "approval-requested"
	ApprovalResponded = "approval-responded"
	OutputAvailable   = "output-available"
	OutputError       = "output-error"
	OutputDenied      = "output-denied"

	Streaming = "streaming"
	Done      = "done"
)

// Types of parts. Tool parts are "tool-" and the tool's name, or DynamicTool
// with the name in ToolName; data parts are "data-" and a name of the author's.
const (
	TextPart      = "text"
	ReasoningPart = "reasoning"
	StepStart     = "step-start"
	DynamicTool   = "dynamic-tool"

	toolPrefix = "tool-"
	dataPrefix = "data-"
)

// A Part is one piece of a message. Which fields count depends on Type; parts
// of a type that this package does not know have all their fields in Extra.
type Part struct {
	Type  string
	Text  string // text, reasoning
	State string // text, reasoning: "", Streaming, Done; tools: see above
	ID    string // reasoning, data, steering-message

	ToolCallID    string
	ToolName      string // kept on static tool parts, too
	Title         string // tools, source-url, source-document
	Input         json.RawMessage
	RawInput      json.RawMessage // text so far while InputStreaming; later the original if Input could not keep it
	InputEncoding string          // "text" if a streaming input is not JSON
	Output        json.RawMessage
	Preliminary   bool // Output will be replaced
	ErrorText     string
	Approval      *Approval // never changed in place

	ProviderExecuted       bool
	ProviderMetadata       json.RawMessage
	CallProviderMetadata   json.RawMessage
	ResultProviderMetadata json.RawMessage
	ToolMetadata           json.RawMessage

	URL, MediaType, Filename, SourceID string
	Data                               json.RawMessage // data parts
	Kind                               string          // custom: "vendor.name"
	Parts                              json.RawMessage // steering-message
	Citations                          json.RawMessage // text

	// Extra holds the fields that are not named above, by name.
	Extra map[string]json.RawMessage
}

// An Approval is the question whether a tool may run, and its answer.
type Approval struct {
	ID       string
	Approved *bool  // nil while nobody has answered
	Reason   string // given with the answer
	Extra    map[string]json.RawMessage
}

// IsTool reports whether p is a tool call.
func (p Part) IsTool() bool {
	return p.Type == DynamicTool || strings.HasPrefix(p.Type, toolPrefix) && len(p.Type) > len(toolPrefix)
}

// Tool returns the name of the tool that p calls; "" if p is no tool call.
func (p Part) Tool() string {
	if p.Type == DynamicTool {
		return p.ToolName
	}
	if p.IsTool() {
		return p.Type[len(toolPrefix):]
	}
	return ""
}

// Settled reports whether p is a tool call that has its outcome. A preliminary
// output counts: it is what is left when its turn is cut off.
func (p Part) Settled() bool {
	return p.IsTool() && (p.State == OutputAvailable || p.State == OutputError || p.State == OutputDenied)
}

// Pending reports whether p is a tool call that waits for somebody outside of
// the model: a client's result or a person's decision.
func (p Part) Pending() bool {
	return p.IsTool() && (p.State == InputAvailable || p.State == ApprovalRequested)
}

// AppendJSON appends the part as one JSON object.
func (p Part) AppendJSON(dst []byte) []byte {
	return encode(dst, p.Type, partFields(p.Type), &p, p.Extra)
}

// MarshalJSON is AppendJSON for encoding/json.
func (p Part) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// UnmarshalJSON reads one part; errors are *InvalidError.
func (p *Part) UnmarshalJSON(data []byte) error {
	raw, bad := clean(data)
	if bad != nil {
		return bad
	}
	part, bad := parsePart(raw)
	if bad != nil {
		return bad
	}
	*p = part
	return nil
}

func parsePart(raw json.RawMessage) (Part, *InvalidError) {
	obj, bad := object(raw)
	if bad != nil {
		return Part{}, bad
	}
	var p Part
	if p.Type, bad = takeType(&obj); bad != nil {
		return Part{}, bad
	}
	if p.Extra, bad = decode(partFields(p.Type), obj, &p); bad != nil {
		return Part{}, bad
	}
	return p, nil
}

// partFields returns the fields that a part of this type has.
func partFields(typ string) []field[Part] {
	if fields, ok := partKinds[typ]; ok {
		return fields
	}
	switch {
	case strings.HasPrefix(typ, toolPrefix) && len(typ) > len(toolPrefix):
		return toolFields
	case strings.HasPrefix(typ, dataPrefix):
		return dataFields
	}
	return nil
}

var partKinds = map[string][]field[Part]{
	TextPart:           {partText.need(), partState, partCitations, partMetadata},
	ReasoningPart:      {partID, partText.need(), partState, partMetadata},
	StepStart:          {},
	DynamicTool:        toolFields,
	"file":             {partMediaType, partURL, partFilename, partMetadata},
	"reasoning-file":   {partMediaType, partURL, partFilename, partMetadata},
	"source-url":       {partSourceID, partURL, partTitle, partMetadata},
	"source-document":  {partSourceID, partMediaType, partTitle, partFilename, partMetadata},
	"custom":           {partKind, partMetadata},
	"steering-message": {partID, partParts},
}

var dataFields = []field[Part]{partID, value("data", func(p *Part) *json.RawMessage { return &p.Data })}

var toolFields = []field[Part]{
	name("toolCallId", func(p *Part) *string { return &p.ToolCallID }).need(),
	text("toolName", func(p *Part) *string { return &p.ToolName }),
	partState.need(),
	partTitle,
	value("input", func(p *Part) *json.RawMessage { return &p.Input }),
	value("rawInput", func(p *Part) *json.RawMessage { return &p.RawInput }),
	text("inputEncoding", func(p *Part) *string { return &p.InputEncoding }),
	value("output", func(p *Part) *json.RawMessage { return &p.Output }),
	text("errorText", func(p *Part) *string { return &p.ErrorText }),
	flag("preliminary", func(p *Part) *bool { return &p.Preliminary }),
	flag("providerExecuted", func(p *Part) *bool { return &p.ProviderExecuted }),
	approvalField,
	value("callProviderMetadata", func(p *Part) *json.RawMessage { return &p.CallProviderMetadata }),
	value("resultProviderMetadata", func(p *Part) *json.RawMessage { return &p.ResultProviderMetadata }),
	value("toolMetadata", func(p *Part) *json.RawMessage { return &p.ToolMetadata }),
}

var (
	partText      = text("text", func(p *Part) *string { return &p.Text })
	partState     = text("state", func(p *Part) *string { return &p.State })
	partID        = text("id", func(p *Part) *string { return &p.ID })
	partTitle     = text("title", func(p *Part) *string { return &p.Title })
	partURL       = text("url", func(p *Part) *string { return &p.URL })
	partMediaType = text("mediaType", func(p *Part) *string { return &p.MediaType })
	partFilename  = text("filename", func(p *Part) *string { return &p.Filename })
	partSourceID  = text("sourceId", func(p *Part) *string { return &p.SourceID })
	partKind      = text("kind", func(p *Part) *string { return &p.Kind })
	partParts     = value("parts", func(p *Part) *json.RawMessage { return &p.Parts })
	partCitations = value("citations", func(p *Part) *json.RawMessage { return &p.Citations })
	partMetadata  = value("providerMetadata", func(p *Part) *json.RawMessage { return &p.ProviderMetadata })
)
