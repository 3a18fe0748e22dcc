package uimessage

import "encoding/json"

// approvalField reads and writes Part.Approval.
var approvalField = field[Part]{
	name: "approval", key: `,"approval":`,
	has: func(p *Part) bool { return p.Approval != nil },
	put: func(dst []byte, p *Part) []byte { return p.Approval.append(dst) },
	set: func(p *Part, raw json.RawMessage) string {
		a, ok := parseApproval(raw)
		if !ok {
			return "must be an object with a string id, approved a boolean, reason a string"
		}
		p.Approval = a
		return ""
	},
}

func (a *Approval) append(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = AppendString(dst, a.ID)
	if a.Approved != nil {
		dst = append(dst, `,"approved":`...)
		if *a.Approved {
			dst = append(dst, "true"...)
		} else {
			dst = append(dst, "false"...)
		}
	}
	if a.Reason != "" {
		dst = append(dst, `,"reason":`...)
		dst = AppendString(dst, a.Reason)
	}
	return append(appendExtra(dst, a.Extra), '}')
}

func parseApproval(raw json.RawMessage) (*Approval, bool) {
	obj, bad := object(raw)
	if bad != nil {
		return nil, false
	}
	var a Approval
	if !unquote(obj.take("id"), &a.ID) {
		return nil, false
	}
	switch raw := obj.take("approved"); string(raw) {
	case "true", "false":
		yes := string(raw) == "true"
		a.Approved = &yes
	case "", "null":
	default:
		return nil, false
	}
	if raw := obj.take("reason"); len(raw) > 0 && string(raw) != "null" && !unquote(raw, &a.Reason) {
		return nil, false
	}
	a.Extra = obj.rest()
	return &a, true
}

// approvalExtras pairs the fields of an approval request with the names under
// which clients keep them in the part's approval.
var approvalExtras = []struct{ chunk, part string }{
	{"approvalDescriptor", "descriptor"},
	{"inputSchemaInput", "inputSchemaInput"},
	{"isAutomatic", "isAutomatic"},
	{"signature", "signature"},
}

const requestReason = "requestReason" // the request's reason, in the part's approval

// requested makes the approval of a part out of the chunk that asks for it.
func requested(c *Chunk) *Approval {
	a := &Approval{ID: c.ApprovalID}
	put := func(name string, raw json.RawMessage) {
		if a.Extra == nil {
			a.Extra = make(map[string]json.RawMessage)
		}
		a.Extra[name] = raw
	}
	for _, x := range approvalExtras {
		if raw := c.Extra[x.chunk]; len(raw) > 0 && string(raw) != "null" && string(raw) != "false" {
			put(x.part, raw)
		}
	}
	if c.Reason != "" {
		put(requestReason, AppendString(nil, c.Reason))
	}
	return a
}

// request is the chunk that asks for p's approval: the reverse of requested.
func (p *Part) request() Chunk {
	c := Chunk{Type: "tool-approval-request", ToolCallID: p.ToolCallID, ApprovalID: p.Approval.ID}
	unquote(p.Approval.Extra[requestReason], &c.Reason)
	for _, x := range approvalExtras {
		if raw, ok := p.Approval.Extra[x.part]; ok {
			if c.Extra == nil {
				c.Extra = make(map[string]json.RawMessage)
			}
			c.Extra[x.chunk] = raw
		}
	}
	return c
}

// answered returns a with the answer to it.
func (a *Approval) answered(approved bool, reason string) *Approval {
	out := *a
	out.Approved, out.Reason = &approved, reason
	return &out
}
