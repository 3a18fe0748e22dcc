package uimessage

import (
	"strings"
	"testing"
)

func TestSanitize(t *testing.T) {
	long := strings.Repeat("ü", maxProviderString+1)
	short := strings.Repeat("ü", maxProviderString-len([]rune(cutMark))) + cutMark
	for _, tc := range []struct{ name, in, out string }{ // numbers are of chat.md, section 11
		{"100 OpenAI's item ids go, from both kinds of metadata",
			`[{"type":"text","text":"x","providerMetadata":{"openai":{"itemId":"i"}}},
			  {"type":"tool-x","toolCallId":"c","state":"input-available","input":{},"callProviderMetadata":{"openai":{"itemId":"i"}}}]`,
			`[{"type":"text","text":"x"},
			  {"type":"tool-x","toolCallId":"c","state":"input-available","input":{}}]`},
		{"101 OpenAI's encrypted reasoning goes",
			`[{"type":"reasoning","text":"thought","providerMetadata":{"openai":{"itemId":"i","reasoningEncryptedContent":null}}},
			  {"type":"tool-x","toolCallId":"c","state":"input-available","callProviderMetadata":{"openai":{"reasoningEncryptedContent":"e"},"p":{}}}]`,
			`[{"type":"reasoning","text":"thought"},
			  {"type":"tool-x","toolCallId":"c","state":"input-available","callProviderMetadata":{"p":{}}}]`},
		{"102 other keys and other providers stay",
			`[{"type":"text","text":"x","providerMetadata":{"openai":{"itemId":"i","logprobs":1},"other":{"itemId":"o","reasoningEncryptedContent":"e"}}},
			  {"type":"tool-x","toolCallId":"c","state":"output-available","resultProviderMetadata":{"openai":{"itemId":"i"}},"toolMetadata":{"openai":{"itemId":"i"}}}]`,
			`[{"type":"text","text":"x","providerMetadata":{"openai":{"logprobs":1},"other":{"itemId":"o","reasoningEncryptedContent":"e"}}},
			  {"type":"tool-x","toolCallId":"c","state":"output-available","resultProviderMetadata":{"openai":{"itemId":"i"}},"toolMetadata":{"openai":{"itemId":"i"}}}]`},
		{"103 an empty reasoning part goes, one with text stays, and an empty text",
			`[{"type":"reasoning","text":""},
			  {"type":"reasoning","text":" \n\t"},
			  {"type":"reasoning","text":"","providerMetadata":{}},
			  {"type":"reasoning","text":"","providerMetadata":null},
			  {"type":"reasoning","text":" thought "},
			  {"type":"text","text":""}]`,
			`[{"type":"reasoning","text":" thought "},
			  {"type":"text","text":""}]`},
		{"104 an empty reasoning part with Anthropic's redacted data stays",
			`[{"type":"reasoning","text":"","providerMetadata":{"anthropic":{"redactedData":"r"}}}]`,
			`[{"type":"reasoning","text":"","providerMetadata":{"anthropic":{"redactedData":"r"}}}]`},
		{"105 OpenAI's placeholder goes once its metadata is gone, but not with more of it",
			`[{"type":"reasoning","text":"","state":"done","providerMetadata":{"openai":{"itemId":"i","reasoningEncryptedContent":"e"}}},
			  {"type":"reasoning","text":"","providerMetadata":{"openai":{"itemId":"i","kept":1}}}]`,
			`[{"type":"reasoning","text":"","providerMetadata":{"openai":{"kept":1}}}]`},
		{"106 what has none of it is left as it is",
			`[{"type":"step-start"},{"type":"text","text":"openai itemId","mark":1},{"type":"hologram","providerExecuted":true,"output":"` + long + `"},
			  {"type":"file","url":"u","mediaType":"m","providerMetadata":{"openai":null}},{"type":"data-x","data":{"openai":{"itemId":"i"}}}]`,
			`[{"type":"step-start"},{"type":"text","text":"openai itemId","mark":1},{"type":"hologram","providerExecuted":true,"output":"` + long + `"},
			  {"type":"file","url":"u","mediaType":"m","providerMetadata":{"openai":null}},{"type":"data-x","data":{"openai":{"itemId":"i"}}}]`},
		{"107 long strings of provider-executed calls are cut, in input and output, in any depth",
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"input":{"a":["` + long + `",1.50]},"output":"` + long + `"},
			  {"type":"dynamic-tool","toolName":"code","toolCallId":"d","state":"output-available","providerExecuted":true,"input":{},"output":{"a":{"b":"` + long + `"}}}]`,
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"input":{"a":["` + short + `",1.50]},"output":"` + short + `"},
			  {"type":"dynamic-tool","toolName":"code","toolCallId":"d","state":"output-available","providerExecuted":true,"input":{},"output":{"a":{"b":"` + short + `"}}}]`},
		{"108 what was cut is not cut again, nor what is just long enough",
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"output":["` + short + `","` + strings.Repeat("🙂", maxProviderString) + `"]}]`,
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"output":["` + short + `","` + strings.Repeat("🙂", maxProviderString) + `"]}]`},
		{"109 our own calls stay whole",
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","input":{"a":"` + long + `"},"output":"` + long + `"}]`,
			`[{"type":"tool-code","toolCallId":"c","state":"output-available","input":{"a":"` + long + `"},"output":"` + long + `"}]`},
		{"110 web tools and encrypted values stay whole",
			`[{"type":"tool-web_search","toolCallId":"c","state":"output-available","providerExecuted":true,"input":{"q":"` + long + `"},"output":"` + long + `"},
			  {"type":"dynamic-tool","toolName":"web_fetch","toolCallId":"c","state":"output-available","providerExecuted":true,"output":"` + long + `"},
			  {"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"output":{"encryptedContent":{"deep":["` + long + `"]},"y":"` + long + `"}}]`,
			`[{"type":"tool-web_search","toolCallId":"c","state":"output-available","providerExecuted":true,"input":{"q":"` + long + `"},"output":"` + long + `"},
			  {"type":"dynamic-tool","toolName":"web_fetch","toolCallId":"c","state":"output-available","providerExecuted":true,"output":"` + long + `"},
			  {"type":"tool-code","toolCallId":"c","state":"output-available","providerExecuted":true,"output":{"encryptedContent":{"deep":["` + long + `"]},"y":"` + short + `"}}]`},
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
