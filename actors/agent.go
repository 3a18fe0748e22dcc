package actors

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Agent is a class of agents: what its author has written. It is not changed
// after registration; its hooks may be called by many agents at once.
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
	// times. It is cut off after HookTimeout: if it ignores ctx it may still run
	// beside its next attempt.
	OnChatResponse func(ctx context.Context, self *Self, response ChatResponse) error
	HookTimeout    time.Duration // default 1 min

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

	// MaxQueuedTurns bounds the requests that wait behind a running turn; more
	// are refused. Default 64.
	MaxQueuedTurns int
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
	case a.Model == nil && a.OnChatMessage == nil:
		fail("Model", "is missing: give either Model or OnChatMessage")
	case a.Model != nil && a.OnChatMessage != nil:
		fail("OnChatMessage", "is set together with Model: give only one")
	case a.OnChatMessage != nil && a.Instructions != "":
		fail("Instructions", "needs Model")
	case a.PassivateAfter < 0:
		fail("PassivateAfter", "is negative: %s", a.PassivateAfter)
	case a.HookTimeout < 0:
		fail("HookTimeout", "is negative: %s", a.HookTimeout)
	case a.MaxOutputTokens < 0:
		fail("MaxOutputTokens", "is negative: %d", a.MaxOutputTokens)
	case a.MaxQueuedTurns < 0:
		fail("MaxQueuedTurns", "is negative: %d", a.MaxQueuedTurns)
	case a.MaxPersistedMessages < 0:
		fail("MaxPersistedMessages", "is negative: %d", a.MaxPersistedMessages)
	case a.MaxMessageBytes < 0:
		fail("MaxMessageBytes", "is negative: %d", a.MaxMessageBytes)
	case a.Recovery.MaxCrashes < 0 || a.Recovery.MaxFailures < 0:
		fail("Recovery", "has a negative limit: %+v", a.Recovery)
	}
}

func (a *Agent) policy() chat.Policy {
	return chat.Policy{
		Handler: a.OnChatMessage != nil, NoRecovery: a.Recovery.Off, Hook: a.OnChatResponse != nil,
		MaxCrashes: uint32(a.Recovery.MaxCrashes), MaxFailures: uint32(a.Recovery.MaxFailures), MaxQueuedTurns: a.MaxQueuedTurns,
		MaxMessages: a.MaxPersistedMessages, MaxBytes: a.MaxMessageBytes, Sanitizes: a.SanitizeMessage != nil,
	}
}

func (a *Agent) passivateAfter() time.Duration { return orDefault(a.PassivateAfter, time.Minute) }
func (a *Agent) hookTimeout() time.Duration    { return orDefault(a.HookTimeout, time.Minute) }

func orDefault(d, standard time.Duration) time.Duration {
	if d == 0 {
		return standard
	}
	return d
}
