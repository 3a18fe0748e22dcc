package uimessage

import "encoding/json"

// A call never goes back to an earlier state, and its first outcome is final
// (a preliminary output is none).

func (s *slot) final() bool { return s.Settled() && !s.Preliminary }

func (f *Fold) newCall(c *Chunk, state string) *slot {
	p := Part{Type: toolPrefix + c.ToolName, ToolCallID: c.ToolCallID, ToolName: c.ToolName, State: state}
	if c.Dynamic {
		p.Type = DynamicTool
	}
	s := f.push(p)
	f.calls[c.ToolCallID] = s
	return s
}

// describe takes over what a chunk says of the call itself.
func (s *slot) describe(c *Chunk) {
	if c.Title != "" {
		s.Title = c.Title
	}
	if len(c.ToolMetadata) > 0 {
		s.ToolMetadata = c.ToolMetadata
	}
	s.ProviderExecuted = s.ProviderExecuted || c.ProviderExecuted
}

// endInput fixes the input of a call that leaves InputStreaming without having
// been told the whole input.
func (s *slot) endInput() {
	if s.State != InputStreaming {
		return
	}
	if s.live {
		s.settleText()
	}
	if len(s.RawInput) > 0 {
		s.setInput(s.RawInput)
	}
	s.InputEncoding = ""
}

func foldInputStart(f *Fold, c *Chunk) {
	if f.calls[c.ToolCallID] != nil {
		return
	}
	s := f.newCall(c, InputStreaming)
	if c.InputEncoding == "text" {
		s.InputEncoding = c.InputEncoding
	}
	s.describe(c)
	s.CallProviderMetadata = c.ProviderMetadata
}

func foldInput(f *Fold, c *Chunk) {
	s := f.calls[c.ToolCallID]
	switch {
	case s == nil:
		s = f.newCall(c, InputAvailable)
	case s.State == InputStreaming:
		s.State = InputAvailable
	case s.State == ApprovalRequested: // the input came after the question; the question stands
	default:
		return
	}
	s.takeInput(c)
	s.CallProviderMetadata = overlay(s.CallProviderMetadata, c.ProviderMetadata)
}

func (s *slot) takeInput(c *Chunk) {
	if s.live {
		s.settleText()
	}
	s.setInput(c.Input)
	s.describe(c)
}

func foldInputError(f *Fold, c *Chunk) {
	s := f.calls[c.ToolCallID]
	if s == nil {
		s = f.newCall(c, OutputError)
	} else if s.Settled() {
		return
	}
	s.takeInput(c)
	s.State, s.ErrorText = OutputError, c.ErrorText
	s.ResultProviderMetadata = overlay(s.ResultProviderMetadata, c.ProviderMetadata)
}

func foldApprovalRequest(f *Fold, c *Chunk) {
	s := f.calls[c.ToolCallID]
	if s == nil || s.Settled() || s.State == ApprovalResponded {
		return
	}
	s.endInput()
	s.State = ApprovalRequested
	s.Approval = requested(c)
}

func foldApprovalResponse(f *Fold, c *Chunk) {
	s := f.byApproval(c.ApprovalID)
	if s == nil || s.State != ApprovalRequested {
		return
	}
	s.State = ApprovalResponded
	s.Approval = s.Approval.answered(c.Approved, c.Reason)
	s.ProviderExecuted = s.ProviderExecuted || c.ProviderExecuted
	s.CallProviderMetadata = overlay(s.CallProviderMetadata, c.ProviderMetadata)
}

func (f *Fold) byApproval(id string) *slot {
	for _, s := range f.parts {
		if s.Approval != nil && s.Approval.ID == id && s.IsTool() {
			return s
		}
	}
	return nil
}

func foldDenied(f *Fold, c *Chunk) {
	s := f.calls[c.ToolCallID]
	if s == nil || s.Settled() || s.State == ApprovalResponded && s.Approval.yes() {
		return
	}
	s.settle(OutputDenied)
}

func (a *Approval) yes() bool { return a != nil && a.Approved != nil && *a.Approved }

func foldOutput(f *Fold, c *Chunk) {
	s := f.calls[c.ToolCallID]
	if s == nil || s.final() {
		return
	}
	if c.Type == "tool-output-error" {
		s.settle(OutputError)
		s.ErrorText = c.ErrorText
	} else {
		s.settle(OutputAvailable)
		s.Output, s.Preliminary = c.Output, c.Preliminary
	}
	s.describe(c)
	s.ResultProviderMetadata = overlay(s.ResultProviderMetadata, c.ProviderMetadata)
}

// settle moves the call to an outcome. Every settled call has an input:
// providers refuse a transcript without.
func (s *slot) settle(state string) {
	s.endInput()
	if len(s.Input) == 0 {
		s.Input = emptyObject
	}
	s.State, s.Output, s.Preliminary, s.ErrorText = state, nil, false, ""
}

// Call returns the part of a call.
func (f *Fold) Call(id string) (Part, bool) {
	s := f.calls[id]
	if s == nil {
		return Part{}, false
	}
	return s.part(), true
}

// Change has change alter the part of a call, if there is one: by what did not come
// as a chunk.
func (f *Fold) Change(id string, change func(*Part)) {
	if s := f.calls[id]; s != nil {
		s.endInput()
		change(&s.Part)
	}
}

// Final reports whether p is a call with its last outcome.
func (p Part) Final() bool { return p.Settled() && !p.Preliminary }

// Settle gives the call p an outcome: OutputAvailable with an output, or OutputError
// with a text.
func (p *Part) Settle(state string, output json.RawMessage, text string) {
	s := slot{Part: *p}
	s.settle(state)
	*p = s.Part
	if state == OutputAvailable {
		p.Output = output
	} else {
		p.ErrorText = text
	}
}

// Decide notes a person's decision on the call p. A denied call is settled.
func (p *Part) Decide(approved bool, reason string) {
	a := p.Approval
	if a == nil {
		a = &Approval{ID: p.ToolCallID}
	}
	if approved {
		p.State = ApprovalResponded
	} else {
		p.Settle(OutputDenied, nil, "")
	}
	p.Approval = a.answered(approved, reason)
}
