package aisdk

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// A generator makes up what a producer may write: mostly what fits to what it
// wrote before, now and then a duplicate, a stray id or the wrong order. Ids and
// names are few, so that chunks meet.
type generator struct {
	*rand.Rand
	open  map[string][]string // ids of open text and reasoning parts, by kind
	calls []*toolCall         // oldest first
	tail  []uimessage.Chunk   // the next chunks of a text or an input that has begun
	last  uimessage.Chunk
	made  int // ids so far
}

type toolCall struct {
	id, name string
	dynamic  bool
	approval string
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 7)), open: make(map[string][]string)}
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// chunk makes the next chunk up.
func (g *generator) chunk() uimessage.Chunk {
	switch {
	case g.last.Type != "" && g.chance(3):
		return g.last
	case len(g.tail) > 0 && g.chance(80):
		c := g.tail[0]
		g.tail = g.tail[1:]
		g.last = c
		return c
	}
	c := pick(g, makers...)(g)
	if g.chance(15) && describable[c.Type] {
		c.ProviderMetadata = g.metadata()
	}
	g.last = c
	return c
}

// describable are the kinds that carry provider metadata.
var describable = map[string]bool{
	"text-start": true, "text-delta": true, "text-end": true, "reasoning-start": true, "reasoning-delta": true, "reasoning-end": true,
	"file": true, "reasoning-file": true, "source-url": true, "source-document": true, "custom": true,
	"tool-input-start": true, "tool-input-available": true, "tool-input-error": true,
	"tool-approval-response": true, "tool-output-available": true, "tool-output-error": true,
}

// makers has the frequent kinds several times.
var makers = []func(*generator) uimessage.Chunk{
	(*generator).prose, (*generator).prose, (*generator).prose, (*generator).prose, (*generator).prose,
	(*generator).input, (*generator).input, (*generator).input, (*generator).input,
	(*generator).outcome, (*generator).outcome, (*generator).outcome,
	(*generator).approval, (*generator).approval,
	(*generator).step, (*generator).step,
	(*generator).whole, (*generator).whole,
	(*generator).data, (*generator).data,
	(*generator).frame,
}

func (g *generator) id(prefix string) string {
	if g.chance(70) {
		g.made++
	}
	return prefix + string(rune('a'+g.made%12))
}

func (g *generator) text() string {
	return pick(g, "", "Hello", " wörld", "\n\"quoted\" \\", "🙂\u2028", "tail of it", "{")
}

// prose begins, goes on with or ends a text or a reasoning, of which several may be open.
func (g *generator) prose() uimessage.Chunk {
	kind := pick(g, "text", "reasoning")
	open := g.open[kind]
	switch {
	case g.chance(1):
		return uimessage.Chunk{Type: kind + pick(g, "-delta", "-end"), ID: "stray"}
	case len(open) == 0 || g.chance(20):
		id := g.id("t")
		g.open[kind] = append(open, id)
		return uimessage.Chunk{Type: kind + "-start", ID: id}
	case g.chance(60):
		return uimessage.Chunk{Type: kind + "-delta", ID: pick(g, open...), Delta: g.text()}
	}
	at := g.IntN(len(open))
	id := open[at]
	kept := open[:0:0]
	for _, other := range open {
		if other != id {
			kept = append(kept, other)
		}
	}
	g.open[kind] = kept
	c := uimessage.Chunk{Type: kind + "-end", ID: id}
	if kind == "text" && g.chance(20) {
		c.Citations = json.RawMessage(`[{"url":"https://example.com"}]`)
	}
	return c
}

// call is one that was announced before, seldom one that was not.
func (g *generator) call() *toolCall {
	if len(g.calls) == 0 || g.chance(1) {
		return &toolCall{id: "stray", name: "search"}
	}
	// Rather one of the last: those are the open ones.
	from := max(0, len(g.calls)-3)
	if g.chance(15) {
		from = 0
	}
	return pick(g, g.calls[from:]...)
}

func (g *generator) newCall() *toolCall {
	t := &toolCall{id: g.id("c"), name: pick(g, "search", "pay", "web-fetch"), dynamic: g.chance(30)}
	g.calls = append(g.calls, t)
	return t
}

// input announces a call: at once, or piece by piece.
func (g *generator) input() uimessage.Chunk {
	if g.chance(15) { // once more, or the whole of one that has begun
		return g.announced(g.call(), pick(g, "tool-input-start", "tool-input-available", "tool-input-error"))
	}
	t := g.newCall()
	if g.chance(40) {
		return g.announced(t, pick(g, "tool-input-available", "tool-input-available", "tool-input-error"))
	}
	start := g.announced(t, "tool-input-start")
	whole := pick(g, `{"city":"Os\"lo","n":[1,-2.5e3,{"x":null,"ü":true}]}`, `{"a":{"b":"\u00e9\n"}}`, `"ls -la"`, `[1,false]`, `oops {`, ``)
	for len(whole) > 0 {
		n := 1 + g.IntN(len(whole))
		g.tail = append(g.tail, uimessage.Chunk{Type: "tool-input-delta", ToolCallID: t.id, Delta: validUTF8(whole[:n])})
		whole = whole[n:]
	}
	if g.chance(80) {
		g.tail = append(g.tail, g.announced(t, pick(g, "tool-input-available", "tool-input-available", "tool-input-available", "tool-input-error")))
	}
	return start
}

