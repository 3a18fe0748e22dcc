package uimessage

import (
	"fmt"
	"slices"
)

// A client is what the requester of a stream does (processUIMessageStream of the
// AI SDK, of versions 6 and 7 the stricter one): above all, it fails where the
// AI SDK throws. It is written without the fold's code, to judge guard and fold;
// test/aisdk asks the AI SDK itself.
type client struct {
	message Message
	text    map[string]int // places of open parts
	think   map[string]int
	inputs  map[string]string // raw inputs in the making
	twice   bool              // a call has, or had until a reset-step, another part in a later step
}

func newClient(base Message) *client {
	c := &client{message: base}
	c.message.Parts = slices.Clone(base.Parts)
	c.reset()
	return c
}

func (c *client) reset() {
	c.text, c.think, c.inputs = map[string]int{}, map[string]int{}, map[string]string{}
}

func (c *client) apply(k Chunk) error {
	switch k.Type {
	case "start":
		if k.MessageID != "" {
			c.message.ID = k.MessageID
		}
	case "start-step":
		c.push(Part{Type: StepStart})
	case "finish-step": // version 6
		c.text, c.think = map[string]int{}, map[string]int{}
	case "reset-step":
		c.message.Parts = c.message.Parts[:c.step()]
		c.reset()
	case "text-start":
		c.text[k.ID] = c.push(Part{Type: TextPart, State: Streaming})
	case "reasoning-start":
		c.think[k.ID] = c.push(Part{Type: ReasoningPart, ID: k.ID, State: Streaming})
	case "text-delta", "text-end":
		return c.grow(c.text, k)
	case "reasoning-delta", "reasoning-end":
		return c.grow(c.think, k)
	case "error":
		return fmt.Errorf("error chunk as content")
	case "file", "reasoning-file", "source-url", "source-document", "custom", "steering-message":
		c.push(Part{Type: k.Type, ID: k.ID, URL: k.URL, MediaType: k.MediaType, Title: k.Title, SourceID: k.SourceID, Filename: k.Filename, Kind: k.Kind, Parts: k.Parts})
	default:
		if k.isData() {
			c.data(k)
			return nil
		}
		return c.tool(k)
	}
	return nil
}

func (c *client) push(p Part) int {
	c.message.Parts = append(c.message.Parts, p)
	return len(c.message.Parts) - 1
}

// extends is the AI SDK's rule by which a page that resumes goes on with the
// message that it shows; else it begins another one.
func extends(m Message) bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool {
		return p.IsTool() && (p.State == InputStreaming || p.State == ApprovalResponded || p.State == InputAvailable && p.ProviderExecuted)
	})
}

// step is where the parts of the current step begin.
func (c *client) step() int {
	i := len(c.message.Parts)
	for i > 0 && c.message.Parts[i-1].Type != StepStart {
		i--
	}
	return i
}

func (c *client) grow(open map[string]int, k Chunk) error {
	at, ok := open[k.ID]
	if !ok {
		return fmt.Errorf("%s for missing part %q", k.Type, k.ID)
	}
	p := &c.message.Parts[at]
	if k.Type == "text-end" || k.Type == "reasoning-end" {
		p.State = Done
		delete(open, k.ID)
		return nil
	}
	p.Text += k.Delta
	return nil
}

func (c *client) data(k Chunk) {
	if k.Transient {
		return
	}
	for i := range c.message.Parts {
		if p := &c.message.Parts[i]; k.ID != "" && p.Type == k.Type && p.ID == k.ID {
			p.Data = k.Data
			return
		}
	}
	c.push(Part{Type: k.Type, ID: k.ID, Data: k.Data})
}

func (c *client) tool(k Chunk) error {
	switch k.Type {
	case "tool-input-start":
		c.inputs[k.ToolCallID] = ""
		c.announce(k).State = InputStreaming
	case "tool-input-delta":
		raw, ok := c.inputs[k.ToolCallID]
		if !ok {
			return fmt.Errorf("tool-input-delta for missing call %q", k.ToolCallID)
		}
		c.inputs[k.ToolCallID] = raw + k.Delta
		c.twice = c.twice || !slices.ContainsFunc(c.message.Parts[c.step():], func(p Part) bool { return p.ToolCallID == k.ToolCallID })
	case "tool-input-available":
		p := c.announce(k)
		p.State, p.Input = InputAvailable, k.Input
	case "tool-input-error":
		p := c.announce(k)
		p.State, p.Input, p.ErrorText = OutputError, k.Input, k.ErrorText
	case "tool-approval-request", "tool-output-available", "tool-output-error", "tool-output-denied":
		p := c.call(k.ToolCallID)
		if p == nil {
			return fmt.Errorf("%s: no tool invocation %q", k.Type, k.ToolCallID)
		}
		settle(p, k)
	case "tool-approval-response":
		for i := range c.message.Parts {
			if p := &c.message.Parts[i]; p.IsTool() && p.Approval != nil && p.Approval.ID == k.ApprovalID {
				p.State, p.Approval = ApprovalResponded, p.Approval.answered(k.Approved, k.Reason)
				return nil
			}
		}
		return fmt.Errorf("no tool invocation for approval %q", k.ApprovalID)
	}
	return nil
}

func settle(p *Part, k Chunk) {
	switch k.Type {
	case "tool-approval-request":
		p.State, p.Approval = ApprovalRequested, &Approval{ID: k.ApprovalID}
	case "tool-output-available":
		p.State, p.Output, p.Preliminary = OutputAvailable, k.Output, k.Preliminary
	case "tool-output-error":
		p.State, p.Output, p.Preliminary, p.ErrorText = OutputError, nil, false, k.ErrorText
	case "tool-output-denied":
		p.State = OutputDenied
	}
}

// announce updates the call in the current step that is of the same kind
// (static or dynamic), or appends one.
func (c *client) announce(k Chunk) *Part {
	for i := c.step(); i < len(c.message.Parts); i++ {
		p := &c.message.Parts[i]
		if p.IsTool() && p.ToolCallID == k.ToolCallID && (k.Dynamic == (p.Type == DynamicTool) || k.Type == "tool-input-error") {
			return p
		}
	}
	c.twice = c.twice || c.call(k.ToolCallID) != nil
	typ := toolPrefix + k.ToolName
	if k.Dynamic {
		typ = DynamicTool
	}
	return &c.message.Parts[c.push(Part{Type: typ, ToolName: k.ToolName, ToolCallID: k.ToolCallID})]
}

// call looks in the current step first, then from the end.
func (c *client) call(id string) *Part {
	at := -1
	for i := range c.message.Parts {
		p := &c.message.Parts[i]
		if !p.IsTool() || p.ToolCallID != id {
			continue
		}
		at = i
		if i >= c.step() {
			break
		}
	}
	if at < 0 {
		return nil
	}
	return &c.message.Parts[at]
}
