package uimessage

import (
	"errors"
	"testing"
)

func TestHealConvertsOldForms(t *testing.T) { // 93 of chat.md, section 11
	for _, tc := range []struct{ name, in, out string }{
		{"content is text",
			`{"id":"m","role":"user","content":"hi","createdAt":"2024"}`,
			`{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}],"createdAt":"2024"}`},
		{"empty content is an empty text",
			`{"id":"m","role":"user","content":"","metadata":{"a":1}}`,
			`{"id":"m","role":"user","parts":[{"type":"text","text":""}],"metadata":{"a":1}}`},
		{"content is a list of pieces",
			`{"id":"m","role":"user","content":[{"type":"text","text":"a"},"b",{"text":"c"},
				{"type":"image","image":"https://x/y.png","mimeType":"image/png"},
				{"type":"file","data":"AA==","mimeType":"application/pdf","filename":"f.pdf"},
				{"type":"tool-call","toolCallId":"c","toolName":"x","args":{"a":1}}]}`,
			`{"id":"m","role":"user","parts":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"text":"c","type":"text"},
				{"type":"file","mediaType":"image/png","url":"https://x/y.png"},
				{"type":"file","mediaType":"application/pdf","url":"data:application/pdf;base64,AA==","filename":"f.pdf"},
				{"type":"tool-x","toolCallId":"c","toolName":"x","state":"input-available","input":{"a":1}}]}`},
		{"reasoning and calls come before the text, as they were shown",
			`{"id":"m","role":"assistant","content":"It is 21°.","reasoning":"Look it up.","toolInvocations":[
				{"state":"result","step":0,"toolCallId":"r","toolName":"weather","args":{"city":"Oslo"},"result":{"c":21}},
				{"state":"call","toolCallId":"c","toolName":"weather","args":{}},
				{"state":"partial-call","toolCallId":"p","toolName":"weather"},
				{"state":"error","toolCallId":"e","toolName":"weather","args":"{\"a\":1}","errorText":"down"},
				{"state":"result","toolCallId":"n","toolName":"weather","args":null},
				{"toolCallId":"u","toolName":"weather","args":[1]}]}`,
			`{"id":"m","role":"assistant","parts":[{"type":"reasoning","text":"Look it up."},
				{"type":"tool-weather","toolName":"weather","toolCallId":"r","state":"output-available","input":{"city":"Oslo"},"output":{"c":21}},
				{"type":"tool-weather","toolName":"weather","toolCallId":"c","state":"input-available","input":{}},
				{"type":"tool-weather","toolName":"weather","toolCallId":"p","state":"input-streaming","input":{}},
				{"type":"tool-weather","toolName":"weather","toolCallId":"e","state":"output-error","input":{"a":1},"errorText":"down"},
				{"type":"tool-weather","toolName":"weather","toolCallId":"n","state":"output-available","input":{},"output":null},
				{"type":"tool-weather","toolName":"weather","toolCallId":"u","state":"input-available","input":{},"rawInput":[1]},
				{"type":"text","text":"It is 21°."}]}`},
		{"calls alone leave no empty text",
			`{"id":"m","role":"assistant","content":"","toolInvocations":[{"state":"call","toolCallId":"c","toolName":"x","args":{}}]}`,
			`{"id":"m","role":"assistant","parts":[{"type":"tool-x","toolName":"x","toolCallId":"c","state":"input-available","input":{}}]}`},
		{"attachments and files are file parts",
			`{"id":"m","role":"user","content":"see","experimental_attachments":[{"name":"a.png","contentType":"image/png","url":"https://x/a.png"}],
				"files":[{"mimeType":"image/gif","data":"R0"},{"url":"data:text/plain;base64,QQ=="},{"url":"blob:x","mediaType":"m/x","filename":"b"}]}`,
			`{"id":"m","role":"user","parts":[{"type":"file","mediaType":"image/png","url":"https://x/a.png","filename":"a.png"},
				{"type":"file","mediaType":"image/gif","url":"data:image/gif;base64,R0"},
				{"type":"file","mediaType":"text/plain","url":"data:text/plain;base64,QQ=="},
				{"type":"file","mediaType":"m/x","url":"blob:x","filename":"b"},
				{"type":"text","text":"see"}]}`},
		{"the role data is the system's",
			`{"id":"m","role":"data","content":"x","data":{"a":1}}`,
			`{"id":"m","role":"system","parts":[{"type":"text","text":"x"}],"data":{"a":1}}`},
		{"parts of version 4",
			`{"id":"m","role":"assistant","content":"kept","parts":[{"type":"step-start"},
				{"type":"reasoning","reasoning":"Hm","details":[{"type":"text","text":"Hm"}]},
				{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"c","toolName":"x","args":{"a":1},"result":"r"}},
				{"type":"source","source":{"sourceType":"url","id":"s","url":"u","title":"T"}},
				{"type":"file","mimeType":"image/png","data":"AA=="},
				{"type":"text","text":"hi"}]}`,
			`{"id":"m","role":"assistant","parts":[{"type":"step-start"},
				{"type":"reasoning","text":"Hm"},
				{"type":"tool-x","toolName":"x","toolCallId":"c","state":"output-available","input":{"a":1},"output":"r"},
				{"type":"source-url","sourceId":"s","url":"u","title":"T"},
				{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AA=="},
				{"type":"text","text":"hi"}],"content":"kept"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := healed(t, tc.in)
			wantJSON(t, m.AppendJSON(nil), tc.out)
			wantJSON(t, healed(t, string(m.AppendJSON(nil))).AppendJSON(nil), tc.out)
		})
	}
}

func healed(t *testing.T, data string) Message {
	t.Helper()
	m, err := Heal([]byte(data))
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return m
}

func TestHealGivesCallsAnInputThatProvidersTake(t *testing.T) { // 94
	for in, out := range map[string]string{
		``:                             `"input":{}`,
		`"input":null`:                 `"input":{}`,
		`"input":""`:                   `"input":{}`,
		`"input":"{\"a\":1}"`:          `"input":{"a":1}`,
		`"input":"words"`:              `"input":{},"rawInput":"words"`,
		`"input":[1]`:                  `"input":{},"rawInput":[1]`,
		`"input":5,"rawInput":"first"`: `"input":{},"rawInput":"first"`,
		`"input":{"a":null}`:           `"input":{"a":null}`,
	} {
		for _, head := range []string{
			`"type":"tool-x","toolCallId":"c","state":"output-available"`,
			`"type":"dynamic-tool","toolCallId":"c","toolName":"x","state":"input-available"`,
			`"type":"tool-x","toolCallId":"c","state":"input-streaming"`,
		} {
			comma := ","
			if in == "" {
				comma = ""
			}
			m := healed(t, `{"id":"m","role":"assistant","parts":[{`+head+comma+in+`}]}`)
			wantJSON(t, m.AppendJSON(nil), `{"id":"m","role":"assistant","parts":[{`+head+`,`+out+`}]}`)
		}
	}
}

func TestHealLeavesAHealthyMessageAsItIs(t *testing.T) { // 91, 92, 94
	for _, m := range []string{
		`{"id":"u","role":"user","parts":[]}`,
		`{"id":"s","role":"system","parts":[{"type":"text","text":"be kind"}],"metadata":{"a":[1.50]}}`,
		approvedBase,
		`{"id":"a","role":"assistant","parts":[{"type":"hologram","text":5,"reasoning":"x"},{"type":"tool-","input":5},{"type":"data-x","data":{"role":"data"}},
			{"type":"file","mediaType":"m","url":"u","data":"mine"},{"type":"reasoning","text":"","reasoning":"x"}],"content":"own","toolInvocations":5}`,
	} {
		if got, want := string(healed(t, m).AppendJSON(nil)), string(message(t, m).AppendJSON(nil)); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
}

func TestHealRefuses(t *testing.T) { // 90
	for in, field := range map[string]string{
		`{`: "", `5`: "", `null`: "",
		`{"role":"user","parts":[]}`:                                    "id",
		`{"id":"","role":"user","content":"x"}`:                         "id",
		`{"id":"m","parts":[]}`:                                         "role",
		`{"id":"m","role":"tool","content":"x"}`:                        "role",
		`{"id":"m","role":"user"}`:                                      "parts",
		`{"id":"m","role":"user","content":null}`:                       "parts",
		`{"id":"m","role":"user","parts":{}}`:                           "parts",
		`{"id":"m","role":"user","parts":"x","content":"x"}`:            "parts",
		`{"id":"m","role":"user","parts":[5]}`:                          "parts[0]",
		`{"id":"m","role":"user","content":["a",{"type":"text"}]}`:      "parts[1].text",
		`{"id":"m","role":"user","toolInvocations":[{"toolName":"x"}]}`: "parts[0].toolCallId",
		`{"id":"m","role":"user","parts":[{"type":"tool-invocation"}]}`: "parts[0].toolCallId",
	} {
		_, err := Heal([]byte(in))
		var bad *InvalidError
		if !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: error %v, want one of %q", in, err, field)
		}
	}
}

func TestHealMessagesNamesThePlace(t *testing.T) {
	ms, err := HealMessages([]byte(`[{"id":"a","role":"user","content":"x"},{"id":"b","role":"user","parts":[]}]`))
	if err != nil || len(ms) != 2 || ms[0].Parts[0].Text != "x" {
		t.Errorf("got %v, %v", ms, err)
	}
	_, err = HealMessages([]byte(`[{"id":"a","role":"user","content":"x"},{"id":"b","role":"user"}]`))
	if want := `invalid UI message: messages[1].parts is missing`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
