package actors

import (
	"slices"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// Pruning says what goes from a conversation before a model sees it. Its numbers say
// where: 0 nowhere, n above 0 in all but the last n messages, PruneAll everywhere. A
// message here is one of package model: an answer of the model's is one for each step,
// the results of a step's calls are another.
type Pruning struct {
	// Reasoning is what the model has thought. What it has thought since the last user
	// message stays beside calls that stay: some providers refuse calls without it.
	Reasoning int
	// ToolCalls are calls and their results. They stay together and go together: one
	// half that is to stay keeps the other.
	ToolCalls int
	// Tools: only calls of these go; nil: of all.
	Tools []string
}

// PruneAll is everywhere: see Pruning.
const PruneAll = -1

// PruneMessages returns a function that shortens a conversation: for
// Agent.PruneMessages, or in a hook that gets messages. Messages that are left with
// nothing go, too. It is pure: what it is given stays as it is.
func PruneMessages(p Pruning) func([]model.Message) []model.Message {
	return func(messages []model.Message) []model.Message { return p.prune(messages) }
}

func (p Pruning) prune(messages []model.Message) []model.Message {
	stays, end := p.fates(messages), before(p.Reasoning, len(messages))
	own := 0 // where the running answer begins
	for i, m := range messages {
		if m.Role == model.User {
			own = i + 1
		}
	}
	var out []model.Message
	for i, m := range messages {
		var content []model.Content
		for at, c := range m.Content {
			if fate := stays[place{i, at}]; fate == nil || *fate {
				content = append(content, c)
			}
		}
		if i < end && (i < own || !slices.ContainsFunc(content, isCall)) {
			content = slices.DeleteFunc(content, func(c model.Content) bool { return c.Kind == model.ReasoningContent })
		}
		if len(content) > 0 {
			out = append(out, model.Message{Role: m.Role, Content: content})
		}
	}
	return out
}

// place is that of a content: its message, and its number in it.
type place struct{ message, content int }

// fates tells of calls and results whether they stay: a pair has one fate. Ids may
// come again; a result is that of the last call before it.
func (p Pruning) fates(messages []model.Message) map[place]*bool {
	end := before(p.ToolCalls, len(messages))
	stays, last := make(map[place]*bool), make(map[string]*bool)
	for i, m := range messages {
		for at, c := range m.Content {
			if !isCall(c) {
				continue
			}
			if last[c.CallID] == nil || c.Kind == model.ToolCallContent {
				last[c.CallID] = new(bool)
			}
			fate := last[c.CallID]
			stays[place{i, at}] = fate
			*fate = *fate || i >= end || p.Tools != nil && !slices.Contains(p.Tools, c.Tool)
		}
	}
	return stays
}

// before is the number of messages, from the first, that n means.
func before(n, of int) int {
	switch {
	case n == 0:
		return 0
	case n < 0:
		return of
	}
	return max(of-n, 0)
}

func isCall(c model.Content) bool {
	return c.Kind == model.ToolCallContent || c.Kind == model.ToolResultContent
}
