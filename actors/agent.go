package actors

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
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
	// child, also one that is not registered yet, which a socket registers. Deny
	// gives a refusal its HTTP status (sockets are closed with 4000 more), any other
	// error or a panic is a failure of this node's. No gate: all are refused with 403.
	// HookTimeout ends ctx. See Self.HasSubAgent for a gate that lets nobody invent any.
	BeforeSubAgent func(ctx context.Context, self *Self, r *http.Request, child ChildAddress) error

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
	case a.DeleteIdleAfter < 0 || a.DeleteIdleAfter > 0 && a.DeleteIdleAfter < a.passivateAfter():
		fail("DeleteIdleAfter", "is %s, less than PassivateAfter, %s", a.DeleteIdleAfter, a.passivateAfter())
	case a.HookTimeout < 0:
		fail("HookTimeout", "is negative: %s", a.HookTimeout)
	case a.MaxOutputTokens < 0:
		fail("MaxOutputTokens", "is negative: %d", a.MaxOutputTokens)
	case a.MaxQueuedTurns < 0:
		fail("MaxQueuedTurns", "is negative: %d", a.MaxQueuedTurns)
	case a.Recovery.MaxCrashes < 0 || a.Recovery.MaxFailures < 0:
		fail("Recovery", "has a negative limit: %+v", a.Recovery)
	}
}

func (a *Agent) policy() chat.Policy {
	return chat.Policy{
		Handler: a.OnChatMessage != nil, NoRecovery: a.Recovery.Off, Hook: a.OnChatResponse != nil,
		MaxCrashes: uint32(a.Recovery.MaxCrashes), MaxFailures: uint32(a.Recovery.MaxFailures), MaxQueuedTurns: a.MaxQueuedTurns,
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
