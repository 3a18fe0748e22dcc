package uimessage

import "strconv"

// Unfold returns chunks that fold to the parts and metadata of m: a stream for
// clients when the chunks of the message are gone. It begins with start, and
// ends with finish unless a part is still streaming. Fold(Unfold(m)) is m for
// every message that a fold from an empty base can make.
func Unfold(m Message) []Chunk {
	out := make([]Chunk, 0, 2+3*len(m.Parts))
	out = append(out, Chunk{Type: "start", MessageID: m.ID, MessageMetadata: m.Metadata})
	done := true
	for i := range m.Parts {
		p := &m.Parts[i]
		done = done && p.State != Streaming && p.State != InputStreaming
		switch {
		case p.Type == TextPart, p.Type == ReasoningPart:
			out = p.unfoldProse(out, i)
		case p.IsTool():
			out = p.unfoldCall(out)
		case p.Type == StepStart:
			out = append(out, Chunk{Type: "start-step"})
		default:
			out = append(out, p.unfoldWhole())
		}
	}
	if done {
		out = append(out, Chunk{Type: "finish"})
	}
	return out
}

// unfoldProse makes a text or reasoning part. Texts have lost their ids, so the
// place names them.
func (p *Part) unfoldProse(out []Chunk, place int) []Chunk {
	id := p.ID
	if p.Type == TextPart {
		id = strconv.Itoa(place)
	}
	out = append(out, Chunk{Type: p.Type + "-start", ID: id, ProviderMetadata: p.ProviderMetadata})
	if p.Text != "" {
		out = append(out, Chunk{Type: p.Type + "-delta", ID: id, Delta: p.Text})
	}
	if p.State != Streaming {
		out = append(out, Chunk{Type: p.Type + "-end", ID: id, Citations: p.Citations})
	}
	return out
}

func (p *Part) unfoldWhole() Chunk {
	return Chunk{
		Type: p.Type, ID: p.ID, Title: p.Title, Kind: p.Kind, Parts: p.Parts, Data: p.Data,
		URL: p.URL, MediaType: p.MediaType, Filename: p.Filename, SourceID: p.SourceID,
		ProviderMetadata: p.ProviderMetadata, Extra: p.Extra,
	}
}

func (p *Part) unfoldCall(out []Chunk) []Chunk {
	out = p.unfoldInput(out)
	if p.State == InputStreaming {
		return out
	}
	if a := p.Approval; a != nil {
		out = append(out, p.request())
		if a.Approved != nil {
			out = append(out, Chunk{Type: "tool-approval-response", ApprovalID: a.ID, Approved: *a.Approved, Reason: a.Reason})
		}
	}
	c := Chunk{ToolCallID: p.ToolCallID, ProviderMetadata: p.ResultProviderMetadata}
	switch p.State {
	case OutputAvailable:
		c.Type, c.Output, c.Preliminary = "tool-output-available", p.Output, p.Preliminary
	case OutputError:
		c.Type, c.ErrorText = "tool-output-error", p.ErrorText
	case OutputDenied:
		c = Chunk{Type: "tool-output-denied", ToolCallID: p.ToolCallID}
	default:
		return out
	}
	return append(out, c)
}

func (p *Part) unfoldInput(out []Chunk) []Chunk {
	if p.State != InputStreaming && len(p.Input) > 0 {
		return append(out, p.announce("tool-input-available"))
	}
	out = append(out, p.announce("tool-input-start"))
	var raw string
	if unquote(p.RawInput, &raw) && raw != "" {
		out = append(out, Chunk{Type: "tool-input-delta", ToolCallID: p.ToolCallID, Delta: raw})
	}
	return out
}
