package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/actors/model"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// Compaction says how a conversation is summed up that does not fit into the model's
// context: a model writes a summary of its beginning, which is stored, and models are
// shown that instead, from then on. People see all that was said, as before. It is done
// once in a turn, when the model has refused its conversation as too long; the step is
// then tried again. If that does not help the turn ends with an error.
type Compaction struct {
	// Model writes the summary. Default: Agent.Model. It may be given the conversation
	// in several pieces.
	Model model.Model
	// Instructions are what Model is told. Default: a general text.
	Instructions string
	// KeepMessages is how many of the newest messages before the question are not
	// summed up; of fewer than twice as many, half are. Default 4.
	KeepMessages int
}

const (
	defaultKeepMessages = 4
	// compactInstructions is the default of Compaction.Instructions.
	compactInstructions = "Sum up the conversation that you are given, for an assistant that has to go on with it and will see nothing else of it. " +
		"Keep what the user wants, facts, names, numbers, identifiers and decisions, what tools have found and done, and what is still open. " +
		"Answer with the summary alone, in the language of the conversation."
	// tooLongText is what visitors read when nothing more can be done about it.
	tooLongText = "The conversation is too long for the assistant. Please start a new one."
	// maxSummed bounds what a summary is told of one text, input or output, in bytes.
	maxSummed = 8 << 10
)

func (c *Compaction) problem(own model.Model) string {
	switch {
	case c == nil:
		return ""
	case c.KeepMessages < 0:
		return fmt.Sprintf("has a negative KeepMessages: %d", c.KeepMessages)
	case c.Model == nil && own == nil:
		return "needs a Model"
	}
	return ""
}

// compacts reports whether a conversation that is too long can be summed up.
func (a *Agent) compacts() bool { return a.Compact != nil }

// compaction writes one summary.
type compaction struct {
	model        model.Model
	instructions string
	key          string
	alive        func()
	calls        int
	usage        model.Usage
}

// errNothingToSum: what does not fit is the newest.
var errNothingToSum = errors.New("nothing of the conversation can be summed up")

