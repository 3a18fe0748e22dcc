package chat

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// talked is a conversation u1 a1 u2 a2.
func talked(t *testing.T) *rig {
	r := newRig(t, Policy{})
	for i := 1; i <= 2; i++ {
		cmd := submit(fmt.Sprintf("r%d", i), user(fmt.Sprintf("u%d", i)))
		cmd.Ids.Message = fmt.Sprintf("a%d", i)
		r.must(cmd)
		r.say("Answer")
		r.keep(uimessage.Chunk{Type: "text-end", ID: "t"})
		r.finish()
	}
	require.Equal(t, "u1 a1 u2 a2", r.listed())
	return r
}

func copyOf(r *rig, id, as string) uimessage.Message {
	m, _ := r.state().Transcript.Message(id)
	m.ID = as
	return m
}

func TestSubmitMergesWhatAClientKnows(t *testing.T) {
	for name, c := range map[string]struct {
		list func(r *rig) []uimessage.Message
		want string
	}{
		"a tab that is behind deletes nothing": {func(r *rig) []uimessage.Message {
			return []uimessage.Message{user("u1"), copyOf(r, "a1", "a1"), user("u3")}
		}, "u1 a1 u2 a2 u3"},
		"a list of known messages is a truncation": {func(*rig) []uimessage.Message {
			return []uimessage.Message{user("u1")}
		}, "u1"},
		"the whole list changes nothing": {func(r *rig) []uimessage.Message {
			return []uimessage.Message{user("u1"), copyOf(r, "a1", "a1"), user("u2"), copyOf(r, "a2", "a2")}
		}, "u1 a1 u2 a2"},
		"an empty list deletes nothing": {func(*rig) []uimessage.Message { return nil }, "u1 a1 u2 a2"},
		"answers under other ids are the stored ones, one for one": {func(r *rig) []uimessage.Message {
			return []uimessage.Message{user("u1"), copyOf(r, "a1", "x"), user("u2"), copyOf(r, "a2", "y"), user("u3")}
		}, "u1 a1 u2 a2 u3"},
		"two equal answers are two rows": {func(r *rig) []uimessage.Message {
			return []uimessage.Message{user("u1"), copyOf(r, "a1", "x"), user("u2"), copyOf(r, "a2", "y")}
		}, "u1 a1 u2 a2"},
		"an exact id is not taken by an equal answer before it": {func(r *rig) []uimessage.Message {
			return []uimessage.Message{user("u1"), copyOf(r, "a1", "x"), copyOf(r, "a1", "a1"), user("u3")}
		}, "u1 a1 u2 a2 u3"},
		"an answer that differs is another message, and forged": {func(*rig) []uimessage.Message {
			return []uimessage.Message{user("u1"), assistant("x"), user("u3")}
		}, "u1 a1 u2 a2 u3"},
	} {
		t.Run(name, func(t *testing.T) {
			r := talked(t)
			r.must(submit("r3", c.list(r)...))
			require.Equal(t, c.want, r.listed())
		})
	}
}

func TestSubmitNeverOverwritesAnAnswer(t *testing.T) {
	r := talked(t)
	r.must(submit("r3", assistant("a1"), user("a2"), assistant("u1"), user("u3")))
	require.Equal(t, "u1 a1 u2 a2 u3", r.listed())
	require.Equal(t, "Answer", r.text("a1"))
	require.Equal(t, "Answer", r.text("a2"))
	require.Equal(t, "ask u1", r.text("u1"))
}

func TestAProgrammaticSubmitAddsAndNeverTruncates(t *testing.T) {
	r := talked(t)
	cmd := submit("r3", user("u1"))
	cmd.Programmatic = true
	r.must(cmd)
	require.Equal(t, "u1 a1 u2 a2", r.listed())
}

func TestEditOfAQuestionReplacesItInPlace(t *testing.T) {
	r := talked(t)
	r.must(submit("r3", message("u1", uimessage.User, "better")))
	require.Equal(t, "u1", r.listed())
	require.Equal(t, "better", r.text("u1"))
}

// A tab that regenerates has not seen what another one has asked meanwhile.
func TestTruncationKeepsWhatUnfinishedTurnsAreAbout(t *testing.T) {
	r := talked(t)
	r.must(submit("r3", user("u3")))
	r.say("half")
	r.crash(0) // the answer goes on: it is stored in part
	r.must(submit("r4", user("u4")))
	r.must(submit("r5", user("u1")))
	require.Equal(t, "u1 u3 a-r3 u4", r.listed())
	r.finish()
	require.Equal(t, "u1 u3 a-r3 u4", r.listed())
	require.Len(t, r.state().Transcript.Steps("a-r3"), 1, "what its second turn has said")
}

