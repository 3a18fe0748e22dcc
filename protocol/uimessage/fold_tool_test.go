package uimessage

import "testing"

// A toolCase is a stream of one tool call and the part that it folds into.
type toolCase struct{ name, chunks, part string }

func runToolCases(t *testing.T, cases []toolCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			m := folded(t, Message{ID: "m"}, tc.chunks)
			wantJSON(t, m.AppendJSON(nil), `{"id":"m","role":"assistant","parts":[`+tc.part+`]}`)
		})
	}
}

func TestFoldOfToolCalls(t *testing.T) {
	runToolCases(t, []toolCase{
		{"the input streams as far as it can be read", `
			{"type":"tool-input-start","toolCallId":"c","toolName":"x","title":"X","providerExecuted":true,"providerMetadata":{"p":{"i":1}}}
			{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"city\":\"Os"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"input-streaming","title":"X","providerExecuted":true,
			  "input":{"city":"Os"},"rawInput":"{\"city\":\"Os","callProviderMetadata":{"p":{"i":1}}}`},
		{"text input streams as text", `
			{"type":"tool-input-start","toolCallId":"c","toolName":"x","inputEncoding":"text"}
			{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"ls -"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"input-streaming","inputEncoding":"text","input":"ls -","rawInput":"ls -"}`},
		{"the whole input takes the place of the streamed one", `
			{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"a"}
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1},"toolMetadata":{"m":1}}
			{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"late"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"input-available","input":{"a":1},"toolMetadata":{"m":1}}`},
		{"a dynamic tool stays dynamic", `
			{"type":"tool-input-start","toolCallId":"c","toolName":"mcp","dynamic":true}
			{"type":"tool-input-available","toolCallId":"c","toolName":"mcp","input":{"q":1},"dynamic":true}
			{"type":"tool-output-available","toolCallId":"c","output":2,"dynamic":true}`,
			`{"type":"dynamic-tool","toolCallId":"c","toolName":"mcp","state":"output-available","input":{"q":1},"output":2}`},
		{"a replay of an answered call changes nothing", `
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}
			{"type":"tool-output-available","toolCallId":"c","output":1}
			{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{}"}
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":2}}
			{"type":"tool-input-error","toolCallId":"c","toolName":"x","input":"","errorText":"no"}
			{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}
			{"type":"tool-output-error","toolCallId":"c","errorText":"no"}
			{"type":"tool-output-denied","toolCallId":"c"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-available","input":{"a":1},"output":1}`},
		{"preliminary outputs replace each other until the final one", `
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			{"type":"tool-output-available","toolCallId":"c","output":1,"preliminary":true}
			{"type":"tool-output-available","toolCallId":"c","output":2,"preliminary":true}
			{"type":"tool-output-available","toolCallId":"c","output":3,"providerMetadata":{"p":{}}}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-available","input":{},"output":3,"resultProviderMetadata":{"p":{}}}`},
		{"a preliminary output says so", `
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			{"type":"tool-output-available","toolCallId":"c","output":1,"preliminary":true}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-available","input":{},"output":1,"preliminary":true}`},
		{"a failing call keeps its input and loses its preliminary output", `
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}
			{"type":"tool-output-available","toolCallId":"c","output":1,"preliminary":true}
			{"type":"tool-output-error","toolCallId":"c","errorText":"upstream 500"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-error","input":{"a":1},"errorText":"upstream 500"}`},
		{"an input that is no JSON is kept beside the empty one", `
			{"type":"tool-input-error","toolCallId":"c","toolName":"x","input":"{oops","errorText":"invalid input"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-error","input":{},"rawInput":"{oops","errorText":"invalid input"}`},
		{"an error settles a call whose input was streaming", `
			{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"a\":"}
			{"type":"tool-output-error","toolCallId":"c","errorText":"cut off"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-error","input":{},"rawInput":"{\"a\":","errorText":"cut off"}`},
	})
}

