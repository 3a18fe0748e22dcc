// Package model is the seam between the model loop and the providers of
// language models: one request, one stream of typed parts.
package model

import (
	"context"
	"encoding/json"
	"iter"
)

// A Model answers a request with a stream of parts. Implementations may be
// used by many turns at once.
//
// The sequence ends after a FinishPart, or with an error as its last element.
// It stops reading from the provider (and closes the connection) when ctx is
// done or the caller breaks off. No goroutine is left behind. When ctx ended
// the answer, the error wraps context.Cause(ctx) and is no *Error.
type Model interface {
	// Name tells provider and model, such as "openai/gpt-5": for logs and pages.
	Name() string
	Stream(ctx context.Context, r Request) iter.Seq2[Part, error]
}

// A Prefiller is a Model that knows whether it can go on where an assistant
// message breaks off. If a request's last message is an assistant message, the
// answer of a model that can holds only what comes after it.
//
// A model that wraps another one must pass this on.
type Prefiller interface {
	Model
	Prefill() bool
}

// Prefills tells whether a request to m may end with an assistant message. A
// model that says nothing about it is taken to refuse: whoever wants to continue
// a partial answer then has to ask for it in a user message.
func Prefills(m Model) bool {
	p, ok := m.(Prefiller)
	return ok && p.Prefill()
}

// A Noter is a model about which whoever starts or visits a node should be told
// something, such as that it only follows a script. "" is nothing.
type Noter interface{ Note() string }

// A Request is one step of a turn. What its provider has no word for is left
// out, unless a field says otherwise; fields of 0, "" and nil mean the provider's
// default.
type Request struct {
	Instructions    string // system prompt; "" for none
	Messages        []Message
	Tools           []Tool
	ToolChoice      string   // "" or "auto", "none", "required", or a tool's name
	MaxOutputTokens int64    // 0: the provider's default
	Temperature     *float64 // nil: the provider's default; models that reason mostly take none
	TopP            *float64 // nil: the provider's default; as Temperature
	StopSequences   []string // the answer ends before the first of them; OpenAI's Responses has none
	Seed            *int64   // for answers that can be had again; Anthropic and OpenAI's Responses have none
	// Schema is a JSON schema that the text of the answer shall follow. OpenAI,
	// most endpoints like it, and Google hold the model to it; for others it has to
	// be in the instructions as well, as [Object] does it.
	Schema json.RawMessage
	// Headers are added to the HTTP request; they win over those of the config.
	Headers map[string]string
	// ProviderOptions are JSON objects by provider: "openai" (Responses),
	// "openai-completions" (Chat Completions, also of other endpoints), "anthropic",
	// "google". Their fields become fields of that provider's request; they win over
	// ours, and objects are merged field by field. Other providers ignore them.
	ProviderOptions map[string]json.RawMessage
	// Key names this step of this turn for ever; providers that know
	// idempotency keys get it. A retry of a step has the same key.
	Key string
}

// Role says who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // carries tool results only
)

// A Message is one entry of the conversation as the model sees it. It marshals
// to JSON and back without loss, broken tool input and the exact bytes of
// metadata included: step records keep it. (Text is UTF-8; what is not comes back
// as U+FFFD. An empty slice or map comes back as nil.)
type Message struct {
	Role    Role      `json:"role"`
	Content []Content `json:"content"`
}

// ContentKind names the variant of a Content.
type ContentKind string

const (
	TextContent       ContentKind = "text"
	ReasoningContent  ContentKind = "reasoning"
	FileContent       ContentKind = "file"
	ToolCallContent   ContentKind = "tool-call"
	ToolResultContent ContentKind = "tool-result"
)

// Content is one piece of a message; Kind says which fields count.
type Content struct {
	Kind ContentKind `json:"kind"`
	Text string      `json:"text,omitempty"` // text, reasoning

	// file: Data or, if that is empty, URL.
	MediaType string `json:"mediaType,omitempty"`
	Filename  string `json:"filename,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`

	// tool-call and tool-result.
	CallID  string          `json:"callId,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	IsError bool            `json:"isError,omitempty"`

	// Metadata is the provider's own (signatures of thinking, item ids). It
	// goes back to the provider byte for byte.
	Metadata Metadata `json:"metadata,omitempty"`
}

// Metadata holds one JSON object per provider.
type Metadata map[string]json.RawMessage

// A Tool is what the model is told of a tool.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the input, an object
}

// A Part is one element of a model's answer.
//
//sumtype:decl
type Part interface{ part() }

// Ids of text, reasoning and calls are unique within one answer. Every Start has
// its End (for a call: its ToolCall); deltas come between them. An answer that
// fails, or that ends for its length, may leave the last ones open.
type (
	TextStart struct{ ID string }
	TextDelta struct{ ID, Text string }
	TextEnd   struct {
		ID       string
		Metadata Metadata
	}
	ReasoningStart struct {
		ID       string
		Metadata Metadata
	}
	ReasoningDelta struct {
		ID, Text string
		Metadata Metadata
	}
	ReasoningEnd struct {
		ID       string
		Metadata Metadata
	}
	ToolInputStart struct{ CallID, Tool string }
	ToolInputDelta struct{ CallID, Text string }
	// ToolCall: the input is complete; it need not be valid JSON. The answer is
	// not complete before its FinishPart: after an error its calls are void.
	ToolCall struct {
		CallID, Tool string
		Input        json.RawMessage
		Metadata     Metadata
	}
	// Source is something that the answer cites. A URL source has no MediaType.
	Source struct {
		ID, URL, Title, MediaType, Filename string
		Metadata                            Metadata
	}
	File struct {
		MediaType string
		Data      []byte
	}
	// FinishPart is always the last part of a complete answer.
	FinishPart struct {
		Reason   FinishReason
		Usage    Usage
		Model    string // the name of the model that answered; "" for the one that was asked
		Metadata Metadata
	}
)

func (TextStart) part()      {}
func (TextDelta) part()      {}
func (TextEnd) part()        {}
func (ReasoningStart) part() {}
func (ReasoningDelta) part() {}
func (ReasoningEnd) part()   {}
func (ToolInputStart) part() {}
func (ToolInputDelta) part() {}
func (ToolCall) part()       {}
func (Source) part()         {}
func (File) part()           {}
func (FinishPart) part()     {}

// FinishReason is the AI SDK's vocabulary.
type FinishReason string

const (
	Stop          FinishReason = "stop"
	Length        FinishReason = "length"
	ToolCalls     FinishReason = "tool-calls"
	ContentFilter FinishReason = "content-filter"
	OtherReason   FinishReason = "other"
)

// Usage counts tokens. A count that the provider does not give is 0. Input
// includes CacheRead and CacheWrite, Output includes Reasoning.
type Usage struct {
	Input, Output, Reasoning, CacheRead, CacheWrite int64
}