// S27: events carry what came out, never the client's list.
func TestASubmitStoresOnlyWhatIsNew(t *testing.T) {
	r := talked(t)
	list := []uimessage.Message{user("u1"), copyOf(r, "a1", "a1"), user("u2"), copyOf(r, "a2", "a2"), user("u3")}
	events := r.must(submit("r3", list...))
	require.Len(t, events[0].GetMessagesPut().GetMessages(), 1)
	require.Equal(t, "u3", events[0].GetMessagesPut().GetMessages()[0].GetId())
}

func TestSetMessagesUpsertsAndRemovesNothing(t *testing.T) {
	r := talked(t)
	require.Empty(t, r.must(SetMessages{Messages: []uimessage.Message{user("u1")}}), "nothing has changed")
	require.Empty(t, r.must(SetMessages{}))
	r.must(SetMessages{Messages: []uimessage.Message{message("u1", uimessage.User, "better"), assistant("a9")}})
	require.Equal(t, "u1 a1 u2 a2 a9", r.listed())
	require.Equal(t, "better", r.text("u1"))

	twice := SetMessages{Messages: []uimessage.Message{assistant("u1"), message("u1", uimessage.User, "better")}}
	require.Empty(t, r.must(twice), "of one id the last counts")
}

// The model's own words are kept as long as they tell what the message says.
func TestStepsOfAnAnswerGoWhenTheAuthorEditsIt(t *testing.T) {
	r := talked(t)
	same := copyOf(r, "a1", "a1")
	same.Metadata = json.RawMessage(` { } `)
	require.NotEmpty(t, r.must(Persist{Messages: []uimessage.Message{same}}), "metadata is new")
	require.Len(t, r.state().Transcript.Steps("a1"), 1, "its words are not")

	r.must(submit("r3", user("u3")))
	r.keep(uimessage.Chunk{Type: "tool-input-available", ToolCallID: "c", ToolName: "t", Input: []byte(`{"a":1,"b":2}`)})
	r.finish()
	same = copyOf(r, "a-r3", "a-r3")
	same.Parts[0].ToolName, same.Parts[0].Input = "", []byte(`{"b":2,"a":1}`)
	require.Empty(t, r.must(Persist{Messages: []uimessage.Message{same}}), "calls may be written in another way")
	require.Len(t, r.state().Transcript.Steps("a-r3"), 1)
	r.must(Persist{Messages: []uimessage.Message{assistant("a-r3")}})
	require.Empty(t, r.state().Transcript.Steps("a-r3"))
	require.Equal(t, "say a-r3", r.text("a-r3"))
}

func TestCopiesOfAnAnswer(t *testing.T) {
	call := func(id, tool, input string) uimessage.Part {
		return uimessage.Part{Type: "tool-" + tool, ToolCallID: id, State: uimessage.OutputAvailable, Input: []byte(input)}
	}
	text := func(text string) uimessage.Part { return uimessage.Part{Type: "text", Text: text} }
	parts := func(ps ...uimessage.Part) []uimessage.Part { return ps }
	for name, c := range map[string]struct {
		a, b []uimessage.Part
		want bool
	}{
		"the same text":                 {parts(text("x")), parts(text("x")), true},
		"another text":                  {parts(text("x")), parts(text("y")), false},
		"the same text in other parts":  {parts(text("x"), text("y")), parts(text("xy")), false},
		"blank reasoning is not stored": {parts(uimessage.Part{Type: "reasoning", Text: " "}, text("x")), parts(text("x")), true},
		"a call with the same input":    {parts(call("c", "t", `{"a":1,"b":2}`)), parts(text("more"), call("c", "t", `{"b":2,"a":1}`)), true},
		"a call id that is used again":  {parts(call("c", "t", `{"a":1}`)), parts(call("c", "t", `{"a":2}`)), false},
		"a call of another tool":        {parts(call("c", "t", `{}`)), parts(call("c", "s", `{}`)), false},
		"one call of two is another":    {parts(call("c", "t", `{}`), call("d", "t", `{}`)), parts(call("c", "t", `{}`), call("d", "s", `{}`)), false},
		"calls against text":            {parts(call("c", "t", `{}`), text("x")), parts(text("x")), false},
	} {
		a, b := newCandidate(uimessage.Message{ID: "a", Parts: c.a}), newCandidate(uimessage.Message{ID: "b", Parts: c.b})
		require.Equal(t, c.want, a.isCopy(b), name)
		require.Equal(t, c.want, b.isCopy(a), name)
	}
}

// BenchmarkAdoptIDs: a client that knows every answer of a long conversation
// under another id, and none of them is in the store.
func BenchmarkAdoptIDs(b *testing.B) {
	var tr Transcript
	var list []uimessage.Message
	put := &pb.MessagesPut{}
	for i := range 1000 {
		put.Messages = append(put.Messages, stored(message(fmt.Sprint("a", i), uimessage.Assistant, fmt.Sprint("answer", i))))
		list = append(list, message(fmt.Sprint("x", i), uimessage.Assistant, fmt.Sprint("other", i)))
	}
	tr.applyPut(put)
	for b.Loop() {
		tr.adoptIDs(list)
	}
}
