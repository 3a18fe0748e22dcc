package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// call is a part: a call of tool t with an input of its own.
func call(id, state string, with ...func(*uimessage.Part)) uimessage.Part {
	p := uimessage.Part{Type: "tool-t", ToolCallID: id, ToolName: "t", State: state, Input: []byte(`{"of":"` + id + `"}`)}
	for _, set := range with {
		set(&p)
	}
	return p
}

func output(v string) func(*uimessage.Part) {
	return func(p *uimessage.Part) { p.Output = []byte(`"` + v + `"`) }
}

func failed(text string) func(*uimessage.Part) {
	return func(p *uimessage.Part) { p.ErrorText = text }
}

func input(v string) func(*uimessage.Part) {
	return func(p *uimessage.Part) { p.Input = []byte(v) }
}

func denied(p *uimessage.Part) {
	no := false
	p.Approval = &uimessage.Approval{ID: "ap", Approved: &no}
}

func says(text string) uimessage.Part { return uimessage.Part{Type: "text", Text: text} }

func answering(id string, parts ...uimessage.Part) uimessage.Message {
	return uimessage.Message{ID: id, Role: uimessage.Assistant, Parts: parts}
}

// holding is a state with a stored conversation.
func holding(list ...uimessage.Message) *State {
	s := &State{}
	put := &pb.MessagesPut{}
	for _, m := range list {
		put.Messages = append(put.Messages, stored(m))
	}
	s.Transcript.applyPut(put)
	return s
}

