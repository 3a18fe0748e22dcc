package uimessage

import (
	"encoding/json"
	"strings"
)

// Urgency says how soon a chunk has to be on disk, and so when it may be shown.
type Urgency uint8

const (
	// Prose may run ahead of the disk by a bounded window and be lost with a
	// crash: whoever goes on says it again.
	Prose Urgency = iota
	// LazyFact is written with the next record that is due anyway.
	LazyFact
	// UrgentFact is something that a client may act on. It is shown only when
	// it cannot be taken back any more.
	UrgentFact
)

// A kind is everything there is to know of one kind of chunk.
type kind struct {
	fields  fields
	urgency Urgency
	admit   func(*Guard, *Chunk) (drop bool, err error) // nil: always fits
	fold    func(*Fold, *Chunk)                         // nil: leaves no part
}

type fields = []field[Chunk]

// kinds is the vocabulary of the AI SDK 6 and 7.
var kinds = map[string]*kind{
	"start":       {fields{chunkMessageID, chunkMessageMetadata}, Prose, admitStart, foldStart},
	"start-step":  {nil, Prose, admitStep, foldStep},
	StepStart:     {nil, Prose, admitStep, foldStep}, // older name of start-step
	"finish-step": {nil, LazyFact, admitStepEnd, nil},
	"reset-step":  {nil, Prose, admitReset, foldReset},
	"finish":      {fields{chunkFinishReason, chunkMessageMetadata}, LazyFact, admitFinish, foldMetadata},
	"abort":       {fields{chunkReason}, LazyFact, nil, nil},
	"error":       {fields{chunkErrorText.need()}, UrgentFact, admitError, nil},

	"message-metadata": {fields{chunkMessageMetadata.need()}, LazyFact, nil, foldMetadata},

	"text-start":      {fields{chunkID.need(), chunkMetadata}, Prose, admitOpen, foldOpen},
	"text-delta":      {fields{chunkID.need(), chunkDelta.need(), chunkMetadata}, Prose, admitDelta, foldDelta},
	"text-end":        {fields{chunkID.need(), chunkCitations, chunkMetadata}, Prose, admitEnd, foldEnd},
	"reasoning-start": {fields{chunkID.need(), chunkMetadata}, Prose, admitOpen, foldOpen},
	"reasoning-delta": {fields{chunkID.need(), chunkDelta.need(), chunkMetadata}, Prose, admitDelta, foldDelta},
	"reasoning-end":   {fields{chunkID.need(), chunkMetadata}, Prose, admitEnd, foldEnd},

	"file":             {fields{chunkMediaType.need(), chunkURL.need(), chunkFilename, chunkMetadata}, UrgentFact, nil, foldPush},
	"reasoning-file":   {fields{chunkMediaType.need(), chunkURL.need(), chunkFilename, chunkMetadata}, UrgentFact, nil, foldPush},
	"source-url":       {fields{chunkSourceID.need(), chunkURL.need(), chunkTitle, chunkMetadata}, UrgentFact, nil, foldPush},
	"source-document":  {fields{chunkSourceID.need(), chunkMediaType.need(), chunkTitle.need(), chunkFilename, chunkMetadata}, UrgentFact, nil, foldPush},
	"custom":           {fields{chunkKind.need(), chunkMetadata}, UrgentFact, nil, foldPush},
	"steering-message": {fields{chunkID.need(), chunkParts.need()}, UrgentFact, nil, foldPush},

	"tool-input-start":     {fields{chunkToolCallID.need(), chunkToolName.need(), chunkTitle, chunkInputEncoding, chunkDynamic, chunkProviderExecuted, chunkMetadata, chunkToolMetadata}, Prose, admitInputStart, foldInputStart},
	"tool-input-delta":     {fields{chunkToolCallID.need(), chunkInputDelta.need()}, Prose, admitInputDelta, foldDelta},
	"tool-input-available": {fields{chunkToolCallID.need(), chunkToolName.need(), chunkTitle, chunkInput, chunkDynamic, chunkProviderExecuted, chunkMetadata, chunkToolMetadata}, UrgentFact, admitInput, foldInput},
	"tool-input-error":     {fields{chunkToolCallID.need(), chunkToolName.need(), chunkInput, chunkErrorText.need(), chunkDynamic, chunkProviderExecuted, chunkMetadata, chunkToolMetadata}, UrgentFact, admitInputError, foldInputError},

	"tool-approval-request":  {fields{chunkApprovalID.need(), chunkToolCallID.need(), chunkReason}, UrgentFact, admitApprovalRequest, foldApprovalRequest},
	"tool-approval-response": {fields{chunkApprovalID.need(), chunkApproved.need(), chunkReason, chunkProviderExecuted, chunkMetadata}, UrgentFact, admitApprovalResponse, foldApprovalResponse},

	"tool-output-available": {fields{chunkToolCallID.need(), chunkOutput.need(), chunkPreliminary, chunkDynamic, chunkProviderExecuted, chunkMetadata, chunkToolMetadata}, UrgentFact, admitOutput, foldOutput},
	"tool-output-error":     {fields{chunkToolCallID.need(), chunkErrorText.need(), chunkDynamic, chunkProviderExecuted, chunkMetadata, chunkToolMetadata}, UrgentFact, admitOutput, foldOutput},
	"tool-output-denied":    {fields{chunkToolCallID.need()}, UrgentFact, admitDenied, foldDenied},
}

