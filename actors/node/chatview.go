package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// What is on the screen cannot be taken back. So the terminal remembers what it
// has shown of an answer, compares that with what the answer is now, and writes
// only what goes beyond. A replay, a transcript and an answer that goes on after a
// crash are all the same then.

// transcript takes the stored conversation and shows what is new in it.
func (t *terminal) transcript(messages []json.RawMessage) {
	for _, raw := range messages {
		m, err := uimessage.ParseMessage(raw)
		if err != nil {
			continue
		}
		if t.asked != nil && t.asked.message == m.ID {
			t.asked = nil
		}
		text := textOf(m)
		t.stored = ""
		if m.Role == uimessage.Assistant {
			t.stored = text
		}
		switch {
		case m.ID == t.answer:
			t.show(text)
		case t.seen[m.ID]:
		case m.Role == uimessage.Assistant:
			t.answer, t.shown = m.ID, ""
			t.show(text)
		default:
			t.say("you: " + text)
			t.answer, t.shown = "", ""
		}
		t.seen[m.ID] = true
	}
	if t.request == "" {
		t.say("") // nothing goes on from there
	}
}

func textOf(m uimessage.Message) string {
	var text strings.Builder
	for _, p := range m.Parts {
		if p.Type == uimessage.TextPart {
			text.WriteString(p.Text)
		}
	}
	return text.String()
}

// resume takes over the request that the node names: ours, or one that it has
// made of ours after a crash, or somebody else's.
func (t *terminal) resume(f frame) {
	if f.ID != "" && f.ID != t.request {
		t.request, t.seq, t.base, t.text = f.ID, -1, "", ""
	}
}

// response shows an answer as it comes.
func (t *terminal) response(ctx context.Context, f frame) {
	if t.asked != nil && t.asked.request == f.ID {
		t.asked = nil
	}
	switch {
	case f.Error:
		t.say("(error: " + f.Body + ")")
		t.failed = true
	case !f.Done:
		t.resume(f)
		t.chunk(f)
	case f.Body != "":
		t.say("(" + f.Body + ")")
	}
	if !f.Done || f.ID != t.request {
		return
	}
	switch f.Outcome {
	case "recovering":
		return // it goes on under another id
	case "aborted":
		if t.midline {
			t.write(" ")
			t.midline = false
		}
		t.say("(stopped)")
	}
	t.finish(ctx)
}

func (t *terminal) chunk(f frame) {
	if f.Seq != nil {
		if *f.Seq <= t.seq {
			return // a replay
		}
		t.seq = *f.Seq
	}
	c, err := uimessage.ParseChunk([]byte(f.Body))
	if err != nil {
		return
	}
	switch c.Type {
	case "start":
		t.start(c.MessageID, f.Continuation)
	case "text-delta":
		t.text += c.Delta
		t.show(t.base + t.text)
	}
}

// start begins an answer, or goes on with the one that was begun last.
func (t *terminal) start(message string, continuation bool) {
	t.base, t.text = "", ""
	switch {
	case continuation && t.stored != "":
		t.base = t.stored
	case continuation:
		t.base = t.shown
	case message != t.answer || message == "":
		t.answer, t.shown = message, ""
		t.seen[message] = true
	}
}

// show writes what the screen does not have of an answer. If it did not go on as
// the screen has it (a crash took the last words, or it was tried again), that
// begins a new line, with the word where they part.
func (t *terminal) show(answer string) {
	same := common(t.shown, answer)
	switch {
	case same == len(answer):
		return // it catches up
	case t.shown == "":
		t.say("")
		t.write("agent: " + answer)
	case same == len(t.shown):
		t.write(answer[same:])
	default:
		t.say("")
		t.write("(instead of the last words:) " + answer[strings.LastIndexByte(answer[:same], ' ')+1:])
	}
	t.shown = answer
}

// common is how many bytes a and b begin with in common.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// finish ends an answer, and sends what was typed meanwhile.
func (t *terminal) finish(ctx context.Context) {
	t.say("")
	t.request, t.seq, t.base, t.text = "", -1, "", ""
	t.next(ctx)
}

// say writes text as lines of their own; an empty one only ends what was begun.
func (t *terminal) say(text string) {
	if t.midline {
		t.write("\n")
	}
	if text != "" {
		t.write(text + "\n")
	}
}

// write leaves out control characters: what others have written must not command
// the terminal.
func (t *terminal) write(text string) {
	if text == "" {
		return
	}
	fmt.Fprint(t.out, strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text))
	t.midline = !strings.HasSuffix(text, "\n")
}
