package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// asks has the model of the running turn ask for calls, and shows them.
func (r *rig) asks(last bool, calls ...Call) {
	r.t.Helper()
	e := r.due().(CallModel)
	for _, c := range calls {
		c.Tool, c.Input = "t", []byte("{}")
		r.must(OpenCall{Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Call: c})
		r.keep(uimessage.Chunk{Type: "tool-input-available", ToolCallID: c.ID, ToolName: c.Tool, Input: c.Input})
	}
	r.must(StepAnswered{Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Content: []byte(`["asks"]`), Reason: "tool-calls", Last: last})
}

func client(id string) Call { return Call{ID: id, Kind: pb.CallKind_CALL_KIND_CLIENT} }
func server(id string) Call { return Call{ID: id, Kind: pb.CallKind_CALL_KIND_SERVER} }

func TestASanitizerThatIsLateTakesNoAnswerAway(t *testing.T) {
	r := newRig(t, Policy{Sanitizes: true})
	r.must(submit("r1", user("u1")))
	r.asks(true, client("c1"), client("c2"))
	r.must(Cleaned{Clean: r.due().(Clean), Failed: true})
	r.must(Answer{CallID: "c1", Output: []byte("1"), Now: r.now, Ids: r.ids()})
	first := r.due().(Clean)
	seen, _ := r.state().Transcript.Message("a-r1")
	r.must(Answer{CallID: "c2", Output: []byte("2"), Now: r.now, Ids: r.ids()})

	require.Empty(t, r.must(Cleaned{Clean: first, Message: seen}), "it has seen another message")
	_, p, _ := r.state().Part("c2")
	require.Equal(t, "2", string(p.Output))
	require.NotEqual(t, first, r.due(), "the message is shown to it as it is now")
}

func TestALateOutcomeIsNotThatOfAnotherAnswersCall(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.asks(false, server("call_0"))
	late := answer(r.due()).(ToolReturned)
	r.must(Cancel{Request: "r1"})
	r.must(submit("r2", user("u2")))
	r.asks(false, server("call_0"))

	require.Empty(t, r.must(late))
	require.NotEqual(t, late, answer(r.due()))
	r.must(answer(r.due()))
	require.IsType(t, CallModel{}, r.due())
}

func TestACallThatTheAuthorHasTakenAwayIsOver(t *testing.T) {
	for name, change := range map[string]func(uimessage.Message) uimessage.Message{
		"removed": func(m uimessage.Message) uimessage.Message {
			m.Parts = []uimessage.Part{{Type: uimessage.TextPart, Text: "nothing to ask"}}
			return m
		},
		"settled": func(m uimessage.Message) uimessage.Message {
			m.Parts[0].Settle(uimessage.OutputAvailable, []byte("1"), "")
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{})
			r.must(submit("r1", user("u1")))
			c := client("c1")
			c.Expires = r.now + 1000
			r.asks(true, c)
			m, _ := r.state().Transcript.Message("a-r1")
			r.must(Persist{Messages: []uimessage.Message{change(m)}})
			require.Empty(t, r.state().Calls)
			_, waits := r.state().Outstanding()
			require.Empty(t, waits, "nobody is waited for")
			require.False(t, r.state().HasPendingInteraction())
		})
	}
}

func TestAnAnswerOutlivesTheStreamThatItCameInto(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	r.asks(true, client("c1"), client("c2"))
	r.must(Answer{CallID: "c1", Output: []byte("1"), Continue: true, Now: r.now, Ids: r.ids()})
	r.must(Continue{Request: "r2"})
	r.keep(uimessage.Chunk{Type: "start"}) // and has not said anything
	r.must(Answer{CallID: "c2", Output: []byte("2"), Now: r.now, Ids: r.ids()})
	r.crash(0)
	_, p, _ := r.state().Part("c2")
	require.Equal(t, "2", string(p.Output))
}

func TestARequestThatIsTurnedAwayLeavesMarksAlone(t *testing.T) {
	r := newRig(t, Policy{Sanitizes: true, Overlap: Drop})
	r.must(submit("r1", user("u1")))
	r.say("secret")
	r.must(Cancel{Request: "r1"})
	r.must(Continue{Request: "r2"})
	r.say("more")
	r.must(submit("r3", user("u1"), user("u3"))) // is shown the conversation without it
	require.True(t, r.state().Transcript.Raw("a-r1"))
}
