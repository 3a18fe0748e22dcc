package uimessage

import "encoding/json"

// The rules of the guard, one for each kind of chunk that has any (see the
// table of kinds). A rule may rewrite the chunk.

// admitStart lets one start through. A second one (of merged streams) would make
// observers begin anew, so only its metadata goes out.
func admitStart(g *Guard, c *Chunk) (drop bool, err error) {
	if g.started {
		*c = Chunk{Type: "message-metadata", MessageMetadata: c.MessageMetadata}
		return len(c.MessageMetadata) == 0, nil
	}
	g.started = true
	switch {
	case g.continuation:
		c.MessageID = ""
	case c.MessageID == "" || len(c.MessageID) > maxID:
		c.MessageID = g.MessageID
	default:
		g.MessageID = c.MessageID
	}
	return false, nil
}

// admitStep sends the name that clients know; they ignore the older one.
func admitStep(g *Guard, c *Chunk) (drop bool, err error) {
	c.Type = "start-step"
	g.step++
	return false, nil
}

// admitReset forgets the current step. In a continuation that has not begun a
// step of its own, clients would drop parts of the base: nothing is sent then.
func admitReset(g *Guard, _ *Chunk) (drop bool, err error) {
	if g.continuation && g.step == 0 {
		return true, nil
	}
	clear(g.text)
	clear(g.reasoning)
	for id, t := range g.calls {
		t.open = false // clients forget the inputs of earlier steps, too
		switch g.step {
		case t.step:
			delete(g.calls, id)
		case t.heard:
			t.heard = unheard
		}
	}
	for approval, id := range g.approvals {
		if g.calls[id] == nil {
			delete(g.approvals, approval)
		}
	}
	return false, nil
}

// admitStepEnd lets the end of a step wait for nobody: AI SDK 6 closes there what
// another of the merged streams still writes to, and fails on its next delta. No
// part shows that a step has finished, so nothing is sent then.
func admitStepEnd(g *Guard, _ *Chunk) (drop bool, err error) {
	return len(g.text)+len(g.reasoning) > 0, nil
}

// admitFinish moves the finish reason into the message's metadata, where clients
// look for it. An author's own finishReason wins.
func admitFinish(_ *Guard, c *Chunk) (drop bool, err error) {
	if c.FinishReason == "" {
		return false, nil
	}
	reason := append(AppendString([]byte(`{"finishReason":`), c.FinishReason), '}')
	c.FinishReason = ""
	c.MessageMetadata = merge(json.RawMessage(reason), c.MessageMetadata)
	return false, nil
}

func admitError(*Guard, *Chunk) (drop bool, err error) { return true, ErrInBand }

// open is the set of ids that a text-… or reasoning-… chunk is about.
func (g *Guard) open(c *Chunk) map[string]struct{} {
	if proseOf(c) == TextPart {
		return g.text
	}
	return g.reasoning
}

func admitOpen(g *Guard, c *Chunk) (drop bool, err error) {
	g.open(c)[c.ID] = struct{}{}
	return false, nil
}

func admitDelta(g *Guard, c *Chunk) (drop bool, err error) {
	if _, ok := g.open(c)[c.ID]; !ok {
		return true, &SequenceError{c.Type, c.ID, "no part of this id is open"}
	}
	return false, nil
}

func admitEnd(g *Guard, c *Chunk) (drop bool, err error) {
	drop, err = admitDelta(g, c)
	delete(g.open(c), c.ID)
	return drop, err
}

func (g *Guard) newCall(c *Chunk, state string) *call {
	p := Part{
		Type: toolPrefix + c.ToolName, ToolCallID: c.ToolCallID, ToolName: c.ToolName, Title: c.Title, Input: c.Input,
		ProviderExecuted: c.ProviderExecuted, CallProviderMetadata: c.ProviderMetadata, ToolMetadata: c.ToolMetadata,
	}
	if c.Dynamic {
		p.Type = DynamicTool
	}
	t := &call{part: p, state: state, step: g.step, heard: g.step}
	g.calls[c.ToolCallID] = t
	return t
}

func unknownCall(c *Chunk) error {
	return &SequenceError{c.Type, c.ToolCallID, "no call of this id was announced"}
}

