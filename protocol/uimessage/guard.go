package uimessage

import "errors"

// ErrInBand is returned by Guard.Admit for an error chunk. Such a chunk is never
// sent as content: the caller ends the turn and tells clients in an error frame.
var ErrInBand = errors.New("uimessage: error chunk in the stream")

// A Guard is the light companion of one stream: it sees each chunk before it
// gets its number and knows just enough (what is open, how far each call is) to
// let out only what every client takes. It does not build parts.
//
// A Guard belongs to one goroutine.
type Guard struct {
	// MessageID is the id that the message is stored under: the base's, until
	// the producer's own start chunk names another one (new messages only).
	MessageID string

	continuation bool
	extended     bool // a page that resumes goes on with the base that it shows
	started      bool
	step         int                 // start-steps so far
	text         map[string]struct{} // ids of open text parts
	reasoning    map[string]struct{} // ids of open reasoning parts
	calls        map[string]*call
	approvals    map[string]string // approval id -> call id
	owed         *Chunk            // goes right behind the chunk just admitted
}

// A call is what the guard knows of one tool call.
type call struct {
	part        Part // as it was announced
	state       string
	step        int  // of this stream; for a call of the base lastOfBase or ofBase
	heard       int  // step in which this stream has announced it; unheard if it has not
	open        bool // takes deltas of its input
	hasInput    bool // the whole input was announced
	approved    bool
	preliminary bool
	request     *Chunk // the last approval request
}

const (
	unheard    = -1
	lastOfBase = -1 // in the base's last step, which goes on until the stream's first start-step
	ofBase     = -2
)

func (t *call) final() bool {
	switch t.state {
	case OutputAvailable:
		return !t.preliminary
	case OutputError, OutputDenied:
		return true
	}
	return false
}

// NewGuard guards the stream of a new message (base is empty but for its id) or
// a continuation of the message base.
func NewGuard(base Message, continuation bool) *Guard {
	g := &Guard{
		MessageID:    base.ID,
		continuation: continuation,
		text:         make(map[string]struct{}),
		reasoning:    make(map[string]struct{}),
		calls:        make(map[string]*call),
		approvals:    make(map[string]string),
	}
	last := lastStep(base.Parts)
	for i, p := range base.Parts {
		if !p.IsTool() {
			continue
		}
		t := &call{part: p, state: p.State, step: ofBase, heard: unheard, hasInput: len(p.Input) > 0 && p.State != InputStreaming, preliminary: p.Preliminary}
		if i >= last {
			t.step = lastOfBase
		}
		if p.Approval != nil {
			t.approved = p.Approval.yes()
			g.approvals[p.Approval.ID] = p.ToolCallID
			request := p.request()
			t.request = &request
		}
		g.calls[p.ToolCallID] = t
		g.extended = g.extended || p.State == InputStreaming || p.State == ApprovalResponded || p.State == InputAvailable && p.ProviderExecuted
	}
	return g
}

// lastStep returns where the parts of the last step begin.
func lastStep(parts []Part) int {
	i := len(parts)
	for i > 0 && parts[i-1].Type != StepStart {
		i--
	}
	return i
}

// Admit decides on the next chunk of the stream: out is what is to be sent in
// its place, drop says that nothing is. An error means that the stream is
// broken, since clients would fail on the chunk: a *SequenceError that names
// the id, or ErrInBand.
//
// Admit takes one chunk for one. A stream that may need more (a start before its
// first chunk, a call of the base that outputs refer to) goes through Pass.
func (g *Guard) Admit(c Chunk) (out Chunk, drop bool, err error) {
	g.owed = nil
	// Nearly all chunks are deltas. Going through the table would put them on the heap.
	switch c.Type {
	case "text-delta":
		if _, ok := g.text[c.ID]; ok {
			return c, false, nil
		}
	case "reasoning-delta":
		if _, ok := g.reasoning[c.ID]; ok {
			return c, false, nil
		}
	}
	return g.admitByKind(c)
}

func (g *Guard) admitByKind(c Chunk) (out Chunk, drop bool, err error) {
	if g.NeedsStart(c) {
		return c, true, &SequenceError{Chunk: c.Type, ID: c.ID + c.ToolCallID, Reason: "the stream has no start chunk"}
	}
	if k := kindOf(c.Type); k.admit != nil {
		drop, err = k.admit(g, &c)
	}
	return c, drop, err
}

// NeedsStart reports whether a start chunk has to be admitted before c.
func (g *Guard) NeedsStart(c Chunk) bool {
	return !g.started && c.Type != "start" && c.Type != "error"
}

// Start returns the start chunk of this stream.
func (g *Guard) Start() Chunk {
	c := Chunk{Type: "start"}
	if !g.continuation {
		c.MessageID = g.MessageID
	}
	return c
}

// Pass appends to dst everything that is to be sent for c, in order, and
// returns the extended slice: a missing start, a missing announcement of the
// call that c is about, c as Admit rewrites it, and what has to follow. Errors
// are those of Admit; what dst got before the error may be sent.
func (g *Guard) Pass(dst []Chunk, c Chunk) ([]Chunk, error) {
	if g.NeedsStart(c) {
		out, _, _ := g.Admit(g.Start())
		dst = append(dst, out)
	}
	return g.pass(dst, c)
}

func (g *Guard) pass(dst []Chunk, c Chunk) ([]Chunk, error) {
	out, drop, err := g.Admit(c)
	if err != nil {
		return dst, err
	}
	if !drop {
		dst = append(g.announce(dst, &out), out)
	}
	if owed := g.owed; owed != nil {
		return g.pass(dst, *owed)
	}
	return dst, nil
}

// announce appends what a client has to hear before the admitted c if c is about
// a call that only the base knows. A page begins a message of its own for most
// continuations, and fails on the output of an unknown call. One that goes on
// with the base takes the second announcement for an update, which c at once
// moves on, or for another call if a step has begun since; it is spared that.
// Without c an announcement would undo what the call has reached, so a
// producer's own is dropped (admitInput).
func (g *Guard) announce(dst []Chunk, c *Chunk) []Chunk {
	id := c.ToolCallID
	switch c.Type {
	case "tool-output-available", "tool-output-error", "tool-output-denied", "tool-approval-request":
	case "tool-approval-response":
		id = g.approvals[c.ApprovalID]
	default:
		return dst
	}
	t := g.calls[id]
	if t == nil || t.heard != unheard || g.extended && (g.step > 0 || t.step != lastOfBase) {
		return dst
	}
	t.heard = g.step
	dst = append(dst, t.part.announce("tool-input-available"))
	if c.Type == "tool-approval-response" && t.request != nil {
		dst = append(dst, *t.request)
	}
	return dst
}

// announce is the chunk that introduces p with its whole input, or without any
// (tool-input-start).
func (p *Part) announce(kind string) Chunk {
	c := Chunk{
		Type: kind, ToolCallID: p.ToolCallID, ToolName: p.Tool(), Title: p.Title,
		Dynamic: p.Type == DynamicTool, ProviderExecuted: p.ProviderExecuted,
		ProviderMetadata: p.CallProviderMetadata, ToolMetadata: p.ToolMetadata,
	}
	if kind == "tool-input-start" {
		c.InputEncoding = p.InputEncoding
		return c
	}
	c.Input = p.Input
	if len(p.RawInput) > 0 {
		c.Input = p.RawInput
	}
	return c
}

// Fact says how soon an admitted chunk has to be on disk.
func (g *Guard) Fact(c Chunk) Urgency { return c.urgency() }