// written writes merged messages down: id, + if it is new, and its parts.
func written(list []merged) string {
	var lines []string
	for _, m := range list {
		line := m.ID
		if !m.known() {
			line += "+"
		}
		for _, p := range m.Parts {
			switch {
			case p.IsTool():
				line += " " + p.ToolCallID + ":" + p.State + string(p.Output) + p.ErrorText
				if p.Approval != nil {
					line += "(" + p.Approval.ID + ")"
				}
			case p.Type == uimessage.TextPart:
				line += " " + p.Text
			default:
				line += " " + p.Type
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " / ")
}

const (
	open      = uimessage.InputAvailable
	requested = uimessage.ApprovalRequested
	responded = uimessage.ApprovalResponded
	done      = uimessage.OutputAvailable
	erred     = uimessage.OutputError
	refused   = uimessage.OutputDenied
)

type messages = []uimessage.Message

var (
	step     = uimessage.Part{Type: uimessage.StepStart}
	reasoned = uimessage.Part{Type: "reasoning", Text: " "}
)

// reconciliations by name; the numbers are those of the checklist, chat.md §11.
var reconciliations = map[string]struct {
	stored, list messages
	want         string
}{
	"65 an open call takes the output": {
		messages{answering("a1", call("c", done, output("42")))}, messages{answering("a1", call("c", open))},
		`a1 c:output-available"42"`},
	"65 so does one that waits for a person": {
		messages{answering("a1", call("c", done, output("42")))}, messages{answering("a1", call("c", requested))},
		`a1 c:output-available"42"`},
	"65 and one that has been approved": {
		messages{answering("a1", call("c", done, output("42")))}, messages{answering("a1", call("c", responded))},
		`a1 c:output-available"42"`},
	"66 an open call takes the error": {
		messages{answering("a1", call("c", erred, failed("no")))}, messages{answering("a1", call("c", open))},
		`a1 c:output-errorno`},
	"66 an open call takes the denial": {
		messages{answering("a1", call("c", refused, denied))}, messages{answering("a1", call("c", requested))},
		`a1 c:output-denied(ap)`},
	"67 an error brings no output along": {
		messages{answering("a1", call("c", erred, failed("no"), output("stray")))}, messages{answering("a1", call("c", open))},
		`a1 c:output-errorno`},
	"68 a settled call stays as the list has it": {
		messages{answering("a1", call("c", done, output("42")))}, messages{answering("a1", call("c", erred, failed("mine")))},
		`a1 c:output-errormine`},
	"69 a copy of a text has the id of its row": {
		messages{answering("a1", says("hi"))}, messages{answering("x", says("hi"))}, `a1 hi`},
	"70 a copy of a call has the id of its row, and its outcome": {
		messages{answering("a1", says("let me see"), call("c", done, output("42")))}, messages{answering("x", call("c", open))},
		`a1 c:output-available"42"`},
	"71 two equal texts are two rows": {
		messages{answering("a1", says("hi")), answering("a2", says("hi"))}, messages{answering("x", says("hi")), answering("y", says("hi"))},
		`a1 hi / a2 hi`},
	"72 three are three, one for one": {
		messages{answering("a1", says("hi")), answering("a2", says("hi")), answering("a3", says("hi"))},
		messages{answering("x", says("hi")), answering("y", says("hi")), answering("z", says("hi")), answering("w", says("hi"))},
		`a1 hi / a2 hi / a3 hi / w+ hi`},
	"73 an exact id is not taken by an equal text before it": {
		messages{answering("a1", says("hi"))}, messages{answering("x", says("hi")), answering("a1", says("hi"))},
		`x+ hi / a1 hi`},
	"74 texts that differ are not one": {
		messages{answering("a1", says("hi"))}, messages{answering("x", says("ho"))}, `x+ ho`},
	"75 calls are not matched by text, and take no row from one": {
		messages{answering("a1", says("hi")), answering("a2", says("hi"))},
		messages{answering("x", says("hi"), call("c", open)), answering("y", says("hi"))},
		`x+ hi c:input-available / a1 hi`},
	"76 what is not stored does not count": {
		messages{answering("a1", says("hi"))}, messages{answering("x", reasoned, says("hi"))}, `a1 reasoning hi`},
	"77 a call id with another input is another call": {
		messages{answering("a1", call("c", done, output("42")))}, messages{answering("x", says("and"), call("c", open, input("{}")))},
		`x+ and c:input-available`},
	"78 and takes no output from the first": {
		messages{answering("a1", call("c", done, output("42"))), answering("a2", call("c", open, input("{}")))},
		messages{answering("a1", call("c", done, output("42"))), answering("a2", call("c", open, input("{}")))},
		`a1 c:output-available"42" / a2 c:input-available`},
	"79 a copy of calls that are settled is stale": {
		messages{user("u1"), answering("a1", call("c", done, output("42"))), user("u2")},
		messages{user("u1"), answering("a1", call("c", done, output("42"))), answering("x", step, call("c", open)), user("u2")},
		`u1 ask u1 / a1 c:output-available"42" / u2 ask u2`},
	"79 but not one with another call": {
		messages{answering("a1", call("c", done, output("42")))},
		messages{answering("a1", call("c", done, output("42"))), answering("x", call("c", open), call("d", open)), user("u2")},
		`a1 c:output-available"42" / x+ c:input-available d:input-available / u2+ ask u2`},
	"79 nor one with text": {
		messages{answering("a1", call("c", done, output("42")))},
		messages{answering("a1", call("c", done, output("42"))), answering("x", call("c", open), says("hm")), user("u2")},
		`a1 c:output-available"42" / x+ c:input-available hm / u2+ ask u2`},
	"80 the last is never stale": {
		messages{answering("a1", call("c", done, output("42")))},
		messages{answering("a1", call("c", done, output("42"))), answering("x", step, call("c", open))},
		`a1 c:output-available"42" / x+ step-start c:input-available`},
	"85 other roles pass as they are": {
		messages{user("u1"), answering("a1", says("ask u1"))},
		messages{message("x", uimessage.User, "ask u1"), message("s", uimessage.System, "ask u1")},
		`x+ ask u1 / s+ ask u1`},
	"86 nothing is stored": {
		nil, messages{user("u1"), answering("x", call("c", open)), user("u2")},
		`u1+ ask u1 / x+ c:input-available / u2+ ask u2`},
}

func TestReconcile(t *testing.T) {
	for name, c := range reconciliations {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, written(holding(c.stored...).reconcile(c.list))) })
	}
}

// C29: the tab has made up an id for what is still being written.
func TestACopyOfTheMessageThatIsBeingWrittenIsThatMessage(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(submit("r1", user("u1")))
	c := call("c", open)
	r.keep(uimessage.Chunk{Type: "start", MessageID: "a-r1"}, uimessage.Chunk{Type: "tool-input-available", ToolCallID: "c", ToolName: "t", Input: c.Input})
	r.must(submit("r2", user("u1"), answering("tab-1", c), user("u2")))
	require.Empty(t, r.core.TakeForgeries())
	r.must(SetMessages{Messages: []uimessage.Message{user("u1"), answering("tab-1", c), user("u2")}})
	r.finish()
	require.Equal(t, "u1 u2 a-r1", r.listed())
}

