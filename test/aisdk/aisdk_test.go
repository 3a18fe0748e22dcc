package aisdk

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

const (
	conversations = 1000
	maxTurns      = 4
	maxChunks     = 60 // of one turn
)

// everyKind is the vocabulary; error never goes out as content.
var everyKind = []string{
	"start", "start-step", "finish-step", "reset-step", "finish", "abort", "message-metadata",
	"text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end",
	"file", "reasoning-file", "source-url", "source-document", "custom", "steering-message",
	"tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error",
	"tool-approval-request", "tool-approval-response",
	"tool-output-available", "tool-output-error", "tool-output-denied", "data-progress",
}

// A turn is one stream that a guard has let out, and what we make of it.
type turn struct {
	seed      uint64
	base      uimessage.Message
	continues bool
	sent      []uimessage.Chunk
	result    uimessage.Message
	told      map[string]bool // calls whose whole input was told so far
}

// Every message that our fold builds is the one that a page shows.
func TestOurFoldIsTheReadersOfTheAISDK(t *testing.T) {
	var turns []turn
	for seed := range uint64(conversations) {
		turns = append(turns, conversation(seed)...)
	}
	var questions []question
	for i := range turns {
		questions = append(questions, turns[i].questions()...)
	}
	answers := ask(t, questions)
	compared := make(map[string]int)
	failed := 0
	for i := range turns {
		n := len(turns[i].questions())
		if err := turns[i].check(answers[:n], compared); err != nil {
			t.Errorf("seed %d: %v\nbase %s\n%s", turns[i].seed, err, turns[i].base.AppendJSON(nil), lines(turns[i].sent))
			if failed++; failed == 5 {
				break
			}
		}
		answers = answers[n:]
	}
	t.Logf("%d turns: %v", len(turns), compared)
	for _, kind := range everyKind {
		if compared[kind] < 20 {
			t.Errorf("only %d chunks of kind %s were compared", compared[kind], kind)
		}
	}
}

// conversation is a message and its continuations.
func conversation(seed uint64) (turns []turn) {
	g := newGenerator(seed)
	message := uimessage.Message{ID: fmt.Sprintf("m%d", seed)}
	told := make(map[string]bool)
	for n := range 1 + g.IntN(maxTurns) {
		t := turn{seed: seed, base: message, continues: n > 0}
		if t.run(g, told); len(t.sent) == 0 {
			break // an error before anything was said
		}
		turns = append(turns, t)
		message = t.result
		g.open, g.tail = make(map[string][]string), nil
	}
	return turns
}

// run streams until the turn's end, which may come at any chunk: as an abort, an
// error, or because the guard refuses what clients would fail on.
func (t *turn) run(g *generator, told map[string]bool) {
	guard, fold := uimessage.NewGuard(t.base, t.continues), uimessage.NewFold(t.base)
	for range 1 + g.IntN(maxChunks) {
		out, err := guard.Pass(nil, g.chunk())
		for _, c := range out {
			fold.Apply(c)
			note(told, &c, fold)
		}
		t.sent = append(t.sent, out...)
		if err != nil {
			break
		}
	}
	t.result = fold.Message()
	t.told = make(map[string]bool)
	for id := range told {
		t.told[id] = true
	}
}

func note(told map[string]bool, c *uimessage.Chunk, fold *uimessage.Fold) {
	switch c.Type {
	case "tool-input-available", "tool-input-error":
		told[c.ToolCallID] = true
	case "reset-step": // the ids of the calls that are gone are free again
		parts := fold.Message().Parts
		for id := range told {
			if !slices.ContainsFunc(parts, func(p uimessage.Part) bool { return p.ToolCallID == id }) {
				delete(told, id)
			}
		}
	}
}

// questions has a continuation read twice: as one that extends the message that
// a page shows, and as one that a page begins a message of its own for.
func (t *turn) questions() []question {
	if !t.continues {
		return []question{{Chunks: t.sent}}
	}
	return []question{{Message: &t.base, Chunks: t.sent}, {Chunks: t.sent}}
}

func (t *turn) check(answers []answer, compared map[string]int) error {
	for _, c := range t.sent {
		compared[c.Type]++
	}
	if err := t.checkWhole(answers[0].AI7, false); err != nil {
		return fmt.Errorf("AI SDK 7: %w", err)
	}
	if err := t.checkWhole(answers[0].AI6, true); err != nil {
		return fmt.Errorf("AI SDK 6: %w", err)
	}
	if !t.continues || extends(t.base) {
		return nil
	}
	if err := t.checkApart(answers[1].AI7, false); err != nil {
		return fmt.Errorf("AI SDK 7, message of its own: %w", err)
	}
	if err := t.checkApart(answers[1].AI6, true); err != nil {
		return fmt.Errorf("AI SDK 6, message of its own: %w", err)
	}
	return nil
}

// extends is the rule by which a page goes on with the message that it shows,
// instead of beginning one that the transcript joins later.
func extends(m uimessage.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p uimessage.Part) bool {
		return p.IsTool() && (p.State == uimessage.InputStreaming || p.State == uimessage.ApprovalResponded || p.State == uimessage.InputAvailable && p.ProviderExecuted)
	})
}

func (t *turn) checkWhole(r reading, old bool) error {
	reader, err := r.view()
	if err != nil {
		return err
	}
	ours, ok := t.ours(old)
	if !ok {
		return nil
	}
	return differences(reader, view{ours.ID, ours.Metadata, ours.Parts}, old, t.told, forked(t.base.Parts, t.sent))
}

// checkApart compares what the stream adds, and the calls of the base that it is about.
func (t *turn) checkApart(r reading, old bool) error {
	reader, err := r.view()
	if err != nil {
		return err
	}
	ours, ok := t.ours(old)
	if !ok {
		return nil
	}
	before, added := ours.Parts[:len(t.base.Parts)], ours.Parts[len(t.base.Parts):]
	twice := forked(nil, t.sent)
	var own []uimessage.Part
	for _, p := range reader.Parts {
		same := slices.IndexFunc(before, func(b uimessage.Part) bool {
			return b.Type == p.Type && (p.IsTool() && b.ToolCallID == p.ToolCallID || p.Data != nil && p.ID != "" && b.ID == p.ID)
		})
		if same < 0 {
			own = append(own, p)
			continue
		}
		if twice[p.ToolCallID] {
			continue
		}
		known := before[same]
		if p.Approval == nil {
			known.Approval = nil // asked and answered in the base; the transcript brings it back
		}
		if err := partDifference(p, known, old, t.told); err != nil {
			return err
		}
	}
	// The message of its own has an id and metadata of its own.
	return differences(view{Parts: own}, view{Parts: added}, old, t.told, twice)
}

// ours is the fold, for version 6 of what it knows; not ok if that cannot be told.
func (t *turn) ours(old bool) (uimessage.Message, bool) {
	if !old {
		return t.result, true
	}
	fold := uimessage.NewFold(t.base)
	for _, c := range t.sent {
		if c.Type == "reset-step" {
			return uimessage.Message{}, false // what version 6 shows twice then, the transcript takes back
		}
		if !slices.Contains(sevenOnly, c.Type) {
			fold.Apply(c)
		}
	}
	return fold.Message(), true
}

func (r reading) view() (v view, err error) {
	if r.Error != "" {
		return v, fmt.Errorf("the reader fails: %s", r.Error)
	}
	err = json.Unmarshal(r.Message, &v)
	return v, err
}

func lines(chunks []uimessage.Chunk) string {
	var b []byte
	for _, c := range chunks {
		b = append(c.AppendJSON(b), '\n')
	}
	return string(b)
}
