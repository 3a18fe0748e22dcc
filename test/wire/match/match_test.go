package match_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/wire/match"
)

// turnChunks are the chunks of a short answer.
const turnChunks = `[{"type":"start","messageId":"<assistant:1>"},{"type":"text-start","id":"t"},{"type":"text-delta","id":"t","delta":"ab"},{"type":"text-delta","id":"t","delta":"cd"},{"type":"text-end","id":"t"}]`

// Content frames of the same answer, and what may stand around them.
const (
	start    = `{"type":"cf_agent_use_chat_response","id":"r","body":{"type":"start","messageId":"m-1"},"done":false,"seq":0}`
	open     = `{"type":"cf_agent_use_chat_response","id":"r","body":{"type":"text-start","id":"t"},"done":false,"seq":1}`
	ab       = `{"type":"cf_agent_use_chat_response","id":"r","body":{"type":"text-delta","id":"t","delta":"ab"},"done":false,"seq":2}`
	cd       = `{"type":"cf_agent_use_chat_response","id":"r","body":{"type":"text-delta","id":"t","delta":"cd"},"done":false,"seq":3}`
	shut     = `{"type":"cf_agent_use_chat_response","id":"r","body":{"type":"text-end","id":"t"},"done":false,"seq":4}`
	done     = `{"type":"cf_agent_use_chat_response","id":"r","body":"","done":true}`
	complete = `{"type":"cf_agent_use_chat_response","id":"r","body":"","done":false,"replay":true,"replayComplete":true}`
	list     = `{"type":"cf_agent_chat_messages","messages":[{"id":"m-1","role":"assistant","parts":[{"type":"text","text":"ab"}]}]}`
)

func replayed(frame string) string { return `{"replay":true,` + frame[1:] }

// judge compares one connection's events with its items.
func judge(t *testing.T, items string, events ...string) []string {
	t.Helper()
	s, err := match.Parse([]byte(`{"scenario":"x","conns":{"A":` + items + `}}`))
	require.NoError(t, err)
	got := make([]any, len(events))
	for i, e := range events {
		require.NoError(t, json.Unmarshal([]byte(e), &got[i]))
	}
	return s.Judge(map[string][]any{"A": got})
}

func TestNotation(t *testing.T) {
	const (
		stream = `{"$stream":{"id":"r","chunks":` + turnChunks + `}}`
		joined = `{"$stream":{"id":"r","chunks":` + turnChunks + `,"join":true}}`
		again  = `{"$stream":{"id":"r","chunks":` + turnChunks + `,"replay":true}}`
		cut    = `{"$stream":{"id":"r","chunks":` + turnChunks + `,"cut":true,"min":2,"text":"text:cut"}}`
		end    = `{"type":"cf_agent_use_chat_response","id":"r","body":"","done":true}`
		cutRow = `{"type":"cf_agent_chat_messages","messages":[{"id":"<assistant:1>","role":"assistant","parts":[{"type":"text","text":"<text:cut>"}]}]}`
		a, b   = `{"type":"cf_a"}`, `{"type":"cf_b"}`
	)
	whole := []string{start, open, ab, cd, shut}
	with := func(frames []string, more ...string) []string {
		return append(frames[:len(frames):len(frames)], more...)
	}
	cases := []struct {
		name   string
		items  string
		events []string
		fits   bool
	}{
		{"a whole stream", `[` + stream + `,` + end + `]`, with(whole, done), true},
		{"a stream without its end", `[` + stream + `,` + end + `]`, whole, false},
		{"a chunk is missing", `[` + stream + `]`, []string{start, open, ab, shut}, false},
		{"chunks are swapped", `[` + stream + `]`, []string{start, open, cd, ab, shut}, false},
		{"a chunk twice", `[` + stream + `]`, []string{start, open, ab, ab, cd, shut}, false},
		{"replayed though it should be live", `[` + stream + `]`, []string{replayed(start), open, ab, cd, shut}, false},
		{"a prefix replayed, the rest live", `[` + joined + `]`, []string{replayed(start), replayed(open), complete, ab, cd, shut}, true},
		{"joined without replayComplete", `[` + joined + `]`, []string{replayed(start), replayed(open), ab, cd, shut}, false},
		{"live before the replay is complete", `[` + joined + `]`, []string{replayed(start), open, complete, ab, cd, shut}, false},
		{"all replayed", `[` + again + `]`, []string{replayed(start), replayed(open), replayed(ab), replayed(cd), replayed(shut)}, true},
		{"cut, and the text so far stored", `[` + cut + `,` + cutRow + `]`, []string{start, open, ab, list}, true},
		{"cut, and more stored than was shown", `[` + cut + `,` + cutRow + `]`, []string{start, open, list}, false},
		{"cut too early", `[` + cut + `]`, []string{start}, false},
		{"optional, there", `[{"$opt":[` + a + `]},` + b + `]`, []string{a, b}, true},
		{"optional, not there", `[{"$opt":[` + a + `]},` + b + `]`, []string{b}, true},
		{"one of two", `[{"$any":[[` + a + `],[` + b + `,` + b + `]]}]`, []string{b, b}, true},
		{"half of one of two", `[{"$any":[[` + a + `],[` + b + `,` + b + `]]}]`, []string{b}, false},
		{"interleaved", `[{"$par":[[` + a + `,` + a + `],[` + b + `]]}]`, []string{a, b, a}, true},
		{"interleaved, one missing", `[{"$par":[[` + a + `,` + a + `],[` + b + `]]}]`, []string{a, b}, false},
		{"any number", `[{"$star":[` + a + `]},` + b + `]`, []string{a, a, a, b}, true},
		{"none of any number", `[{"$star":[` + a + `]},` + b + `]`, []string{b}, true},
		{"what is wanted", `[{"$improve":{"n":1,"want":[` + a + `,` + b + `],"reference":[]}}]`, []string{a, b}, true},
		{"what the first implementation does", `[{"$improve":{"n":1,"want":[` + a + `],"reference":[]}}]`, nil, false},
		{"something unexpected at the end", `[` + a + `]`, []string{a, b}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			faults := judge(t, c.items, c.events...)
			require.Equal(t, c.fits, len(faults) == 0, "%v", faults)
		})
	}
}