// What lists do to the conversation; see also TestSubmitMergesWhatAClientKnows.
func TestListsOfAuthorsAndClients(t *testing.T) {
	persist := func(list ...uimessage.Message) Command { return Persist{Messages: list} }
	set := func(list ...uimessage.Message) Command { return SetMessages{Messages: list} }
	ask := func(list ...uimessage.Message) Command { return submit("r9", list...) }
	again := func(list ...uimessage.Message) Command {
		cmd := submit("r9", list...)
		cmd.Regenerate = true
		return cmd
	}
	edited := message("u1", uimessage.User, "edited")
	for name, c := range map[string]struct {
		cmd  Command
		puts string // messages that are written
		want string
	}{
		"55 new ones are added, none is deleted":               {persist(user("u8"), assistant("a8")), "u8 a8", "u1 a1 u2 a2 u8 a8"},
		"56 what has not changed is not written":               {persist(user("u1"), assistant("a1")), "", "u1 a1 u2 a2"},
		"57 only the row that has changed is written":          {persist(edited, assistant("a1"), user("u2")), "u1", "u1 a1 u2 a2"},
		"the author may write in any role":                     {persist(message("s1", uimessage.System, "be brief")), "s1", "u1 a1 u2 a2 s1"},
		"61 a submit of known messages is a truncation":        {ask(user("u1"), assistant("a1"), user("u2")), "", "u1 a1 u2"},
		"62 a set of known messages deletes nothing":           {set(user("u1")), "", "u1 a1 u2 a2"},
		"63 a submit with a new message deletes nothing":       {ask(user("u1"), user("u9")), "u9", "u1 a1 u2 a2 u9"},
		"64 the conversation as it is changes nothing":         {ask(user("u1"), assistant("a1"), user("u2"), assistant("a2")), "", "u1 a1 u2 a2"},
		"95 the order of the list is the order of the rows":    {persist(user("z"), user("y"), user("x")), "z y x", "u1 a1 u2 a2 z y x"},
		"an app shows a message of its own":                    {set(assistant("welcome")), "welcome", "u1 a1 u2 a2 welcome"},
		"an app adds a question without asking it":             {set(user("u8")), "u8", "u1 a1 u2 a2 u8"},
		"66C regenerate beside a message of the app's deletes": {again(assistant("local"), user("u1"), assistant("a1"), user("u2")), "", "u1 a1 u2"},
		"regenerate of what nobody knows deletes nothing":      {again(assistant("local")), "", "u1 a1 u2 a2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{})
			r.must(Persist{Messages: messages{user("u1"), assistant("a1"), user("u2"), assistant("a2")}})
			var puts []string
			for _, e := range r.must(c.cmd) {
				for _, m := range e.GetMessagesPut().GetMessages() {
					puts = append(puts, m.GetId())
				}
			}
			require.Equal(t, c.puts, strings.Join(puts, " "))
			require.Equal(t, c.want, r.listed())
		})
	}
}

// 59, 60: an output is stored where its call is.
func TestAnOutputComesToItsCallInPlace(t *testing.T) {
	r := newRig(t, Policy{})
	r.must(Persist{Messages: []uimessage.Message{user("u1"), answering("a1", call("c", open)), user("u2"), assistant("a2")}})
	r.must(Persist{Messages: []uimessage.Message{answering("a1", call("c", done, output("42")))}})
	require.Equal(t, "u1 a1 u2 a2", r.listed())
	m, _ := r.state().Transcript.Message("a1")
	require.Equal(t, `"42"`, string(m.Parts[0].Output))
}

// 81: an answer in the same words as one that was deleted is another message.
func TestARegeneratedAnswerIsNotTheOldOne(t *testing.T) {
	r := talked(t)
	cmd := submit("r3", user("u1"), copyOf(r, "a1", "a1"), user("u2"))
	cmd.Regenerate = true
	r.must(cmd)
	r.say("Answer")
	r.keep(uimessage.Chunk{Type: "text-end", ID: "t"})
	r.finish()
	require.Equal(t, "u1 a1 u2 a-r3", r.listed())
}

