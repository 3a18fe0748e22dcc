package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Agent is a class of agents: what its author has written. It is not changed
// after registration; its hooks may be called by many agents at once.
//
// One that has neither Model nor OnChatMessage is a plain agent: it has no
// conversation, only state, methods and sockets.
type Agent struct {
	// Name is the class: letters and digits, starting with an upper-case letter,
	// such as "Assistant" or "ChatAgent". Its kebab form is part of the URL, its
	// journals are stored under it: renaming a class leaves its agents behind.
	Name string

	// Model answers, told Instructions (may be empty). Each turn is a loop of
	// steps; each step's result is in the journal before the next begins.
	Model        model.Model
	Instructions string
	// MaxOutputTokens and Temperature go to the provider; 0 and nil: its defaults.
	MaxOutputTokens int64
	Temperature     *float64

	// Tools are what the model may call, beside those that clients bring. What a turn's
	// hooks below are asked is asked again after a crash.
	Tools []Tool
	// MaxSteps bounds the steps of one answer, with its continuations and recoveries.
	// Default 10. An answer that reaches it ends as it is.
	MaxSteps int
	// StopWhen ends an answer after a step that has called tools.
	StopWhen func(steps []StepResult) bool
	// BeforeTurn may change what a turn's steps have in common, before its first
	// model call. An error ends the turn.
	BeforeTurn func(ctx context.Context, turn *TurnContext) (TurnConfig, error)
	// PrepareStep may change one step, before its model call. An error ends the turn.
	PrepareStep func(ctx context.Context, step *StepContext) (StepConfig, error)
	// AfterStep is told of each step with its results, before the next begins. It is
	// not told of one whose process has died before that. An error ends the turn.
	AfterStep func(ctx context.Context, self *Self, step StepResult) error
	// OnChunk sees each part of the model's answers, before clients do, on the
	// goroutine that reads them: it must be quick.
	OnChunk func(ctx context.Context, chunk ChunkInfo)
	// OnModelError is told of each failure of a model. What it returns, unless that is
	// "", is what visitors read if the turn ends with it.
	OnModelError func(ctx context.Context, e ModelError) string
	// RepairToolInput may mend an input that its tool does not take; nil, or an error:
	// the model is told of what is wrong.
	RepairToolInput func(ctx context.Context, bad BadInput) (json.RawMessage, error)
	// Budget bounds what answers cost.
	Budget Budget
	// PruneMessages shapes what the model sees of the conversation; it must leave a
	// call and its result together. The function PruneMessages makes one.
	PruneMessages func(messages []model.Message) []model.Message
	// Compact has a conversation summed up for models that does not fit into their
	// context. nil: such a turn ends with an error that says so.
	Compact *Compaction
	// AnswerTimeout is how long a call waits for a client or a person before it has
	// failed. 0: for ever.
	AnswerTimeout time.Duration

	// OnChatMessage answers instead of Model. It writes to turn.Stream and
	// returns when the answer is complete. ctx ends when the turn is cancelled
	// or the node stops; what is written afterwards is refused with ErrTurnOver.
	//
	// An error ends the turn with an error: one made by Errorf shows its text to
	// the visitor, any other is logged and shown as a general sentence. Writing
	// nothing tells the visitor that no answer was generated; see also
	// Stream.Empty.
	//
	// A handler that ignores ctx does not hold up the next turn, but keeps its
	// agent in memory and the node from a clean stop. A panic in it ends the turn
	// with an error; one in a goroutine that it has started ends the process, as
	// in every Go program. It must not Chat with its own agent: see Ref.Chat.
	//
	// After a crash the handler is run again, with turn.Continuation set if a
	// part of the answer was already stored: then it extends that message.
	OnChatMessage func(ctx context.Context, turn *Turn) error

	// OnChatResponse is told of each turn that has run, after its end is durable.
	// It runs at least once per turn, one at a time and in order per agent, also
	// over restarts. An error has it tried again with a growing delay, up to 8
	// times. It is cut off after HookTimeout, as all hooks are: if it ignores ctx it
	// may still run beside its next attempt.
	OnChatResponse func(ctx context.Context, self *Self, response ChatResponse) error
	HookTimeout    time.Duration // default 1 min

	// InitialState is the state of an agent that was never given one, as JSON. It
	// is read once, at registration; nil: no state. State is one JSON value beside the
	// conversation, shown to all sockets, which may change it, too: see Ref.SetState.
	InitialState any
	// MaxStateBytes bounds the state's JSON. Default 1 MiB, at most 12 MiB.
	MaxStateBytes int
	// ValidateState refuses a state with an error, whoever wants to set it, before
	// anything is stored. A client is told that its update was rejected, and no more. It
	// may be run by many at once, and next may not be the state that follows.
	ValidateState func(ctx context.Context, self *Self, next json.RawMessage) error
	// OnStateChange is told of each new state after it is durable: one at a time and
	// in order per agent, but not again after a crash, and not of changes that a
	// stop of the node overtakes. ConnectionFrom(ctx) is the socket that has changed it.
	OnStateChange func(ctx context.Context, self *Self, state json.RawMessage) error

	// Callable are the methods that clients may call by name.
	Callable []Method

	// Terms says what a socket is granted, before anything is sent to it; nil: the
	// usual. An error refuses the socket for good, with its text if made by Errorf.
	Terms func(ctx context.Context, self *Self, r *http.Request) (Terms, error)
	// NoIdentity: no socket is told the agent's name and class.
	NoIdentity bool

	// OnConnect, OnMessage and OnClose are told of sockets: one at a time and in
	// order per socket. OnMessage gets each frame that is none of the protocol's.
	// An error is logged and told to OnError; the socket stays as it is.
	OnConnect func(ctx context.Context, self *Self, c *Connection) error
	OnMessage func(ctx context.Context, self *Self, c *Connection, data []byte, binary bool) error
	OnClose   func(ctx context.Context, self *Self, c *Connection, code int, reason string) error
	// OnRequest answers plain HTTP requests to the agent's URL that are none of the
	// protocol's; nil: 404. r.PathValue("rest") is the path below the agent's, "/" at least.
	OnRequest func(w http.ResponseWriter, r *http.Request, self *Self)
	// OnError is told of the errors and panics of what is above from ValidateState on,
	// except for those texts that a client was told. All are logged, too.
	OnError func(ctx context.Context, self *Self, err error)

	// Recovery says what becomes of a turn that a crash has cut off.
	Recovery Recovery

	// MaxPersistedMessages bounds the stored conversation. What is beyond it is
	// removed, oldest first, when a turn has ended and after messages were added
	// without a turn; from the next turn on the model does not see it, either. A
	// message with an open tool call stays until that is answered. Default 0: no limit.
	MaxPersistedMessages int
	// MaxMessageBytes is how many bytes of JSON a message may have before it is
	// compacted in what clients and models see: long tool outputs are shrunk, then
	// long texts cut. The whole value is stored beside it, see Ref.Message. Default
	// 1,800,000.
	MaxMessageBytes int
	// SanitizeMessage returns a message as it is to be stored and shown. It gets
	// every message of every list that clients and the author send, and each answer
	// before its turn ends, after what Holdfast itself leaves out. Id and role stay
	// as they are; an answer without parts is not stored. (What is streamed live is
	// not passed through it, nor are the model's own words.)
	//
	// It must be pure, and leave alone what it has returned before; it may run many
	// times at once, and must not change what its argument refers to. A panic in it
	// refuses the list, or ends the turn with an error.
	SanitizeMessage func(m uimessage.Message) uimessage.Message

	// PassivateAfter is how long an idle agent stays in memory; default 60 s.
	// Waiting for a person, or for a time, is idle.
	PassivateAfter time.Duration

	// DeleteIdleAfter deletes an agent for good, as Ref.Delete does, that nobody has
	// used for so long, also over restarts; 0: never. Whatever is asked of it counts as
	// use, an open socket, and use of its sub-agents; it is never deleted while a turn
	// is unfinished or somebody is awaited. Agents that were stored before the field
	// was set are watched from their next use on. At least PassivateAfter.
	DeleteIdleAfter time.Duration

	// BeforeSubAgent is the gate between this agent and its sub-agents for what comes
	// from outside, once per plain request and once per socket: nil lets r reach
	// child, also one that is not registered yet, which a socket and a request that is
	// no GET, HEAD or OPTIONS register. Deny gives a refusal its HTTP status (sockets
	// are closed with 4000 more), any other error or a panic is a failure of this
	// node's. No gate: all are refused with 403. It is cut off after HookTimeout. See
	// Self.HasSubAgent for a gate that lets nobody invent any.
	BeforeSubAgent func(ctx context.Context, self *Self, r *http.Request, child ChildAddress) error

	// MaxQueuedTurns bounds the requests that wait behind a running turn; more
	// are refused. Default 64.
	MaxQueuedTurns int

	// MessageConcurrency says what becomes of a client's message that comes while
	// other turns are unfinished. The zero value queues it.
	MessageConcurrency Concurrency

	// StallTimeout is how long Model or OnChatMessage may be silent, at its beginning
	// and between two chunks, before it is cut off: ctx ends, and what is written
	// later is refused. A model is then asked again, as after any passing failure; a
	// handler's turn ends with an error. While clients are too far ahead of the disk
	// no time passes. 0: for ever.
	StallTimeout time.Duration
}

