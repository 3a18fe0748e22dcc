package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func big(n int) string { return strings.Repeat("x", n) }

func TestShrinkKeepsTheShape(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"short":   {`{"a":1}`, `{"a":1}`},
		"string":  {`"` + big(2000) + `"`, `"` + big(1000-2-28) + `... [truncated 2000 chars]"`},
		"number":  {big(0) + "12", "12"},
		"members": {`{"path":"/x","content":"` + big(3000) + `","lines":1}`, `{"path":"/x","content":"` + big(333-2-28) + `... [truncated 3000 chars]","lines":1}`},
		"nested":  {`{"a":{"b":["` + big(3000) + `"]}}`, `{"a":{"b":["` + big(1000-2-28) + `... [truncated 3000 chars]"]}}`},
	} {
		got := string(shrink(json.RawMessage(c.raw), longOutput, 0))
		require.True(t, json.Valid([]byte(got)), name)
		require.Equal(t, shape(t, c.want), shape(t, got), name)
		require.LessOrEqual(t, utf8.RuneCountInString(got), longOutput+leastKept, name)
	}
}

// shape is a JSON value with its strings cut to what tells them apart.
func shape(t *testing.T, raw string) any {
	var v any
	require.NoError(t, json.Unmarshal([]byte(raw), &v))
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			return strings.TrimLeft(v, "x")
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		}
		return v
	}
	return walk(v)
}

func TestShrinkSaysWhatIsMissing(t *testing.T) {
	var members, list []string
	for i := range 1000 {
		members = append(members, fmt.Sprintf(`"key-%d":%d`, i, i))
		list = append(list, fmt.Sprint(i))
	}
	deep := strings.Repeat(`{"a":`, 20) + `"` + big(2000) + `"` + strings.Repeat("}", 20)
	for name, raw := range map[string]string{
		"object": "{" + strings.Join(members, ",") + "}",
		"list":   "[" + strings.Join(list, ",") + "]",
		"deep":   deep,
	} {
		got := shrink(json.RawMessage(raw), longOutput, 0)
		require.True(t, json.Valid(got), name)
		require.Less(t, len(got), 1200, name)
		require.Contains(t, string(got), "truncated", name)
	}
	require.Contains(t, string(shrink(json.RawMessage("{"+strings.Join(members, ",")+"}"), longOutput, 0)), `{"key-0":0,"key-1":1`)
}

func TestCompact(t *testing.T) {
	outputs := answering("a1", says("text"), call("c", done, output(big(5000))), call("d", done, output("short")), call("e", open))
	outputs.Metadata = json.RawMessage(`{"n":1}`)
	t.Run("97 outputs go first, and are listed", func(t *testing.T) {
		m := compact(outputs, 3000)
		require.Equal(t, `{"n":1,"compactedToolOutputs":["c"]}`, string(m.Metadata))
		require.Less(t, len(m.Parts[1].Output), 1100)
		require.Equal(t, outputs.Parts[2:], m.Parts[2:])
		require.Equal(t, "text", m.Parts[0].Text)
		require.Len(t, outputs.Parts[1].Output, 5002, "the whole message is not touched")
	})
	texts := answering("a1", says(big(4000)), says("short"), says(big(3000)), says(big(2000)))
	t.Run("then texts, oldest first, as many as need be", func(t *testing.T) {
		m := compact(texts, 4000)
		require.Equal(t, `{"compactedTextParts":[0,2]}`, string(m.Metadata))
		require.True(t, strings.HasPrefix(m.Parts[0].Text, big(500)+"\n\n[The rest"))
		require.Equal(t, big(2000), m.Parts[3].Text)
	})
	t.Run("of other roles only texts are cut", func(t *testing.T) {
		m := compact(uimessage.Message{ID: "u", Role: uimessage.User, Parts: outputs.Parts}, 100)
		require.Equal(t, outputs.Parts, m.Parts)
	})
	t.Run("metadata that is no object stays", func(t *testing.T) {
		m := outputs
		m.Metadata = json.RawMessage(`"mine"`)
		require.Equal(t, `"mine"`, string(compact(m, 3000).Metadata))
	})
}

// 98: what counts is bytes.
func TestSizeIsMeasuredInBytes(t *testing.T) {
	c := New(Policy{MaxBytes: 3000})
	out, _ := c.guardSize(message("u1", uimessage.User, strings.Repeat("é", 1400)))
	require.Empty(t, out.GetFullRef())
	out, _ = c.guardSize(message("u1", uimessage.User, strings.Repeat("é", 1600)))
	require.NotEmpty(t, out.GetFullRef())
	require.Empty(t, New(Policy{}).policy.MaxBytes-1_800_000)
}

// An answer that goes on after a cut is compacted when it is whole.
func TestAPartialAnswerIsNotCompactedBeforeItsEnd(t *testing.T) {
	for name, end := range map[string]func(*rig){
		"it goes on":        func(r *rig) { r.say(" and more"); r.finish() },
		"it is cancelled":   func(r *rig) { r.must(Cancel{Request: "r1"}) },
		"it is cut at once": func(r *rig) { r.crash(0); r.must(Cancel{Request: "r1"}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Policy{MaxBytes: 2000})
			r.must(submit("r1", user("u1")))
			r.say(big(3000))
			r.crash(0)
			require.Len(t, r.text("a-r1"), 3000)
			end(r)
			m, _ := r.state().Transcript.message("a-r1")
			require.Contains(t, string(r.core.Blob(m.FullRef)), big(3000))
			require.Less(t, len(m.JSON), 2000)
		})
	}
}

// 96, 99: the whole value is beside what is stored.
func TestALargeMessageIsStoredCompactedWithItsWholeValueBeside(t *testing.T) {
	r := newRig(t, Policy{MaxBytes: 2000})
	question := message("u1", uimessage.User, big(5000))
	r.must(submit("r1", question))
	m := r.state().Transcript.Messages[0]
	require.Less(t, len(m.JSON), 2000)
	require.JSONEq(t, string(question.AppendJSON(nil)), string(r.core.Blob(m.FullRef)))
	require.Equal(t, []string{m.FullRef}, r.state().Transcript.Blobs())

	r.say(big(3000))
	r.must(answer(r.due()))
	a, _ := r.state().Transcript.message("a-r1")
	require.Contains(t, string(r.core.Blob(a.FullRef)), big(3000))
	require.Empty(t, r.state().Transcript.Steps("a-r1"), "the model sees what is stored")
	before := r.state().Transcript.Blobs()
	require.Len(t, before, 2)

	events := r.must(submit("r2", question, answering("a-r1", says(big(3000))), user("u2")))
	require.Equal(t, "u2", events[0].GetMessagesPut().GetMessages()[0].GetId(), "the same again is no change")
	require.Nil(t, r.core.TakeForgeries())
	r.finish()
	r.crash(0)
	r.rebase()
	require.Equal(t, before, r.state().Transcript.Blobs())
	r.must(Persist{Messages: []uimessage.Message{user("u1")}})
	require.Equal(t, before[1:], r.state().Transcript.Blobs())
	r.must(Clear{})
	require.Empty(t, r.state().Transcript.Blobs())
}