// prepareCompact has the conversation summed up for models.
func (a *shell) prepareCompact(e chat.Compact) func(context.Context) chat.Command {
	t := a.core.State.Turns.Running()
	out := chat.Compacted{Turn: e.Turn, Attempt: e.Attempt}
	settings, log := a.class.Compact, a.log.With("request", t.Request)
	if settings == nil { // the class had some when it was decided
		settings = &Compaction{Model: a.class.Model}
	}
	stream := newStream(a, t.ID, t.Attempt, t.Request)
	c := &compaction{
		model: settings.Model, instructions: orDefault(settings.Instructions, compactInstructions),
		key: fmt.Sprintf("%s/%d/compact/%d", a.addr, e.Turn, e.Attempt), alive: stream.alive,
	}
	if c.model == nil {
		c.model = a.class.Model
	}
	before, entries := a.summable(t, orDefault(settings.KeepMessages, defaultKeepMessages))
	return func(ctx context.Context) chat.Command {
		err := errNothingToSum
		if len(entries) > 0 && c.model != nil {
			err = a.watched(ctx, stream, func(ctx context.Context) (err error) {
				out.Summary, err = c.sum(ctx, before, entries)
				return err
			})
		}
		if err != nil {
			log.Warn("the conversation is too long and was not summed up", "error", err)
			return chat.Compacted{Turn: e.Turn, Attempt: e.Attempt, Failed: unsummed(err)}
		}
		out.UptoID, out.Model = entries[len(entries)-1].ID, valid(c.model.Name())
		u := c.usage
		out.Usage = &journalv1.Usage{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		return out
	}
}

// unsummed is what visitors read of a summary that there is not.
func unsummed(err error) string {
	var me *model.Error
	if errors.As(asFailure(err), &me) && me.Cause != model.TooLong && me.Public != "" {
		return valid(me.Public)
	}
	return tooLongText
}

// summable is what can be summed up for t: the last summary, and the messages behind
// it, but for the newest. They end in front of the first that t or another turn answers
// or writes: what a summary stands for models do not see again.
func (a *shell) summable(t *chat.Turn, keep int) (summary string, entries []chat.Entry) {
	s := &a.core.State
	said := make(map[string]chat.Entry)
	asked := s.Asked(t)
	for _, e := range s.PromptFor(t) {
		switch {
		case e.Summary != "":
			summary = e.Summary
		case !asked[e.ID] && !(t.Continues && e.ID == t.MessageID):
			said[e.ID] = e
		}
	}
	vouched := s.Transcript.Vouched()
	if i := slices.IndexFunc(vouched, func(m chat.Message) bool { return m.ID == s.Transcript.Compaction.UptoID }); i >= 0 {
		vouched = vouched[i+1:]
	}
	for _, m := range vouched {
		e, ok := said[m.ID]
		if !ok {
			break
		}
		entries = append(entries, e)
	}
	most := len(said) - min(keep, len(said)/2)
	return summary, entries[:min(most, len(entries))]
}

// sum returns a summary of entries, and of what was before them. What the model cannot
// take at once is given to it in halves.
func (c *compaction) sum(ctx context.Context, before string, entries []chat.Entry) (string, error) {
	text, err := c.ask(ctx, before, entries)
	half := len(entries) / 2
	if model.CauseOf(err) != model.TooLong || half == 0 {
		return text, err
	}
	if before, err = c.sum(ctx, before, entries[:half]); err != nil {
		return "", err
	}
	return c.sum(ctx, before, entries[half:])
}

func (c *compaction) ask(ctx context.Context, before string, entries []chat.Entry) (string, error) {
	c.calls++
	question := model.Message{Role: model.User, Content: []model.Content{{Kind: model.TextContent, Text: minutes(before, entries)}}}
	var text strings.Builder
	for part, err := range c.model.Stream(ctx, model.Request{
		Instructions: c.instructions, Messages: []model.Message{question}, Key: fmt.Sprintf("%s/%d", c.key, c.calls),
	}) {
		if err != nil {
			return "", err
		}
		c.alive()
		if p, ok := part.(model.TextDelta); ok {
			text.WriteString(p.Text)
		}
		if p, ok := part.(model.FinishPart); ok {
			u := p.Usage
			c.usage.Input, c.usage.Output, c.usage.Reasoning = c.usage.Input+u.Input, c.usage.Output+u.Output, c.usage.Reasoning+u.Reasoning
			c.usage.CacheRead, c.usage.CacheWrite = c.usage.CacheRead+u.CacheRead, c.usage.CacheWrite+u.CacheWrite
		}
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if strings.TrimSpace(text.String()) == "" {
		return "", errors.New("the model has written no summary")
	}
	return strings.TrimSpace(text.String()), nil
}

// minutes is a conversation as one text: not every provider takes calls of tools that it
// is not offered.
func minutes(before string, entries []chat.Entry) string {
	var b strings.Builder
	if before != "" {
		b.WriteString(summaryText + before + "\n\n")
	}
	b.WriteString("The conversation:\n")
	names := map[model.Role]string{model.User: "User", model.Assistant: "Assistant", model.ToolRole: "Tool"}
	for _, m := range prompt(entries) {
		for _, c := range m.Content {
			switch c.Kind {
			case model.TextContent:
				fmt.Fprintf(&b, "\n%s: %s\n", names[m.Role], clip(c.Text))
			case model.FileContent:
				fmt.Fprintf(&b, "\n%s: [file %s %s]\n", names[m.Role], c.MediaType, c.Filename)
			case model.ToolCallContent:
				fmt.Fprintf(&b, "\n%s calls the tool %s: %s\n", names[m.Role], c.Tool, clip(string(c.Input)))
			case model.ToolResultContent:
				fmt.Fprintf(&b, "\nThe tool %s: %s\n", c.Tool, clip(string(c.Output)))
			case model.ReasoningContent: // has led to what is said
			}
		}
	}
	return b.String()
}

// clip leaves out the middle of a text that is too long to be told in full.
func clip(text string) string {
	if len(text) <= maxSummed {
		return text
	}
	return valid(text[:maxSummed/2]) + " […] " + valid(text[len(text)-maxSummed/2:])
}