var (
	dataKind    = &kind{fields{chunkID, chunkData.need(), chunkTransient}, UrgentFact, nil, foldData}
	unknownKind = &kind{}
)

func kindOf(typ string) *kind {
	if k, ok := kinds[typ]; ok {
		return k
	}
	if strings.HasPrefix(typ, dataPrefix) {
		return dataKind
	}
	return unknownKind
}

// urgency is the kind's, except for what its flags make prose of: the output
// that a later one replaces, and data that no later chunk can refer to.
func (c *Chunk) urgency() Urgency {
	switch {
	case c.Preliminary, c.Transient, c.isData() && c.ID == "":
		return Prose
	}
	return kindOf(c.Type).urgency
}

var (
	chunkID               = text("id", func(c *Chunk) *string { return &c.ID })
	chunkDelta            = text("delta", func(c *Chunk) *string { return &c.Delta })
	chunkInputDelta       = text("inputTextDelta", func(c *Chunk) *string { return &c.Delta })
	chunkMessageID        = text("messageId", func(c *Chunk) *string { return &c.MessageID })
	chunkMessageMetadata  = value("messageMetadata", func(c *Chunk) *json.RawMessage { return &c.MessageMetadata })
	chunkFinishReason     = text("finishReason", func(c *Chunk) *string { return &c.FinishReason })
	chunkToolCallID       = name("toolCallId", func(c *Chunk) *string { return &c.ToolCallID })
	chunkToolName         = name("toolName", func(c *Chunk) *string { return &c.ToolName })
	chunkTitle            = text("title", func(c *Chunk) *string { return &c.Title })
	chunkInput            = value("input", func(c *Chunk) *json.RawMessage { return &c.Input })
	chunkInputEncoding    = text("inputEncoding", func(c *Chunk) *string { return &c.InputEncoding })
	chunkOutput           = value("output", func(c *Chunk) *json.RawMessage { return &c.Output })
	chunkErrorText        = text("errorText", func(c *Chunk) *string { return &c.ErrorText })
	chunkDynamic          = flag("dynamic", func(c *Chunk) *bool { return &c.Dynamic })
	chunkPreliminary      = flag("preliminary", func(c *Chunk) *bool { return &c.Preliminary })
	chunkProviderExecuted = flag("providerExecuted", func(c *Chunk) *bool { return &c.ProviderExecuted })
	chunkToolMetadata     = value("toolMetadata", func(c *Chunk) *json.RawMessage { return &c.ToolMetadata })
	chunkApprovalID       = name("approvalId", func(c *Chunk) *string { return &c.ApprovalID })
	chunkApproved         = flag("approved", func(c *Chunk) *bool { return &c.Approved })
	chunkReason           = text("reason", func(c *Chunk) *string { return &c.Reason })
	chunkData             = value("data", func(c *Chunk) *json.RawMessage { return &c.Data })
	chunkTransient        = flag("transient", func(c *Chunk) *bool { return &c.Transient })
	chunkURL              = text("url", func(c *Chunk) *string { return &c.URL })
	chunkMediaType        = text("mediaType", func(c *Chunk) *string { return &c.MediaType })
	chunkFilename         = text("filename", func(c *Chunk) *string { return &c.Filename })
	chunkSourceID         = text("sourceId", func(c *Chunk) *string { return &c.SourceID })
	chunkKind             = text("kind", func(c *Chunk) *string { return &c.Kind })
	chunkParts            = value("parts", func(c *Chunk) *json.RawMessage { return &c.Parts })
	chunkCitations        = value("citations", func(c *Chunk) *json.RawMessage { return &c.Citations })
	chunkMetadata         = value("providerMetadata", func(c *Chunk) *json.RawMessage { return &c.ProviderMetadata })
)