// admitInputStart takes an announcement of a call that is known for a replay.
func admitInputStart(g *Guard, c *Chunk) (drop bool, err error) {
	if g.calls[c.ToolCallID] != nil {
		return true, nil
	}
	g.newCall(c, InputStreaming).open = true
	return false, nil
}

// admitInputDelta drops what clients have no use for any more: the call has its
// input, or its announcement was dropped or forgotten.
func admitInputDelta(g *Guard, c *Chunk) (drop bool, err error) {
	t := g.calls[c.ToolCallID]
	if t == nil {
		return true, unknownCall(c)
	}
	return t.state != InputStreaming || !t.open, nil
}

func admitInput(g *Guard, c *Chunk) (drop bool, err error) {
	t := g.calls[c.ToolCallID]
	switch {
	case t == nil:
		t = g.newCall(c, InputAvailable)
	case t.state == InputStreaming:
		t.state = InputAvailable
	case t.state == ApprovalRequested && !t.hasInput:
		// Clients fall back to input-available, so the question goes out again.
		t.state, g.owed = InputAvailable, t.request
	default:
		return true, nil
	}
	t.hasInput = true
	if t.heard == unheard {
		t.heard = g.step
	}
	t.named(c)
	return false, nil
}

func admitInputError(g *Guard, c *Chunk) (drop bool, err error) {
	t := g.calls[c.ToolCallID]
	if t == nil {
		t = g.newCall(c, OutputError)
	} else if t.state == OutputAvailable || t.final() {
		return true, nil
	}
	t.state = OutputError
	if t.step != g.step { // clients look for the call in the current step only, and would make another
		*c = Chunk{
			Type: "tool-output-error", ToolCallID: c.ToolCallID, ErrorText: c.ErrorText,
			ProviderExecuted: c.ProviderExecuted, ProviderMetadata: c.ProviderMetadata, ToolMetadata: c.ToolMetadata,
		}
		return false, nil
	}
	t.named(c)
	return false, nil
}

// named gives c the tool of the call that it is about: clients would take over
// another name, or make another part for the other kind of tool.
func (t *call) named(c *Chunk) {
	c.ToolName, c.Dynamic = t.part.Tool(), t.part.Type == DynamicTool
}

func admitApprovalRequest(g *Guard, c *Chunk) (drop bool, err error) {
	t := g.calls[c.ToolCallID]
	switch {
	case t == nil:
		return true, unknownCall(c)
	case t.state == OutputAvailable, t.final(), t.state == ApprovalResponded:
		return true, nil
	}
	if other, used := g.approvals[c.ApprovalID]; used && other != c.ToolCallID {
		return true, &SequenceError{c.Type, c.ApprovalID, "this approval was asked for another call"}
	}
	if t.request != nil {
		delete(g.approvals, t.request.ApprovalID) // the new question takes its place in the part
	}
	request := *c
	t.state, t.request = ApprovalRequested, &request
	g.approvals[c.ApprovalID] = c.ToolCallID
	return false, nil
}

func admitApprovalResponse(g *Guard, c *Chunk) (drop bool, err error) {
	t := g.calls[g.approvals[c.ApprovalID]]
	if t == nil {
		return true, &SequenceError{c.Type, c.ApprovalID, "no approval of this id was asked for"}
	}
	if t.state != ApprovalRequested {
		return true, nil
	}
	t.state, t.approved = ApprovalResponded, c.Approved
	return false, nil
}

func admitDenied(g *Guard, c *Chunk) (drop bool, err error) {
	t := g.calls[c.ToolCallID]
	switch {
	case t == nil:
		return true, unknownCall(c)
	case t.state == OutputAvailable, t.final(), t.state == ApprovalResponded && t.approved:
		return true, nil
	}
	t.state = OutputDenied
	return false, nil
}

func admitOutput(g *Guard, c *Chunk) (drop bool, err error) {
	t := g.calls[c.ToolCallID]
	switch {
	case t == nil:
		return true, unknownCall(c)
	case t.final():
		return true, nil
	case c.Type == "tool-output-error":
		t.state = OutputError
	default:
		t.state, t.preliminary = OutputAvailable, c.Preliminary
	}
	return false, nil
}
