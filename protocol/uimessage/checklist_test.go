package uimessage

import (
	"strings"
	"testing"
)

// The behaviours of chunks by number, as chat.md, section 11 E lists them: what
// of a stream is sent on (by kind, without start), and the parts that it leaves.
// 138 is TestFoldedMessageIsACopyToKeep; 139 and 140 are about the providers'
// streams: "bytes may be split anywhere" of actors/model/internal/modelsuite.
type listed struct{ name, in, sent, parts string }

// runListed sends through a guard. Where a client would fail (sent is "refused")
// the fold alone is tried: it makes the best of it.
func runListed(t *testing.T, base Message, continuation bool, cases []listed) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g, f := NewGuard(base, continuation), NewFold(base)
			var sent []string
			for _, c := range chunks(t, tc.in) {
				out, err := g.Pass(nil, c)
				if err != nil {
					sent = append(sent, "refused")
					out = []Chunk{c}
				}
				for _, c := range out {
					if err == nil && c.Type != "start" {
						sent = append(sent, c.Type)
					}
					f.Apply(c)
				}
			}
			if got := strings.Join(sent, " "); got != strings.Join(strings.Fields(tc.sent), " ") {
				t.Errorf("sent %s", got)
			}
			want := f.Message()
			want.Parts = nil
			wantJSON(t, f.Message().AppendJSON(nil), strings.Replace(string(want.AppendJSON(nil)), `"parts":[]`, `"parts":`+tc.parts, 1))
		})
	}
}

func TestListedProse(t *testing.T) {
	runListed(t, Message{ID: "m"}, false, []listed{
		{"112 a text is opened, grows and is closed",
			`{"type":"text-start","id":"t"}
			 {"type":"text-delta","id":"t","delta":"a"}
			 {"type":"text-delta","id":"t","delta":"b"}
			 {"type":"text-end","id":"t"}`,
			`text-start text-delta text-delta text-end`,
			`[{"type":"text","text":"ab","state":"done"}]`},
		{"113 a delta without start makes a part, which an end closes",
			`{"type":"text-delta","id":"t","delta":"a"}
			 {"type":"text-end","id":"t"}`,
			`refused refused`,
			`[{"type":"text","text":"a","state":"done"}]`},
		{"114 two segments are two parts",
			`{"type":"text-start","id":"t"}
			 {"type":"text-delta","id":"t","delta":"a"}
			 {"type":"text-end","id":"t"}
			 {"type":"text-start","id":"t"}
			 {"type":"text-delta","id":"t","delta":"b"}`,
			`text-start text-delta text-end text-start text-delta`,
			`[{"type":"text","text":"a","state":"done"},{"type":"text","text":"b","state":"streaming"}]`},
		{"115 a reasoning is opened, grows and is closed",
			`{"type":"reasoning-start","id":"r"}
			 {"type":"reasoning-delta","id":"r","delta":"a"}
			 {"type":"reasoning-end","id":"r"}`,
			`reasoning-start reasoning-delta reasoning-end`,
			`[{"type":"reasoning","id":"r","text":"a","state":"done"}]`},
		{"115 a reasoning delta without start makes a part",
			`{"type":"reasoning-delta","id":"r","delta":"a"}`,
			`refused`,
			`[{"type":"reasoning","id":"r","text":"a","state":"streaming"}]`},
		{"116 the metadata of delta and end are merged",
			`{"type":"reasoning-start","id":"r"}
			 {"type":"reasoning-delta","id":"r","delta":"a","providerMetadata":{"p":{"x":1}}}
			 {"type":"reasoning-delta","id":"r","delta":"b"}
			 {"type":"reasoning-end","id":"r","providerMetadata":{"q":{"signature":"s"}}}`,
			`reasoning-start reasoning-delta reasoning-delta reasoning-end`,
			`[{"type":"reasoning","id":"r","text":"ab","state":"done","providerMetadata":{"p":{"x":1},"q":{"signature":"s"}}}]`},
	})
}

