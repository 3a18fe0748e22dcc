package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func TestPackerJoinsRunsOfPlainDeltasOfOnePart(t *testing.T) {
	var p Packer
	require.True(t, p.Empty())
	for _, c := range []uimessage.Chunk{
		{Type: "text-delta", ID: "a", Delta: "on"},
		{Type: "text-delta", ID: "a", Delta: "e"},
		{Type: "text-delta", ID: "b", Delta: "two"},
		{Type: "reasoning-delta", ID: "b", Delta: "three"},
		{Type: "reasoning-delta", ID: "b", Delta: "four", ProviderMetadata: []byte(`{}`)}, // not plain
		{Type: "tool-input-delta", ToolCallID: "b", Delta: "five"},
		{Type: "text-end", ID: "a"},
	} {
		p.Add(&c, c.AppendJSON(nil))
	}
	require.Positive(t, p.Bytes())
	runs, count := p.Take()
	require.EqualValues(t, 7, count)
	require.True(t, p.Empty())
	require.Len(t, runs, 6)
	require.Equal(t, []uint32{2, 1}, runs[0].GetLengths())
	require.Equal(t, "one", runs[0].GetText())
	require.Equal(t, "b", runs[1].GetPartId())
	require.Equal(t, pb.DeltaKind_DELTA_KIND_REASONING, runs[2].GetKind())
	require.NotEmpty(t, runs[3].GetBody())
	require.Equal(t, pb.DeltaKind_DELTA_KIND_TOOL_INPUT, runs[4].GetKind())
	require.JSONEq(t, `{"type":"text-end","id":"a"}`, string(runs[5].GetBody()))
}

// S7: a number names one chunk for ever, whatever is lost and however often the
// turn runs.
func TestPositionsRiseOverAllAttempts(t *testing.T) {
	r := newRig(t, Policy{Handler: true})
	r.must(submit("r1", user("u1")))
	var last uint64
	for range 4 { // the rig refuses a position that was used before
		r.keep(uimessage.Chunk{Type: "start"})
		r.must(Reserve{Turn: 1, Attempt: r.state().Turns.Running().Attempt})
		require.Greater(t, r.state().Stream.Next, last)
		last = r.state().Stream.Next
		r.crash(1)
	}
}

// A chunk that this version cannot read adds nothing, and its position is kept.
func TestAnUnreadableChunkIsPassedOver(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.say("a")
	next := r.state().Stream.Next
	r.must(Keep{Turn: 1, First: next, Count: 1, Runs: []*ChunkRun{{Body: []byte("{")}}})
	require.Equal(t, next+1, r.state().Stream.Next)
	r.say("b")
	r.finish()
	require.Equal(t, "ab", r.text("a-r1"))
}