func TestFoldOfApprovals(t *testing.T) {
	runToolCases(t, []toolCase{
		{"approval is asked, with all that the request says", `
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			{"type":"tool-approval-request","approvalId":"a","toolCallId":"c","reason":"big","isAutomatic":true,"signature":"s","approvalDescriptor":{"d":1}}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"approval-requested","input":{},
			  "approval":{"id":"a","requestReason":"big","isAutomatic":true,"signature":"s","descriptor":{"d":1}}}`},
		{"approval is given, and the output follows", `
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}
			{"type":"tool-approval-response","approvalId":"a","approved":true,"reason":"fine"}
			{"type":"tool-approval-request","approvalId":"b","toolCallId":"c"}
			{"type":"tool-output-denied","toolCallId":"c"}
			{"type":"tool-output-available","toolCallId":"c","output":null}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-available","input":{},"output":null,"approval":{"id":"a","approved":true,"reason":"fine"}}`},
		{"a denial by policy ends denied", `
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"path":"p"}}
			{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}
			{"type":"tool-approval-response","approvalId":"a","approved":false,"reason":"policy"}
			{"type":"tool-output-denied","toolCallId":"c"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"output-denied","input":{"path":"p"},"approval":{"id":"a","approved":false,"reason":"policy"}}`},
		{"an input that comes after the approval request is taken", `
			{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}
			{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}
			{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}`,
			`{"type":"tool-x","toolCallId":"c","toolName":"x","state":"approval-requested","input":{"a":1},"approval":{"id":"a"}}`},
	})
}

func TestFoldIgnoresChunksOfUnknownCalls(t *testing.T) {
	m := folded(t, Message{ID: "m"}, `
		{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"x"}
		{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}
		{"type":"tool-approval-response","approvalId":"a","approved":true}
		{"type":"tool-output-available","toolCallId":"c","output":1}
		{"type":"tool-output-error","toolCallId":"c","errorText":"x"}
		{"type":"tool-output-denied","toolCallId":"c"}`)
	wantJSON(t, m.AppendJSON(nil), `{"id":"m","role":"assistant","parts":[]}`)
}

func TestNormalizeInput(t *testing.T) {
	for in, want := range map[string]string{
		``: `{}`, `null`: `{}`, `""`: `{}`, `"words"`: `{}`, `5`: `{}`, `true`: `{}`, `[1]`: `{}`, `"[1]"`: `{}`,
		`{"a":1}`: `{"a":1}`, `"{\"a\": 1}"`: `{"a":1}`, `not json`: `{}`,
	} {
		if got := string(NormalizeInput([]byte(in))); got != want {
			t.Errorf("NormalizeInput(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestCompleteJSON(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `{`: `{}`, `{"a`: `{}`, `{"a"`: `{}`, `{"a":`: `{}`, `{"a":1`: `{"a":1}`, `{"a":1,`: `{"a":1}`,
		`{"a":-`: `{}`, `{"a":1.`: `{"a":1}`, `{"a":1e`: `{"a":1}`, `{"a":tr`: `{"a":true}`, `{"a":n`: `{"a":null}`,
		`{"a":"x`: `{"a":"x"}`, `{"a":"x\`: `{"a":"x"}`, `{"a":"x\u00`: `{"a":"x"}`, `{"a":"\"`: `{"a":"\""}`,
		`{"a":[1,{"b":"c`: `{"a":[1,{"b":"c"}]}`, `{"a":{"b":1},"c":[`: `{"a":{"b":1},"c":[]}`, `[1, 2`: `[1,2]`,
		`{"a":1}`: `{"a":1}`, `"te`: `"te"`, `oops`: ``, `}`: ``,
		`{"a":1}{"b":2`: `{"a":1}`, `"a"b"`: `"a"`, `1 2`: `1`, ` [1] x`: `[1]`, `{"a" 1`: ``,
	} {
		if got := string(completeJSON(in)); got != want {
			t.Errorf("completeJSON(%s) = %s, want %s", in, got, want)
		}
	}
}