func validUTF8(s string) string { return string([]rune(s)) }

func (g *generator) announced(t *toolCall, kind string) uimessage.Chunk {
	c := uimessage.Chunk{Type: kind, ToolCallID: t.id, ToolName: t.name, Dynamic: t.dynamic && g.chance(95), ProviderExecuted: g.chance(15)}
	if kind != "tool-input-error" && g.chance(20) {
		c.Title = pick(g, "Search", "Züri")
	}
	if g.chance(15) {
		c.ToolMetadata = json.RawMessage(pick(g, `{"server":"s1"}`, `{"server":"s2","n":1}`))
	}
	switch kind {
	case "tool-input-start":
		c.InputEncoding = pick(g, "", "", "", "text", "json")
		return c
	case "tool-input-error":
		c.ErrorText = "bad input"
	}
	c.Input = json.RawMessage(pick(g, `{"city":"Oslo"}`, `{"a":[1,{"b":null}]}`, `{}`, `"{\"b\":2}"`, `"words"`, `null`, `[1]`, `5`, `""`))
	return c
}

func (g *generator) outcome() uimessage.Chunk {
	t := g.call()
	c := uimessage.Chunk{Type: "tool-output-available", ToolCallID: t.id, Dynamic: t.dynamic, ProviderExecuted: g.chance(15)}
	if g.chance(15) {
		c.ToolMetadata = json.RawMessage(`{"took":3}`)
	}
	switch {
	case g.chance(60):
		c.Output = json.RawMessage(pick(g, `"21°"`, `null`, `{"b":1,"a":[2.0,{"c":false}]}`, `[]`, `0`))
		c.Preliminary = g.chance(40)
	case g.chance(70):
		c.Type, c.ErrorText = "tool-output-error", pick(g, "upstream 500", "")
	default:
		return uimessage.Chunk{Type: "tool-output-denied", ToolCallID: t.id}
	}
	return c
}

func (g *generator) approval() uimessage.Chunk {
	t := g.call()
	if t.approval != "" && g.chance(60) {
		return uimessage.Chunk{Type: "tool-approval-response", ApprovalID: t.approval, Approved: g.chance(60), Reason: pick(g, "", "fine", "no"), ProviderExecuted: g.chance(10)}
	}
	t.approval = g.id("a")
	c := uimessage.Chunk{Type: "tool-approval-request", ApprovalID: t.approval, ToolCallID: t.id, Reason: pick(g, "", "costs money")}
	if g.chance(30) {
		c.Extra = map[string]json.RawMessage{"isAutomatic": json.RawMessage(`true`), "signature": json.RawMessage(`"sig"`), "approvalDescriptor": json.RawMessage(`{"kind":"pay"}`)}
	}
	return c
}

func (g *generator) step() uimessage.Chunk {
	return uimessage.Chunk{Type: pick(g, "start-step", "start-step", "step-start", "finish-step", "finish-step", "finish-step", "reset-step")}
}

// whole is a part that comes as one chunk.
func (g *generator) whole() uimessage.Chunk {
	c := uimessage.Chunk{Type: pick(g, "file", "reasoning-file", "source-url", "source-document", "custom", "steering-message")}
	switch c.Type {
	case "file", "reasoning-file":
		c.URL, c.MediaType = "data:image/png;base64,AA==", "image/png"
	case "source-url":
		c.SourceID, c.URL, c.Title = g.id("s"), "https://example.com", pick(g, "", "Example")
	case "source-document":
		c.SourceID, c.MediaType, c.Title, c.Filename = g.id("s"), "application/pdf", "Report", pick(g, "", "r.pdf")
	case "custom":
		c.Kind = "vendor.thing"
	default:
		c.ID, c.Parts = g.id("m"), json.RawMessage(`[{"type":"text","text":"rather this"}]`)
	}
	return c
}

func (g *generator) data() uimessage.Chunk {
	return uimessage.Chunk{
		Type: pick(g, "data-progress", "data-chart"), ID: pick(g, "", "1", "2"), Transient: g.chance(25),
		Data: json.RawMessage(pick(g, `{"pct":10}`, `{"pct":100,"l":[1,2]}`, `null`, `"x"`)),
	}
}

// frame is about the stream or the whole message.
func (g *generator) frame() uimessage.Chunk {
	switch {
	case g.chance(40):
		return uimessage.Chunk{Type: "message-metadata", MessageMetadata: g.metadata()}
	case g.chance(40):
		return uimessage.Chunk{Type: "start", MessageID: "another", MessageMetadata: g.metadata()}
	case g.chance(40):
		return uimessage.Chunk{Type: "finish", FinishReason: pick(g, "", "stop", "tool-calls"), MessageMetadata: g.metadata()}
	case g.chance(50):
		return uimessage.Chunk{Type: "brand-new", Extra: map[string]json.RawMessage{"x": json.RawMessage(`[1]`)}}
	case g.chance(60):
		return uimessage.Chunk{Type: "abort", Reason: pick(g, "", "user")}
	}
	return uimessage.Chunk{Type: "error", ErrorText: "boom"}
}

func (g *generator) metadata() json.RawMessage {
	return json.RawMessage(pick(g, `{"p":{"a":1}}`, `{"p":{"b":{"c":2}},"q":{"a":null}}`, `{"q":{"x":[1]}}`, `{}`))
}