func TestListedParts(t *testing.T) {
	runListed(t, Message{ID: "m"}, false, []listed{
		{"117 files and sources are appended",
			`{"type":"file","mediaType":"m","url":"u"}
			 {"type":"source-url","sourceId":"s","url":"u","title":"T"}
			 {"type":"source-document","sourceId":"d","mediaType":"m","title":"D","filename":"f"}`,
			`file source-url source-document`,
			`[{"type":"file","mediaType":"m","url":"u"},{"type":"source-url","sourceId":"s","url":"u","title":"T"},
			  {"type":"source-document","sourceId":"d","mediaType":"m","title":"D","filename":"f"}]`},
		{"118 both names of a step's start leave a boundary, its end none",
			`{"type":"start-step"}
			 {"type":"finish-step"}
			 {"type":"step-start"}
			 {"type":"finish-step"}`,
			`start-step finish-step start-step finish-step`,
			`[{"type":"step-start"},{"type":"step-start"}]`},
		{"119 data of the same type and id is replaced in place",
			`{"type":"data-a","id":"1","data":1}
			 {"type":"data-a","id":"2","data":2}
			 {"type":"data-b","id":"1","data":3}
			 {"type":"data-a","data":4}
			 {"type":"data-a","data":5}
			 {"type":"data-a","id":"1","data":6}`,
			`data-a data-a data-b data-a data-a data-a`,
			`[{"type":"data-a","id":"1","data":6},{"type":"data-a","id":"2","data":2},{"type":"data-b","id":"1","data":3},{"type":"data-a","data":4},{"type":"data-a","data":5}]`},
		{"120 transient data is sent and not kept",
			`{"type":"data-a","id":"1","data":1,"transient":true}`,
			`data-a`,
			`[]`},
		{"137 what is not known is sent and not kept",
			`{"type":"brand-new","id":"x","data":1}`,
			`brand-new`,
			`[]`},
		{"the kinds of version 7 that are parts are kept",
			`{"type":"custom","kind":"v.k","providerMetadata":{"p":{}}}
			 {"type":"reasoning-file","mediaType":"m","url":"u"}
			 {"type":"steering-message","id":"s","parts":[{"type":"text","text":"x"}]}`,
			`custom reasoning-file steering-message`,
			`[{"type":"custom","kind":"v.k","providerMetadata":{"p":{}}},{"type":"reasoning-file","mediaType":"m","url":"u"},
			  {"type":"steering-message","id":"s","parts":[{"type":"text","text":"x"}]}]`},
	})
}

func TestListedCalls(t *testing.T) {
	runListed(t, Message{ID: "m"}, false, []listed{
		{"121 a call is one part through its states",
			`{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"a\":1}"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}
			 {"type":"tool-output-available","toolCallId":"c","output":2}`,
			`tool-input-start tool-input-delta tool-input-available tool-output-available`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-available","input":{"a":1},"output":2}]`},
		{"122 an input without start makes the part",
			`{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}`,
			`tool-input-available`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"input-available","input":{"a":1}}]`},
		{"123 a bad input is an error, without start and with one",
			`{"type":"tool-input-error","toolCallId":"c","toolName":"x","input":{"a":1},"errorText":"bad"}
			 {"type":"tool-input-start","toolCallId":"d","toolName":"x"}
			 {"type":"tool-input-error","toolCallId":"d","toolName":"x","input":{"a":2},"errorText":"bad"}`,
			`tool-input-error tool-input-start tool-input-error`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-error","input":{"a":1},"errorText":"bad"},
			  {"type":"tool-x","toolCallId":"d","toolName":"x","state":"output-error","input":{"a":2},"errorText":"bad"}]`},
		{"124 a failing call says so, an unknown one nothing",
			`{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			 {"type":"tool-output-error","toolCallId":"c","errorText":"down"}
			 {"type":"tool-output-error","toolCallId":"nobody","errorText":"down"}`,
			`tool-input-available tool-output-error refused`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-error","input":{},"errorText":"down"}]`},
		{"125 a preliminary output is marked until the final one",
			`{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			 {"type":"tool-output-available","toolCallId":"c","output":1,"preliminary":true}
			 {"type":"tool-input-available","toolCallId":"d","toolName":"x","input":{}}
			 {"type":"tool-output-available","toolCallId":"d","output":1,"preliminary":true}
			 {"type":"tool-output-available","toolCallId":"d","output":2}`,
			`tool-input-available tool-output-available tool-input-available tool-output-available tool-output-available`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-available","input":{},"output":1,"preliminary":true},
			  {"type":"tool-x","toolCallId":"d","toolName":"x","state":"output-available","input":{},"output":2}]`},
		{"126 metadata, who executes and the title are kept, however the part came about",
			`{"type":"tool-input-start","toolCallId":"c","toolName":"x","title":"T","providerExecuted":true,"providerMetadata":{"p":{"a":1}}}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			 {"type":"tool-input-available","toolCallId":"d","toolName":"x","input":{},"title":"T","providerExecuted":true,"providerMetadata":{"p":{"a":1}}}
			 {"type":"tool-output-available","toolCallId":"d","output":1}`,
			`tool-input-start tool-input-available tool-input-available tool-output-available`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"input-available","title":"T","input":{},"providerExecuted":true,"callProviderMetadata":{"p":{"a":1}}},
			  {"type":"tool-x","toolCallId":"d","toolName":"x","state":"output-available","title":"T","input":{},"output":1,"providerExecuted":true,"callProviderMetadata":{"p":{"a":1}}}]`},
		{"128, 129 a second start and late deltas change nothing and are not sent",
			`{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{"}`,
			`tool-input-start tool-input-available`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"input-available","input":{"a":1}}]`},
	})
}

func TestListedInputs(t *testing.T) {
	for in, want := range map[string]string{
		`null`: `{}`, `""`: `{}`, `[1]`: `{}`, `5`: `{}`, `"words"`: `{}`, `"{\"a\": 1}"`: `{"a":1}`, `{"b":[null]}`: `{"b":[null]}`,
	} {
		m := folded(t, Message{ID: "m"}, `{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":`+in+`}`)
		if got := string(m.Parts[0].Input); got != want {
			t.Errorf("127 input %s became %s, want %s", in, got, want)
		}
	}
}

