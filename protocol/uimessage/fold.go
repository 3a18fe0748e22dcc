package uimessage

import (
	"slices"
	"strings"
)

// A Fold builds a message out of chunks, as the AI SDK's clients do
// (processUIMessageStream), with what a store needs on top: tool parts keep
// their toolName, inputs are normalized, answered calls stay answered. It never
// fails: what it cannot use it leaves out.
//
// A Fold belongs to one goroutine.
type Fold struct {
	head  Message // without parts
	parts []*slot
	// open holds the text and reasoning parts that may get deltas, by the id
	// that the stream gave them.
	open map[proseID]*slot
	// calls holds the tool parts by call id.
	// Invariant: every slot in open or calls is in parts.
	calls map[string]*slot
	floor int // parts of the base, which reset-step must leave alone
}

// A slot is a part in the making. While buf is in use it holds Text, or the raw
// input of a call that is InputStreaming.
type slot struct {
	Part
	buf  strings.Builder
	live bool // buf is in use
	held bool // in Fold.open
}

type proseID struct{ part, id string }

// NewFold starts from base: the empty message of a new turn, or the stored
// message that a continuation goes on with. A base without role is the
// assistant's.
func NewFold(base Message) *Fold {
	if base.Role == "" {
		base.Role = Assistant
	}
	f := &Fold{
		head:  base,
		parts: make([]*slot, len(base.Parts)),
		open:  make(map[proseID]*slot),
		calls: make(map[string]*slot),
		floor: len(base.Parts),
	}
	f.head.Parts = nil
	for i, p := range base.Parts {
		f.parts[i] = &slot{Part: p}
		if p.IsTool() {
			f.calls[p.ToolCallID] = f.parts[i]
		}
	}
	return f
}

// Apply folds one chunk.
func (f *Fold) Apply(c Chunk) {
	switch c.Type {
	case "text-delta", "reasoning-delta", "tool-input-delta": // not through the table, which would put c on the heap
		foldDelta(f, &c)
	default:
		f.applyByKind(c)
	}
}

func (f *Fold) applyByKind(c Chunk) {
	if k := kindOf(c.Type); k.fold != nil {
		k.fold(f, &c)
	}
}

// Delta folds the joined text of a run of deltas of one kind (text-delta,
// reasoning-delta or tool-input-delta) and one id, as Apply would fold them one
// by one.
func (f *Fold) Delta(kind, id, text string) {
	switch kind {
	case "text-delta":
		f.prose(TextPart, id).write(text)
	case "reasoning-delta":
		f.prose(ReasoningPart, id).write(text)
	case "tool-input-delta":
		if s := f.calls[id]; s != nil && s.State == InputStreaming {
			s.write(text)
		}
	}
}

// ID is the id of the message as it stands: the base's, until a start chunk has
// named another one.
func (f *Fold) ID() string { return f.head.ID }

// Message returns what has been folded so far. The caller may keep it: later
// chunks do not change it.
func (f *Fold) Message() Message {
	m := f.head
	m.Parts = make([]Part, len(f.parts))
	for i, s := range f.parts {
		m.Parts[i] = s.part()
	}
	return m
}

func (f *Fold) push(p Part) *slot {
	s := &slot{Part: p}
	f.parts = append(f.parts, s)
	return s
}

// prose returns the part that text of this id goes to. Streams that go on where
// another one was cut off may leave out the start: then it is the last part of
// that type that is still streaming and that nobody else writes to, else a new one.
func (f *Fold) prose(part, id string) *slot {
	if s := f.open[proseID{part, id}]; s != nil {
		return s
	}
	if s := f.unfinished(part); s != nil {
		return f.hold(s, id)
	}
	return f.hold(f.push(newProse(part, id)), id)
}

func newProse(part, id string) Part {
	p := Part{Type: part, State: Streaming}
	if part == ReasoningPart {
		p.ID = id
	}
	return p
}

func (f *Fold) hold(s *slot, id string) *slot {
	key := proseID{s.Type, id}
	if old := f.open[key]; old != nil {
		old.held = false
	}
	s.held = true
	f.open[key] = s
	return s
}

func (f *Fold) unfinished(part string) *slot {
	for _, s := range slices.Backward(f.parts) {
		if s.Type == part && s.State == Streaming && !s.held {
			return s
		}
	}
	return nil
}

// write appends to the text of the part, or to the raw input of the call.
func (s *slot) write(text string) {
	if text == "" {
		return
	}
	if !s.live {
		s.live = true
		if s.IsTool() {
			var raw string
			unquote(s.RawInput, &raw)
			s.buf.WriteString(raw)
		} else {
			s.buf.WriteString(s.Text)
		}
	}
	s.buf.WriteString(text)
}

// part returns the part as it is now. Strings of a Builder never change, so
// the copy shares the text that has been written so far.
func (s *slot) part() Part {
	p := s.Part
	switch {
	case !s.live:
	case !p.IsTool():
		p.Text = s.buf.String()
	default:
		raw := s.buf.String()
		p.RawInput = AppendString(nil, raw)
		p.Input = p.RawInput
		if p.InputEncoding != "text" {
			p.Input = completeJSON(raw)
		}
	}
	return p
}

// settleText ends the use of buf.
func (s *slot) settleText() {
	s.Part = s.part()
	s.live, s.buf = false, strings.Builder{}
}
