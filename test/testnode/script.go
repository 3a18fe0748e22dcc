package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// scripts are the answers of ChatAgent by the word behind "script:".
var scripts = map[string]func(*player) error{
	"text":          func(p *player) error { return p.step(0, p.text("Hello", " from", " the fake model.")) },
	"slow":          func(p *player) error { return p.step(120, p.text(numbered("chunk", 12)...)) },
	"veryslow":      func(p *player) error { return p.step(150, p.text(numbered("chunk", 40)...)) },
	"paced":         paced,
	"prestream":     prestream,
	"prestreamnone": func(p *player) error { return p.sleep(900) },
	"none":          func(*player) error { return nil },
	"nobody":        func(p *player) error { p.turn.Stream.Empty(); return nil },
	"throw":         func(*player) error { return errors.New("onChatMessage threw") },
	"plain":         plain,
	"modelerror":    modelError,
	"reasoning":     reasoning,
	"abortchunk":    raw("start", "start-step", `text-start id=t`, `text-delta id=t delta=cut`, `abort reason="model aborted"`),
	"streamthrow":   streamThrow,
	"data":          dataParts,
	"exotic":        exotic,
	"recite":        recite,
}

var scriptName = regexp.MustCompile(`script:([\w-]+)`)

// script answers by the last user message.
func script(ctx context.Context, turn *actors.Turn) error {
	text := lastUserText(turn.Messages)
	p := &player{ctx: ctx, turn: turn}
	if m := scriptName.FindStringSubmatch(text); m != nil {
		if play := scripts[m[1]]; play != nil {
			return play(p)
		}
		if _, ok := toolScripts[m[1]]; ok || m[1] == "offered" {
			_, err := turn.Generate(ctx, actors.Generation{Model: toolModel(), Tools: testTools()})
			return err
		}
	}
	return p.step(0, p.text("echo:"+text))
}

func lastUserText(messages []uimessage.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != uimessage.User {
			continue
		}
		var text strings.Builder
		for _, p := range messages[i].Parts {
			if p.Type == "text" {
				text.WriteString(p.Text)
			}
		}
		return text.String()
	}
	return ""
}

// player writes a script's chunks at its pace.
type player struct {
	ctx   context.Context
	turn  *actors.Turn
	delay int // milliseconds
}

// timed is a chunk that comes after a delay, or at once, or when it is released.
type timed struct {
	chunk uimessage.Chunk
	wait  bool
	hold  string
}

func (p *player) sleep(ms int) error {
	return sleep(p.ctx, ms)
}

func (p *player) write(chunks ...timed) error {
	for _, c := range chunks {
		if c.wait && p.delay > 0 {
			if err := p.sleep(p.delay); err != nil {
				return err
			}
		}
		if c.hold != "" {
			// Behind a command that is durable all is that was said before.
			if err := p.turn.Self.AbortRequest(p.ctx, "nobody's"); err != nil {
				return err
			}
			if err := held.wait(p.ctx, c.hold); err != nil {
				return err
			}
		}
		if err := p.turn.Stream.Chunk(c.chunk); err != nil {
			return err
		}
	}
	return nil
}

// step plays one whole step: start at once, then the parts, then the end.
func (p *player) step(delay int, parts []timed) error {
	p.delay = delay
	begin := []timed{{chunk: uimessage.Chunk{Type: "start"}}, {chunk: uimessage.Chunk{Type: "start-step"}, wait: true}}
	end := []timed{{chunk: uimessage.Chunk{Type: "finish-step"}, wait: true}, {chunk: uimessage.Chunk{Type: "finish", FinishReason: "stop"}}}
	if len(parts) > 0 {
		parts[0].wait = false // comes together with start-step
	}
	if err := p.write(begin...); err != nil {
		return err
	}
	if err := p.write(parts...); err != nil {
		return err
	}
	return p.write(end...)
}

func (p *player) text(deltas ...string) []timed {
	const id = "t1"
	parts := []timed{{chunk: uimessage.Chunk{Type: "text-start", ID: id}, wait: true}}
	for _, d := range deltas {
		parts = append(parts, timed{chunk: uimessage.Chunk{Type: "text-delta", ID: id, Delta: d}, wait: true})
	}
	return append(parts, timed{chunk: uimessage.Chunk{Type: "text-end", ID: id}, wait: true})
}

func numbered(word string, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("%s%d ", word, i)
	}
	return words
}

func prestream(p *player) error {
	if err := p.sleep(900); err != nil {
		return err
	}
	return p.step(100, p.text("late", " start")) // long enough to accept the offer on a busy machine
}

func plain(p *player) error {
	for i, s := range []string{"Plain ", "text ", "reply."} {
		if i > 0 {
			if err := p.sleep(40); err != nil {
				return err
			}
		}
		if _, err := p.turn.Stream.Write([]byte(s)); err != nil {
			return err
		}
	}
	return nil
}

// recite says the conversation that it was given, in JSON.
func recite(p *player) error {
	var list [][]byte
	for _, m := range p.turn.Messages {
		list = append(list, m.AppendJSON(nil))
	}
	return p.step(0, p.text(string(uimessage.AppendList(nil, list))))
}

func modelError(p *player) error {
	parts := append([]timed{{chunk: uimessage.Chunk{Type: "start-step"}}}, p.text("partial")...)
	return p.write(append(parts, timed{chunk: uimessage.Chunk{Type: "error", ErrorText: "An error occurred."}})...)
}

func reasoning(p *player) error {
	parts := []timed{
		{chunk: uimessage.Chunk{Type: "reasoning-start", ID: "r1", ProviderMetadata: json.RawMessage(`{"fake":{"a":1}}`)}},
		{chunk: uimessage.Chunk{Type: "reasoning-delta", ID: "r1", Delta: "Think"}},
		{chunk: uimessage.Chunk{Type: "reasoning-delta", ID: "r1", Delta: "ing."}},
		{chunk: uimessage.Chunk{Type: "reasoning-end", ID: "r1", ProviderMetadata: json.RawMessage(`{"fake":{"signature":"sig"}}`)}},
		{chunk: uimessage.Chunk{Type: "source-url", SourceID: "s1", URL: "https://example.com/a", Title: "A"}},
		{chunk: uimessage.Chunk{Type: "source-document", SourceID: "s2", MediaType: "application/pdf", Title: "Doc", Filename: "doc.pdf"}},
		{chunk: uimessage.Chunk{Type: "file", MediaType: "image/png", URL: "data:image/png;base64,iVBORw0KGgo="}},
	}
	return p.step(0, append(parts, p.text("Answer.")...))
}

func streamThrow(p *player) error {
	for _, c := range []uimessage.Chunk{{Type: "start"}, {Type: "text-start", ID: "t"}, {Type: "text-delta", ID: "t", Delta: "abc"}} {
		if err := p.turn.Stream.Chunk(c); err != nil {
			return err
		}
		if err := p.sleep(20); err != nil {
			return err
		}
	}
	return actors.Errorf("byte stream broke")
}
