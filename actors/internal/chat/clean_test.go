package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// 111: what the author's sanitizer leaves is what is stored.
func TestAnAnswerIsStoredAsTheSanitizerLeavesIt(t *testing.T) {
	r := newRig(t, Policy{Sanitizes: true, Hook: true})
	r.must(submit("r1", user("u1")))
	r.say("secret")
	cmd := answer(r.due()).(StepAnswered)
	clean := message("another id", uimessage.User, "clean")
	cmd.Cleaned = &clean
	r.must(cmd)
	require.Equal(t, "clean", r.text("a-r1"), "under its own id")
	require.IsType(t, Deliver{}, r.due())
}

func TestAnAnswerOfWhichNothingIsLeftIsNotStored(t *testing.T) {
	r := newRig(t, Policy{Sanitizes: true})
	r.must(submit("r1", user("u1")))
	r.say("secret")
	cmd := answer(r.due()).(StepAnswered)
	cmd.Cleaned = &uimessage.Message{}
	r.must(cmd)
	require.Equal(t, "u1", r.listed())
}

// A turn that is cancelled, or cut off, ends without its effect.
func TestAPartialAnswerIsCleanedBehindItsTurn(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"cancel":   func(r *rig) { r.must(Cancel{Request: "r1"}) },
		"given up": func(r *rig) { r.crash(0); r.crash(0) },
		"crash after the cancel": func(r *rig) {
			r.must(Cancel{Request: "r1"})
			r.crash(0)
			r.rebase()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{Sanitizes: true, Hook: true, MaxCrashes: 1})
			r.must(submit("r1", user("u1")))
			r.say("secret")
			end(r)
			require.Equal(t, "secret", r.text("a-r1"))
			due, ok := r.due().(Clean)
			require.True(t, ok)
			require.Empty(t, r.must(Cleaned{Clean: Clean{ID: due.ID, Mark: due.Mark + 1}, Message: assistant("x")}))
			_, items, err := r.step(answer(due))
			require.NoError(t, err)
			require.Equal(t, "cleaned", r.text("a-r1"))
			require.IsType(t, feed.Transcript{}, items[0], "everybody is shown it")
			require.Empty(t, r.must(answer(due)), "once")
			require.IsType(t, Deliver{}, r.due())
		})
	}
}

func TestACleaningThatFailsLeavesTheMessage(t *testing.T) {
	r := newRig(t, Policy{Sanitizes: true})
	r.must(submit("r1", user("u1")))
	r.say("text")
	r.must(Cancel{Request: "r1"})
	r.must(r.fail(r.due(), false))
	require.Equal(t, "text", r.text("a-r1"))
	work, _ := r.state().Outstanding()
	require.Empty(t, work)
}

func TestACleaningThatLeavesNothingRemovesTheMessage(t *testing.T) {
	r := newRig(t, Policy{Sanitizes: true})
	r.must(submit("r1", user("u1")))
	r.say("secret")
	r.must(Cancel{Request: "r1"})
	events := r.must(Cleaned{Clean: r.due().(Clean)})
	require.Equal(t, pb.RemovalReason_REMOVAL_REASON_EMPTIED, events[0].GetMessagesRemoved().GetReason())
	require.Equal(t, "u1", r.listed())
}

// 93, 94: what older programs have stored is brought up to date.
func TestHydrateBringsOldFormsUpToDate(t *testing.T) {
	s := &State{}
	for id, raw := range map[string]string{
		"words": `{"id":"words","role":"user","content":"hi"}`,
		"data":  `{"id":"data","role":"data","content":"hm"}`,
		"call":  `{"id":"call","role":"assistant","parts":[{"type":"tool-t","toolCallId":"c","state":"output-available","input":"no object","output":1}]}`,
	} {
		s.Transcript.applyPut(&pb.MessagesPut{Messages: []*pb.StoredMessage{{Id: id, Role: "user", Json: []byte(raw)}}})
	}
	require.Empty(t, s.Transcript.Hydrate())
	for id, want := range map[string]string{
		"words": `{"id":"words","role":"user","parts":[{"type":"text","text":"hi"}]}`,
		"data":  `{"id":"data","role":"system","parts":[{"type":"text","text":"hm"}]}`,
		"call":  `{"id":"call","role":"assistant","parts":[{"type":"tool-t","toolCallId":"c","state":"output-available","input":{},"rawInput":"no object","output":1}]}`,
	} {
		m, ok := s.Transcript.message(id)
		require.True(t, ok)
		require.JSONEq(t, want, string(m.JSON))
		require.Equal(t, string(m.parse().Role), m.Role)
	}
}

// 90: a row that nobody can read stops nothing, and stays in the journal.
func TestHydrate(t *testing.T) {
	bad := map[string]string{
		"no-id": `{"role":"user","parts":[]}`, "empty-id": `{"id":"","role":"user","parts":[]}`, "other-id": `{"id":"x","role":"user","parts":[]}`,
		"role": `{"id":"role","role":"tool","parts":[]}`, "parts": `{"id":"parts","role":"user","parts":{}}`, "list": `[1]`, "cut": `{"id":"cut","ro`,
	}
	s := holding(user("u1"), uimessage.Message{ID: "empty", Role: uimessage.System, Metadata: []byte(`{"n":1}`)}, assistant("a1"))
	for id, raw := range bad {
		s.Transcript.applyPut(&pb.MessagesPut{Messages: []*pb.StoredMessage{{Id: id, Role: "user", Json: []byte(raw)}}})
	}
	s.Ledger.Created = true
	require.Len(t, s.Transcript.Hydrate(), len(bad))
	require.Equal(t, []string{"u1", "empty", "a1"}, ids(s.Transcript.Messages), "91: no parts is no fault; 92: nor is a role")
	require.JSONEq(t, `[{"id":"u1","role":"user","parts":[{"type":"text","text":"ask u1"}]},{"id":"empty","role":"system","parts":[],"metadata":{"n":1}},
		{"id":"a1","role":"assistant","parts":[{"type":"text","text":"say a1"}]}]`, string(s.Transcript.AppendJSON(nil)))
	require.Empty(t, s.Transcript.Hydrate(), "told once")

	again := &State{}
	again.Apply(s.Base())
	require.Len(t, again.Transcript.Messages, 3+len(bad), "nothing is lost")
	require.Len(t, again.Transcript.Hydrate(), len(bad))
	again.Transcript.applyPut(&pb.MessagesPut{Messages: []*pb.StoredMessage{stored(user("cut"))}})
	last := &State{}
	last.Apply(again.Base())
	require.Len(t, last.Transcript.Hydrate(), len(bad)-1, "the author has written it anew")
}