// What a provider sends again, and what comes too late, moves no call back.
func TestListedReplays(t *testing.T) {
	for state, part := range map[string]string{
		"output-available":   `"output":1`,
		"output-error":       `"errorText":"down"`,
		"output-denied":      `"approval":{"id":"a","approved":false}`,
		"approval-responded": `"approval":{"id":"a","approved":true}`,
	} {
		parts := `[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"` + state + `","input":{"a":1},` + part + `}]`
		base := message(t, `{"id":"m","role":"assistant","parts":`+parts+`}`)
		cases := []listed{
			{"134 a whole replay, " + state,
				`{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
				 {"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{}"}
				 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":2}}`, ``, parts},
			{"130 an input, " + state,
				`{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":2}}`, ``, parts},
			{"133 a request and a refusal, " + state,
				`{"type":"tool-approval-request","approvalId":"b","toolCallId":"c"}
				 {"type":"tool-output-denied","toolCallId":"c"}`, ``, parts},
		}
		if state != "approval-responded" {
			cases = append(cases,
				listed{"131 a bad input, " + state, `{"type":"tool-input-error","toolCallId":"c","toolName":"x","input":{},"errorText":"bad"}`, ``, parts},
				listed{"134 another outcome, " + state,
					`{"type":"tool-output-available","toolCallId":"c","output":2}
					 {"type":"tool-output-error","toolCallId":"c","errorText":"late"}`, ``, parts})
		}
		runListed(t, base, true, cases)
	}
}

func TestListedApprovals(t *testing.T) {
	runListed(t, Message{ID: "m"}, false, []listed{
		{"132 a call waits for its approval, an unknown one does not",
			`{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			 {"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}
			 {"type":"tool-approval-request","approvalId":"b","toolCallId":"nobody"}`,
			`tool-input-available tool-approval-request refused`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"approval-requested","input":{},"approval":{"id":"a"}}]`},
		{"136 a late input is sent with the request again",
			`{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}`,
			`tool-input-start tool-approval-request tool-input-available tool-approval-request`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"approval-requested","input":{"a":1},"approval":{"id":"a"}}]`},
		{"the answer to a request is kept",
			`{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			 {"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}
			 {"type":"tool-approval-response","approvalId":"a","approved":false,"reason":"no"}
			 {"type":"tool-approval-response","approvalId":"a","approved":true}
			 {"type":"tool-output-denied","toolCallId":"c"}`,
			`tool-input-available tool-approval-request tool-approval-response tool-output-denied`,
			`[{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-denied","input":{},"approval":{"id":"a","approved":false,"reason":"no"}}]`},
	})
}

// 135: the output of a call of an earlier message must not go out as content of
// this one. Whoever gets the refusal folds it into the message that has the call.
func TestListedOutputOfAnEarlierMessage(t *testing.T) {
	const output = `{"type":"tool-output-available","toolCallId":"c","output":1}`
	runListed(t, Message{ID: "new"}, false, []listed{{"135 an output of another message's call", output, `refused`, `[]`}})
	earlier := message(t, approvedBase)
	once := folded(t, earlier, output)
	if p := once.Parts[2]; p.State != OutputAvailable || string(p.Output) != `1` || !p.Approval.yes() {
		t.Errorf("the call is %s", p.AppendJSON(nil))
	}
	again := folded(t, once, `{"type":"tool-output-error","toolCallId":"c","errorText":"late"}`)
	wantJSON(t, again.AppendJSON(nil), string(once.AppendJSON(nil)))
}