func TestValues(t *testing.T) {
	const none = `{"type":"cf_agent_stream_resume_none","reason":"idle"}`
	cases := []struct {
		name, want, got string
		fits            bool
	}{
		{"an unknown field", none, `{"type":"cf_agent_stream_resume_none","reason":"idle","extra":1}`, true},
		{"a field of the protocol where it does not belong", none, `{"type":"cf_agent_stream_resume_none","reason":"idle","probeId":"p"}`, false},
		{"another value", none, `{"type":"cf_agent_stream_resume_none","reason":"busy"}`, false},
		{"a false flag", done, `{"type":"cf_agent_use_chat_response","id":"r","body":"","done":true,"error":false}`, true},
		{"a true flag", done, `{"type":"cf_agent_use_chat_response","id":"r","body":"","done":true,"error":true}`, false},
		{"outcome completed", done, `{"type":"cf_agent_use_chat_response","id":"r","body":"","done":true,"outcome":"completed"}`, true},
		{"outcome aborted", done, `{"type":"cf_agent_use_chat_response","id":"r","body":"","done":true,"outcome":"aborted"}`, false},
		{"an optional key", `{"type":"cf_x","id":{"$opt":"<any>"}}`, `{"type":"cf_x"}`, true},
		{"one of two values", `{"type":"cf_x","id":{"$or":["a","b"]}}`, `{"type":"cf_x","id":"b"}`, true},
		{"text like that", `{"type":"cf_x","id":{"$re":"^(a )+$"}}`, `{"type":"cf_x","id":"a a "}`, true},
		{"text unlike that", `{"type":"cf_x","id":{"$re":"^(a )+$"}}`, `{"type":"cf_x","id":"a b "}`, false},
		{"neither of two values", `{"type":"cf_x","id":{"$or":["a","b"]}}`, `{"type":"cf_x","id":"c"}`, false},
		{"at least these fields", `{"type":"cf_x","id":{"$some":{"a":1}}}`, `{"type":"cf_x","id":{"a":1,"b":2}}`, true},
		{"a list with an optional element", `{"type":"cf_x","id":["a",{"$maybe":"b"},"c"]}`, `{"type":"cf_x","id":["a","c"]}`, true},
		{"a list with a foreign element", `{"type":"cf_x","id":["a",{"$maybe":"b"},"c"]}`, `{"type":"cf_x","id":["a","x","c"]}`, false},
		{"readable words", `{"type":"cf_x","id":"<words>"}`, `{"type":"cf_x","id":"Sorry."}`, true},
		{"no readable words", `{"type":"cf_x","id":"<words>"}`, `{"type":"cf_x","id":"{}"}`, false},
		{"one variable, one value", `{"type":"cf_x","id":["<a:1>","<a:1>"]}`, `{"type":"cf_x","id":["v","v"]}`, true},
		{"one variable, two values", `{"type":"cf_x","id":["<a:1>","<a:1>"]}`, `{"type":"cf_x","id":["v","w"]}`, false},
		{"two variables of a kind, one value", `{"type":"cf_x","id":["<a:1>","<a:2>"]}`, `{"type":"cf_x","id":["v","v"]}`, false},
		{"two kinds, one value", `{"type":"cf_x","id":["<a:1>","<b:1>"]}`, `{"type":"cf_x","id":["v","v"]}`, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			faults := judge(t, `[`+c.want+`]`, c.got)
			require.Equal(t, c.fits, len(faults) == 0, "%v", faults)
		})
	}
}

func TestAVariableHoldsOverConnections(t *testing.T) {
	s, err := match.Parse([]byte(`{"scenario":"x","conns":{"A":[{"type":"cf_x","id":"<a:1>"}],"B":[{"type":"cf_y","id":"<a:1>"}]}}`))
	require.NoError(t, err)
	event := func(kind, id string) []any { return []any{map[string]any{"type": kind, "id": id}} }
	require.Empty(t, s.Judge(map[string][]any{"A": event("cf_x", "v"), "B": event("cf_y", "v")}))
	require.NotEmpty(t, s.Judge(map[string][]any{"A": event("cf_x", "v"), "B": event("cf_y", "w")}))
	require.NotEmpty(t, s.Judge(map[string][]any{"A": event("cf_x", "v"), "B": event("cf_y", "v"), "C": event("cf_z", "v")}), "a connection that is not expected")
}

func TestUnknownNotationIsRefused(t *testing.T) {
	_, err := match.Parse([]byte(`{"scenario":"x","conns":{"A":[{"$perhaps":[]}]}}`))
	require.ErrorContains(t, err, "$perhaps")
	_, err = match.Parse([]byte(`{"scenario":"x","conns":{"A":[{"$stream":{"id":"r","chunks":[],"often":true}}]}}`))
	require.ErrorContains(t, err, "often")
}
