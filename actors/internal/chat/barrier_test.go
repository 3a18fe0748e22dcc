package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// A continuation that fails, or is cancelled, takes with it what was to follow.
func TestNothingFollowsAContinuationThatFails(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"failed":    func(r *rig) { r.must(r.fail(r.due(), false)) },
		"cancelled": func(r *rig) { r.must(Cancel{Request: r.state().Turns.Running().Request}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{})
			calls := func(id string) {
				r.keep(uimessage.Chunk{Type: "start"}, uimessage.Chunk{Type: "tool-input-available", ToolCallID: id, ToolName: "t", Input: []byte(`{}`)})
			}
			result := func(id string) {
				r.must(Answer{CallID: id, Output: []byte(`1`), Continue: true, Now: r.now, Ids: r.ids()})
			}
			r.must(submit("r1", user("u1")))
			calls("c1")
			e := answer(r.due()).(StepAnswered)
			e.Reason = "tool-calls"
			r.must(e)
			result("c1")
			r.wait()
			require.NotNil(t, r.state().Turns.Running())
			calls("c2")
			result("c2")
			require.NotNil(t, r.state().Answers.Deferred)
			end(r)
			require.Nil(t, r.state().Answers.Deferred)
			require.Nil(t, r.state().Answers.Pending)
			work, waits := r.state().Outstanding()
			require.Empty(t, work)
			require.Empty(t, waits)
		})
	}
}
