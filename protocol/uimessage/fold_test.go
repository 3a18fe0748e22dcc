package uimessage

import (
	"errors"
	"strings"
	"testing"
)

// folded applies chunks, one JSON object per line, to base and returns the message.
func folded(t *testing.T, base Message, lines string) Message {
	t.Helper()
	f := NewFold(base)
	for _, c := range chunks(t, lines) {
		f.Apply(c)
	}
	return f.Message()
}

func chunks(t *testing.T, lines string) []Chunk {
	t.Helper()
	var out []Chunk
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		c, err := ParseChunk([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, c)
	}
	return out
}

func message(t *testing.T, data string) Message {
	t.Helper()
	m, err := ParseMessage([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantJSON compares JSON by meaning.
func wantJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	if !sameJSON(got, []byte(want)) {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestFold(t *testing.T) {
	for _, tc := range []struct{ name, chunks, parts string }{
		{"text opens, grows and closes", `
			{"type":"text-start","id":"t"}
			{"type":"text-delta","id":"t","delta":"Hel"}
			{"type":"text-delta","id":"t","delta":"lo"}
			{"type":"text-end","id":"t"}`,
			`[{"type":"text","text":"Hello","state":"done"}]`},
		{"interleaved texts keep to their ids", `
			{"type":"text-start","id":"a"}
			{"type":"text-start","id":"b"}
			{"type":"text-delta","id":"a","delta":"1"}
			{"type":"text-delta","id":"b","delta":"2"}
			{"type":"text-end","id":"a"}
			{"type":"text-delta","id":"b","delta":"3"}`,
			`[{"type":"text","text":"1","state":"done"},{"type":"text","text":"23","state":"streaming"}]`},
		{"a delta without start makes a part, an end closes it", `
			{"type":"text-delta","id":"x","delta":"hi"}
			{"type":"text-end","id":"x"}`,
			`[{"type":"text","text":"hi","state":"done"}]`},
		{"reasoning keeps its id and the newest metadata of each provider", `
			{"type":"reasoning-start","id":"r","providerMetadata":{"a":{"x":1},"b":{"y":1}}}
			{"type":"reasoning-delta","id":"r","delta":"Hm","providerMetadata":{"a":{"z":2}}}
			{"type":"reasoning-end","id":"r"}`,
			`[{"type":"reasoning","id":"r","text":"Hm","state":"done","providerMetadata":{"a":{"z":2},"b":{"y":1}}}]`},
		{"citations come with the end", `
			{"type":"text-start","id":"t","providerMetadata":{"p":{}}}
			{"type":"text-end","id":"t","citations":[{"url":"u"}]}`,
			`[{"type":"text","text":"","state":"done","citations":[{"url":"u"}],"providerMetadata":{"p":{}}}]`},
		{"steps leave a boundary where they start, none where they finish", `
			{"type":"start-step"}
			{"type":"finish-step"}
			{"type":"step-start"}`,
			`[{"type":"step-start"},{"type":"step-start"}]`},
		{"whole parts are pushed as they are", `
			{"type":"file","mediaType":"image/png","url":"u"}
			{"type":"reasoning-file","mediaType":"image/png","url":"v"}
			{"type":"source-url","sourceId":"s","url":"w","title":"W","providerMetadata":{"p":{}}}
			{"type":"source-document","sourceId":"d","mediaType":"application/pdf","title":"D","filename":"d.pdf"}
			{"type":"custom","kind":"vendor.thing"}
			{"type":"steering-message","id":"m","parts":[{"type":"text","text":"x"}]}`,
			`[{"type":"file","mediaType":"image/png","url":"u"},{"type":"reasoning-file","mediaType":"image/png","url":"v"},
			  {"type":"source-url","sourceId":"s","url":"w","title":"W","providerMetadata":{"p":{}}},
			  {"type":"source-document","sourceId":"d","mediaType":"application/pdf","title":"D","filename":"d.pdf"},
			  {"type":"custom","kind":"vendor.thing"},{"type":"steering-message","id":"m","parts":[{"type":"text","text":"x"}]}]`},
		{"data is replaced by type and id, else appended, never if transient", `
			{"type":"data-p","id":"1","data":{"pct":0}}
			{"type":"data-p","data":1}
			{"type":"data-p","data":2}
			{"type":"data-q","id":"1","data":null}
			{"type":"data-t","id":"1","data":1,"transient":true}
			{"type":"data-p","id":"1","data":{"pct":100}}`,
			`[{"type":"data-p","id":"1","data":{"pct":100}},{"type":"data-p","data":1},{"type":"data-p","data":2},{"type":"data-q","id":"1","data":null}]`},
		{"reset-step drops what the current step has made, tools included", `
			{"type":"start-step"}
			{"type":"text-start","id":"a"}
			{"type":"start-step"}
			{"type":"text-start","id":"u"}
			{"type":"text-delta","id":"u","delta":"gone"}
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			{"type":"reset-step"}
			{"type":"tool-output-available","toolCallId":"c","output":1}
			{"type":"text-start","id":"v"}`,
			`[{"type":"step-start"},{"type":"text","text":"","state":"streaming"},{"type":"step-start"},{"type":"text","text":"","state":"streaming"}]`},
		{"unknown kinds, errors, aborts and ends of nothing leave no trace", `
			{"type":"brand-new","x":1}
			{"type":"error","errorText":"boom"}
			{"type":"abort","reason":"user"}
			{"type":"text-end","id":"nobody"}
			{"type":"finish"}`,
			`[]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := folded(t, Message{ID: "m"}, tc.chunks)
			wantJSON(t, m.AppendJSON(nil), `{"id":"m","role":"assistant","parts":`+tc.parts+`}`)
		})
	}
}

func TestFoldMergesMetadataDeeplyAndTakesTheMessageID(t *testing.T) {
	m := folded(t, Message{ID: "ours", Metadata: []byte(`{"kept":1,"deep":{"a":1}}`)}, `
		{"type":"start","messageId":"theirs","messageMetadata":{"deep":{"b":2}}}
		{"type":"message-metadata","messageMetadata":{"tokens":3,"kept":null}}
		{"type":"finish","messageMetadata":{"finishReason":"stop"}}`)
	wantJSON(t, m.AppendJSON(nil), `{"id":"theirs","role":"assistant","parts":[],
		"metadata":{"kept":null,"deep":{"a":1,"b":2},"tokens":3,"finishReason":"stop"}}`)
}

func TestFoldOfAContinuationKeepsWhatTheBaseHas(t *testing.T) {
	base := message(t, `{"id":"m","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"cut o","state":"streaming"},
		{"type":"tool-pay","toolCallId":"c","state":"approval-responded","input":{"n":1},"approval":{"id":"a","approved":true}}],"own":1}`)
	before := string(base.AppendJSON(nil))
	m := folded(t, base, `
		{"type":"start"}
		{"type":"reset-step"}
		{"type":"tool-input-available","toolCallId":"c","toolName":"pay","input":{"n":1}}
		{"type":"tool-output-available","toolCallId":"c","output":"paid"}
		{"type":"start-step"}
		{"type":"text-delta","id":"t","delta":"ff"}`)
	wantJSON(t, m.AppendJSON(nil), `{"id":"m","role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"cut off","state":"streaming"},
		{"type":"tool-pay","toolCallId":"c","state":"output-available","input":{"n":1},"output":"paid","approval":{"id":"a","approved":true}},
		{"type":"step-start"}],"own":1}`)
	if after := string(base.AppendJSON(nil)); after != before {
		t.Errorf("the base was changed: %s", after)
	}
}

func TestFoldedMessageIsACopyToKeep(t *testing.T) {
	f := NewFold(Message{ID: "m"})
	for _, c := range chunks(t, `
		{"type":"text-start","id":"t"}
		{"type":"text-delta","id":"t","delta":"one"}
		{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
		{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}`) {
		f.Apply(c)
	}
	kept := f.Message()
	before := string(kept.AppendJSON(nil))
	f.Delta("text-delta", "t", " two")
	f.Apply(Chunk{Type: "tool-approval-response", ApprovalID: "a", Approved: true})
	f.Apply(Chunk{Type: "start-step"})
	if after := string(kept.AppendJSON(nil)); after != before {
		t.Errorf("kept message became %s", after)
	}
}

func TestFoldDeltaOfARunEqualsItsDeltas(t *testing.T) {
	const opened = `
		{"type":"text-start","id":"t"}
		{"type":"reasoning-start","id":"r"}
		{"type":"tool-input-start","toolCallId":"c","toolName":"x"}`
	one, run := NewFold(Message{ID: "m"}), NewFold(Message{ID: "m"})
	for _, c := range chunks(t, opened) {
		one.Apply(c)
		run.Apply(c)
	}
	for _, s := range []string{`{"a`, `":"`, `é`} {
		one.Apply(Chunk{Type: "text-delta", ID: "t", Delta: s})
		one.Apply(Chunk{Type: "reasoning-delta", ID: "r", Delta: s})
		one.Apply(Chunk{Type: "tool-input-delta", ToolCallID: "c", Delta: s})
	}
	run.Delta("text-delta", "t", `{"a":"é`)
	run.Delta("reasoning-delta", "r", `{"a":"é`)
	run.Delta("tool-input-delta", "c", `{"a":"é`)
	wantJSON(t, run.Message().AppendJSON(nil), string(one.Message().AppendJSON(nil)))
}

// A continuation's prose is a part of its own, with a start of its own: a page
// fails on a delta of a part that it was not told of, also where what was cut off
// still says that it streams.
func TestProseOfAContinuationIsAPartOfItsOwn(t *testing.T) {
	for _, kind := range []string{"text", "reasoning"} {
		for _, state := range []string{Streaming, Done} {
			cut := `{"type":"` + kind + `","text":"cut o","state":"` + state + `"}`
			base := message(t, `{"id":"m","role":"assistant","parts":[`+cut+`]}`)
			var unfit *SequenceError
			if _, err := NewGuard(base, true).Pass(nil, Chunk{Type: kind + "-delta", ID: "t", Delta: "ff"}); !errors.As(err, &unfit) {
				t.Errorf("%s %s: a delta without start: %v", kind, state, err)
			}
			rest := `{"type":"start"}
				{"type":"` + kind + `-start","id":"t"}
				{"type":"` + kind + `-delta","id":"t","delta":"ff"}
				{"type":"` + kind + `-end","id":"t"}`
			if got := passed(t, NewGuard(base, true), rest); got != tidy(rest) {
				t.Errorf("%s %s: sent\n%s", kind, state, got)
			}
			m := folded(t, base, rest)
			if len(m.Parts) != 2 || m.Parts[0].Text != "cut o" || m.Parts[1].Text != "ff" || m.Parts[1].State != Done {
				t.Errorf("%s %s: %s", kind, state, m.AppendJSON(nil))
			}
		}
	}
}
