package node

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// transcript takes over the stored conversation and shows what is new in it.
func (t *terminal) transcript(messages []json.RawMessage) {
	known := len(t.messages)
	t.messages = messages
	if t.request != "" {
		return // the stream shows it
	}
	for _, raw := range messages[min(known, len(messages)):] {
		m, err := uimessage.ParseMessage(raw)
		if err != nil {
			continue
		}
		who := "agent"
		if m.Role == uimessage.User {
			who = "you  "
		}
		fmt.Fprintf(t.out, "%s: %s\n", who, textOf(m))
	}
}

func textOf(m uimessage.Message) string {
	var text string
	for _, p := range m.Parts {
		if p.Type == uimessage.TextPart {
			text += p.Text
		}
	}
	return text
}

// response shows an answer as it comes. A replay brings again what is on the
// screen already: only what goes beyond is written.
func (t *terminal) response(ctx context.Context, f termFrame) {
	switch {
	case f.Error:
		fmt.Fprintf(t.out, "\n(error: %s)\n", f.Body)
		if f.Done {
			t.over(ctx)
		}
	case f.Done:
		if f.Outcome == "aborted" {
			fmt.Fprint(t.out, " (stopped)")
		}
		if f.ID == t.request {
			t.keep()
			fmt.Fprintln(t.out)
			t.over(ctx)
		}
	default:
		c, err := uimessage.ParseChunk([]byte(f.Body))
		if err != nil {
			return
		}
		if c.Type == "start" {
			t.text = ""
			if f.ID != t.request {
				t.request, t.shown = f.ID, 0
			}
		}
		if c.Type == "text-delta" {
			t.text += c.Delta
		}
		if len(t.text) > t.shown {
			fmt.Fprint(t.out, t.text[t.shown:])
			t.shown = len(t.text)
		}
	}
}

// keep adds the answer to the list that goes along with the next question. The
// node knows better; the transcript that it sends replaces ours.
func (t *terminal) keep() {
	if t.text == "" {
		return
	}
	m := uimessage.Message{ID: "shown-" + t.request, Role: uimessage.Assistant, Parts: []uimessage.Part{{Type: uimessage.TextPart, Text: t.text, State: "done"}}}
	if raw, err := json.Marshal(m); err == nil {
		t.messages = append(t.messages, raw)
	}
}

// over ends an answer and sends what was typed meanwhile.
func (t *terminal) over(ctx context.Context) {
	t.request, t.text, t.shown = "", "", 0
	if len(t.unsent) > 0 && t.conn != nil {
		line := t.unsent[0]
		t.unsent = t.unsent[1:]
		t.ask(ctx, line)
	}
}
