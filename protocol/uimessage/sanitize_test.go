package uimessage

import (
	"strings"
	"testing"
)

func TestSanitize(t *testing.T) {
	long := strings.Repeat("ü", maxProviderString+1)
	short := strings.Repeat("ü", maxProviderString-len([]rune(cutMark))) + cutMark
	for _, tc := range []struct{ name, in, out string }{
		{"OpenAI's item ids and encrypted reasoning go, the rest stays",
			`[{"type":"text","text":"x","providerMetadata":{"openai":{"itemId":"i","reasoningEncryptedContent":"e","logprobs":1},"other":{"itemId":"o"}}},
			  {"type":"tool-x","toolCallId":"c","state":"input-available","callProviderMetadata":{"openai":{"itemId":"i"}}}]`,
			`[{"type":"text","text":"x","providerMetadata":{"openai":{"logprobs":1},"other":{"itemId":"o"}}},
			  {"type":"tool-x","toolCallId":"c","state":"input-available"}]`},
		{"a reasoning part goes if nothing is left of it",
			`[{"type":"reasoning","text":" \n","providerMetadata":{"openai":{"itemId":"i"}}},
			  {"type":"reasoning","text":""},
			  {"type":"reasoning","text":"","providerMetadata":{"anthropic":{"redactedData":"r"}}},
			  {"type":"reasoning","text":"thought"},
			  {"type":"text","text":""}]`,
			`[{"type":"reasoning","text":"","providerMetadata":{"anthropic":{"redactedData":"r"}}},
			  {"type":"reasoning","text":"thought"},
			  {"type":"text","text":""}]`},
		{"long strings of provider-executed calls are cut, in any depth",
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"input":{"a":["` + long + `",1.50]},"output":"` + long + `"}]`,
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"input":{"a":["` + short + `",1.50]},"output":"` + short + `"}]`},
		{"encrypted values stay whole",
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"output":{"encryptedX":"` + long + `","y":"` + long + `"}}]`,
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"output":{"encryptedX":"` + long + `","y":"` + short + `"}}]`},
		{"web tools and our own calls stay whole",
			`[{"type":"tool-web_search","toolCallId":"c","state":"output-available","providerExecuted":true,"output":"` + long + `"},
			  {"type":"dynamic-tool","toolName":"web_fetch","toolCallId":"c","state":"output-available","providerExecuted":true,"output":"` + long + `"},
			  {"type":"tool-code","toolCallId":"c","state":"output-available","output":"` + long + `"}]`,
			`[{"type":"tool-web_search","toolCallId":"c","state":"output-available","providerExecuted":true,"output":"` + long + `"},
			  {"type":"dynamic-tool","toolName":"web_fetch","toolCallId":"c","state":"output-available","providerExecuted":true,"output":"` + long + `"},
			  {"type":"tool-code","toolCallId":"c","state":"output-available","output":"` + long + `"}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := message(t, `{"id":"m","role":"assistant","parts":`+tc.in+`}`)
			before := string(in.AppendJSON(nil))
			once := Sanitize(in)
			wantJSON(t, once.AppendJSON(nil), `{"id":"m","role":"assistant","parts":`+tc.out+`}`)
			wantJSON(t, Sanitize(once).AppendJSON(nil), string(once.AppendJSON(nil)))
			if string(in.AppendJSON(nil)) != before {
				t.Error("the argument was changed")
			}
		})
	}
}

func TestSameParts(t *testing.T) {
	for _, tc := range []struct {
		name, a, b string
		same       bool
	}{
		{"order of members does not count", `[{"type":"data-x","data":{"a":1,"b":[2]}}]`, `[{"data":{"b":[2.0],"a":1},"type":"data-x"}]`, true},
		{"a reasoning id does not count", `[{"type":"reasoning","id":"r","text":"x"}]`, `[{"type":"reasoning","text":"x"}]`, true},
		{"a toolName that the type tells does not count", `[{"type":"tool-x","toolName":"x","toolCallId":"c","state":"s"}]`, `[{"type":"tool-x","toolCallId":"c","state":"s"}]`, true},
		{"what sanitizing removes does not count", `[{"type":"reasoning","text":""},{"type":"text","text":"x"}]`, `[{"type":"text","text":"x"}]`, true},
		{"a false flag is the same as none", `[{"type":"tool-x","toolCallId":"c","state":"s","preliminary":false}]`, `[{"type":"tool-x","toolCallId":"c","state":"s"}]`, true},
		{"text counts", `[{"type":"text","text":"x"}]`, `[{"type":"text","text":"y"}]`, false},
		{"state counts", `[{"type":"text","text":"x","state":"done"}]`, `[{"type":"text","text":"x","state":"streaming"}]`, false},
		{"order of parts counts", `[{"type":"step-start"},{"type":"text","text":"x"}]`, `[{"type":"text","text":"x"},{"type":"step-start"}]`, false},
		{"number of parts counts", `[{"type":"step-start"}]`, `[]`, false},
		{"a data id counts", `[{"type":"data-x","id":"1","data":1}]`, `[{"type":"data-x","id":"2","data":1}]`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := message(t, `{"id":"a","role":"assistant","parts":`+tc.a+`}`)
			b := message(t, `{"id":"b","role":"assistant","parts":`+tc.b+`}`)
			if SameParts(a, b) != tc.same || SameParts(b, a) != tc.same {
				t.Errorf("SameParts is not %v", tc.same)
			}
		})
	}
}