// Recovery of cut-off turns. The zero value recovers.
type Recovery struct {
	// Off ends a cut-off turn as aborted; what was said is kept.
	Off bool
	// MaxCrashes is how many starts in a row may add nothing to the answer
	// before the turn is given up. Planned stops do not count. Default 5.
	MaxCrashes int
	// MaxFailures is the same for passing failures of the model. Default 5.
	MaxFailures int
}

// className is narrow so that every class has a URL and a stream name of its own.
var className = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// check panics if the agent cannot work: a mistake of its author's.
func (a *Agent) check() {
	fail := func(field, format string, args ...any) {
		panic(fmt.Sprintf("actors: agent %q: %s %s", a.Name, field, fmt.Sprintf(format, args...)))
	}
	switch {
	case !className.MatchString(a.Name):
		fail("Name", "must match %s", className)
	case a.Model != nil && a.OnChatMessage != nil:
		fail("OnChatMessage", "is set together with Model: give only one")
	case a.Model == nil && a.Instructions != "":
		fail("Instructions", "needs Model")
	case !a.Chats() && a.OnChatResponse != nil:
		fail("OnChatResponse", "needs Model or OnChatMessage")
	case a.PassivateAfter < 0:
		fail("PassivateAfter", "is negative: %s", a.PassivateAfter)
	case a.DeleteIdleAfter < 0 || a.DeleteIdleAfter > 0 && a.DeleteIdleAfter < a.passivateAfter():
		fail("DeleteIdleAfter", "is %s, less than PassivateAfter, %s", a.DeleteIdleAfter, a.passivateAfter())
	case a.HookTimeout < 0:
		fail("HookTimeout", "is negative: %s", a.HookTimeout)
	case a.MaxOutputTokens < 0:
		fail("MaxOutputTokens", "is negative: %d", a.MaxOutputTokens)
	case a.MaxQueuedTurns < 0:
		fail("MaxQueuedTurns", "is negative: %d", a.MaxQueuedTurns)
	case a.MessageConcurrency.problem() != "":
		fail("MessageConcurrency", "%s", a.MessageConcurrency.problem())
	case problemOf(a.Tools) != "":
		fail("Tools", "%s", problemOf(a.Tools))
	case a.MaxSteps < 0:
		fail("MaxSteps", "is negative: %d", a.MaxSteps)
	case a.Budget.problem() != "":
		fail("Budget", "%s", a.Budget.problem())
	case a.Compact.problem(a.Model) != "":
		fail("Compact", "%s", a.Compact.problem(a.Model))
	case a.AnswerTimeout < 0:
		fail("AnswerTimeout", "is negative: %s", a.AnswerTimeout)
	case !a.Chats() && len(a.Tools) > 0:
		fail("Tools", "needs Model or OnChatMessage")
	case a.StallTimeout < 0:
		fail("StallTimeout", "is negative: %s", a.StallTimeout)
	case a.MaxPersistedMessages < 0:
		fail("MaxPersistedMessages", "is negative: %d", a.MaxPersistedMessages)
	case a.MaxMessageBytes < 0:
		fail("MaxMessageBytes", "is negative: %d", a.MaxMessageBytes)
	case a.Recovery.MaxCrashes < 0 || a.Recovery.MaxFailures < 0:
		fail("Recovery", "has a negative limit: %+v", a.Recovery)
	}
}

// Chats reports whether the class is one of chat agents.
func (a *Agent) Chats() bool { return a.Model != nil || a.OnChatMessage != nil }

func (a *Agent) policy() chat.Policy {
	return chat.Policy{
		Handler: a.OnChatMessage != nil, NoRecovery: a.Recovery.Off, Hook: a.OnChatResponse != nil,
		MaxCrashes: uint32(a.Recovery.MaxCrashes), MaxFailures: uint32(a.Recovery.MaxFailures), MaxQueuedTurns: a.MaxQueuedTurns,
		Overlap: overlaps[a.MessageConcurrency.Strategy], Debounce: a.MessageConcurrency.debounce().Milliseconds(),
		MaxMessages: a.MaxPersistedMessages, MaxBytes: a.MaxMessageBytes, Sanitizes: a.SanitizeMessage != nil,
	}
}

func (a *Agent) passivateAfter() time.Duration { return orDefault(a.PassivateAfter, time.Minute) }
func (a *Agent) hookTimeout() time.Duration    { return orDefault(a.HookTimeout, time.Minute) }

func orDefault[T comparable](d, standard T) T {
	var none T
	if d == none {
		return standard
	}
	return d
}