// 58: after a clear nothing of the old conversation is taken for what is stored.
func TestAfterAClearEverythingIsNew(t *testing.T) {
	r := newRig(t, Policy{})
	list := []uimessage.Message{user("u1"), assistant("a1")}
	r.must(Persist{Messages: list})
	r.must(Clear{})
	r.must(Persist{Messages: list})
	require.Equal(t, "u1 a1", r.listed())
}

func TestTrim(t *testing.T) {
	t.Run("87 no limit never deletes", func(t *testing.T) {
		r := newRig(t, Policy{})
		r.must(Persist{Messages: users(300)})
		require.Len(t, r.state().Transcript.Messages, 300)
	})
	t.Run("88 the oldest go, over several persists", func(t *testing.T) {
		r := newRig(t, Policy{MaxMessages: 3})
		for i := range 5 {
			r.must(Persist{Messages: []uimessage.Message{user(fmt.Sprint("u", i))}})
		}
		require.Equal(t, "u2 u3 u4", r.listed())
	})
	t.Run("89 many at once", func(t *testing.T) {
		r := newRig(t, Policy{MaxMessages: 2})
		r.must(Persist{Messages: users(300)})
		require.Equal(t, "u298 u299", r.listed())
	})
	t.Run("the model sees them in the turn that pushes them out, and not in the next", func(t *testing.T) {
		r := newRig(t, Policy{MaxMessages: 2})
		r.must(Persist{Messages: []uimessage.Message{user("u1"), assistant("a1")}})
		r.must(submit("r1", user("u1"), assistant("a1"), user("u2")))
		require.Len(t, r.state().PromptFor(r.state().Turns.Running()), 3)
		r.say("Answer")
		r.must(submit("r2", user("u1"), assistant("a1"), user("u2"), user("u3")))
		r.must(answer(r.due()))
		require.Equal(t, "u2 u3 a-r1", r.listed(), "what a turn is about stays")
		require.Len(t, r.state().PromptFor(r.state().Turns.Running()), 3)
		r.finish()
		require.Equal(t, "u3 a-r1", r.listed())
	})
	t.Run("a call that waits for somebody is not cut in two", func(t *testing.T) {
		r := newRig(t, Policy{MaxMessages: 2})
		r.must(Persist{Messages: []uimessage.Message{answering("a1", call("c", requested))}})
		r.must(Persist{Messages: users(3)})
		require.Equal(t, "a1 u1 u2", r.listed())
		r.must(Persist{Messages: []uimessage.Message{answering("a1", call("c", done, output("42"))), user("u8")}})
		require.Equal(t, "u2 u8", r.listed())
	})
	t.Run("82 a tab that still shows them may regenerate", func(t *testing.T) {
		r := newRig(t, Policy{MaxMessages: 3})
		r.must(Persist{Messages: []uimessage.Message{user("u1"), assistant("a1"), user("u2"), assistant("a2")}})
		require.Equal(t, "a1 u2 a2", r.listed())
		again := submit("r1", user("u1"), assistant("a1"), user("u2"))
		again.Regenerate = true
		r.must(again)
		require.Equal(t, "a1 u2", r.listed(), "the stale answer is gone")
	})
	t.Run("a tab that still shows them does not bring them back", func(t *testing.T) {
		r := newRig(t, Policy{MaxMessages: 2})
		r.must(Persist{Messages: users(4)})
		require.Equal(t, "u2 u3", r.listed())
		r.must(SetMessages{Messages: users(4)})
		require.Equal(t, "u2 u3", r.listed())
		r.must(submit("r1", append(users(4), user("u9"))...))
		require.Equal(t, "u2 u3 u9", r.listed())
		r.finish()
		require.Equal(t, "u3 u9", r.listed())
		r.must(submit("r2", append(users(4), user("u9"))...))
		require.Equal(t, "u3 u9", r.listed())
	})
}

func users(n int) []uimessage.Message {
	var list []uimessage.Message
	for i := range n {
		list = append(list, user(fmt.Sprint("u", i)))
	}
	return list
}
