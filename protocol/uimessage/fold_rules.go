package uimessage

import "slices"

// The rules of the fold, one for each kind of chunk (see the table of kinds).

func foldStart(f *Fold, c *Chunk) {
	if c.MessageID != "" {
		f.head.ID = c.MessageID
	}
	foldMetadata(f, c)
}

func foldMetadata(f *Fold, c *Chunk) {
	f.head.Metadata = merge(f.head.Metadata, c.MessageMetadata)
}

func foldStep(f *Fold, _ *Chunk) { f.push(Part{Type: StepStart}) }

// foldReset drops the parts of the current step, never those of the base: they
// were settled by an earlier turn.
func foldReset(f *Fold, _ *Chunk) {
	from := len(f.parts)
	for from > f.floor && f.parts[from-1].Type != StepStart {
		from--
	}
	for _, s := range f.parts[from:] {
		if s.IsTool() && f.calls[s.ToolCallID] == s {
			delete(f.calls, s.ToolCallID)
		}
	}
	f.parts = slices.Delete(f.parts, from, len(f.parts))
	for _, s := range f.open {
		s.held = false
	}
	clear(f.open)
}

// proseOf tells what part a text-… or reasoning-… chunk is about.
func proseOf(c *Chunk) string {
	if c.Type[0] == 't' {
		return TextPart
	}
	return ReasoningPart
}

func foldOpen(f *Fold, c *Chunk) {
	p := newProse(proseOf(c), c.ID)
	p.ProviderMetadata = c.ProviderMetadata
	f.hold(f.push(p), c.ID)
}

func foldDelta(f *Fold, c *Chunk) {
	if c.Type == "tool-input-delta" {
		f.Delta(c.Type, c.ToolCallID, c.Delta)
		return
	}
	f.Delta(c.Type, c.ID, c.Delta)
	if len(c.ProviderMetadata) > 0 {
		s := f.prose(proseOf(c), c.ID)
		s.ProviderMetadata = overlay(s.ProviderMetadata, c.ProviderMetadata)
	}
}

func foldEnd(f *Fold, c *Chunk) {
	key := proseID{proseOf(c), c.ID}
	s := f.open[key]
	if s == nil {
		s = f.unfinished(key.part)
	}
	if s == nil {
		return
	}
	delete(f.open, key)
	s.held = false
	if s.live {
		s.settleText()
	}
	s.State = Done
	s.ProviderMetadata = overlay(s.ProviderMetadata, c.ProviderMetadata)
	if len(c.Citations) > 0 {
		s.Citations = c.Citations
	}
}

// foldPush is for the kinds whose chunk is the part.
func foldPush(f *Fold, c *Chunk) {
	f.push(Part{
		Type: c.Type, ID: c.ID, Title: c.Title, Kind: c.Kind, Parts: c.Parts,
		URL: c.URL, MediaType: c.MediaType, Filename: c.Filename, SourceID: c.SourceID,
		ProviderMetadata: c.ProviderMetadata, Extra: c.Extra,
	})
}

func foldData(f *Fold, c *Chunk) {
	if c.Transient {
		return
	}
	if c.ID != "" {
		for _, s := range f.parts {
			if s.Type == c.Type && s.ID == c.ID {
				s.Data = c.Data
				return
			}
		}
	}
	f.push(Part{Type: c.Type, ID: c.ID, Data: c.Data, Extra: c.Extra})
}
