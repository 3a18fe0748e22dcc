package chat

import (
	"unicode/utf8"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

var deltaType = map[pb.DeltaKind]string{
	pb.DeltaKind_DELTA_KIND_TEXT:       "text-delta",
	pb.DeltaKind_DELTA_KIND_REASONING:  "reasoning-delta",
	pb.DeltaKind_DELTA_KIND_TOOL_INPUT: "tool-input-delta",
}

// Packer collects chunks for a Keep. Runs of plain deltas of one part become
// one entry, which costs a third of the bytes and one fold for all.
type Packer struct {
	runs  []*ChunkRun
	text  []byte // of the last run, while it grows
	count uint64
	bytes int
}

// Add appends a chunk; body is its JSON.
func (p *Packer) Add(c *uimessage.Chunk, body []byte) {
	p.count++
	kind, id, text := plainDelta(c)
	if kind == pb.DeltaKind_DELTA_KIND_UNSPECIFIED {
		p.seal()
		p.runs = append(p.runs, &ChunkRun{Body: body})
		p.bytes += len(body)
		return
	}
	p.bytes += len(text) + 2
	if n := len(p.runs); n > 0 {
		if last := p.runs[n-1]; last.Kind == kind && last.PartId == id {
			p.text = append(p.text, text...)
			last.Lengths = append(last.Lengths, uint32(len(text)))
			return
		}
	}
	p.seal()
	p.text = append(p.text, text...)
	p.runs = append(p.runs, &ChunkRun{Kind: kind, PartId: id, Lengths: []uint32{uint32(len(text))}})
}

// seal gives the last run its text.
func (p *Packer) seal() {
	if len(p.text) > 0 {
		p.runs[len(p.runs)-1].Text = string(p.text)
		p.text = p.text[:0]
	}
}

// Take empties the packer.
func (p *Packer) Take() (runs []*ChunkRun, count uint64) {
	p.seal()
	runs, count = p.runs, p.count
	*p = Packer{text: p.text}
	return runs, count
}

// Bytes is about what the chunks will cost in the journal.
func (p *Packer) Bytes() int { return p.bytes }

// plainDelta recognises a delta that is nothing but text. Bytes that are no text
// are better off in the body, which replaces them as clients see it.
func plainDelta(c *uimessage.Chunk) (kind pb.DeltaKind, id, text string) {
	if len(c.ProviderMetadata) > 0 || len(c.Extra) > 0 || !utf8.ValidString(c.Delta) || !utf8.ValidString(c.ID+c.ToolCallID) {
		return 0, "", ""
	}
	switch c.Type {
	case "text-delta":
		return pb.DeltaKind_DELTA_KIND_TEXT, c.ID, c.Delta
	case "reasoning-delta":
		return pb.DeltaKind_DELTA_KIND_REASONING, c.ID, c.Delta
	case "tool-input-delta":
		return pb.DeltaKind_DELTA_KIND_TOOL_INPUT, c.ToolCallID, c.Delta
	}
	return 0, "", ""
}

func runCount(run *ChunkRun) uint64 {
	if run.GetKind() == pb.DeltaKind_DELTA_KIND_UNSPECIFIED {
		return 1
	}
	return uint64(len(run.GetLengths()))
}

// Empty reports whether there is nothing to take.
func (p *Packer) Empty() bool { return p.count == 0 }
