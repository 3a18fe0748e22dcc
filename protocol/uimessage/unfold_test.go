package uimessage

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// kindStreams has a stream for each kind: what a producer writes to say it.
var kindStreams = map[string]string{
	"start":            `{"type":"start","messageMetadata":{"a":1}}`,
	"start-step":       `{"type":"start-step"}`,
	"step-start":       `{"type":"step-start"}`,
	"finish-step":      `{"type":"start-step"} {"type":"finish-step"}`,
	"reset-step":       `{"type":"start-step"} {"type":"file","mediaType":"m","url":"u"} {"type":"reset-step"}`,
	"finish":           `{"type":"finish","finishReason":"stop","messageMetadata":{"a":1}}`,
	"abort":            `{"type":"abort","reason":"user"}`,
	"message-metadata": `{"type":"message-metadata","messageMetadata":{"a":1}}`,

	"text-start":      `{"type":"text-start","id":"t","providerMetadata":{"p":{}}}`,
	"text-delta":      `{"type":"text-start","id":"t"} {"type":"text-delta","id":"t","delta":"hi"}`,
	"text-end":        `{"type":"text-start","id":"t"} {"type":"text-end","id":"t","citations":[1]}`,
	"reasoning-start": `{"type":"reasoning-start","id":"r","providerMetadata":{"p":{}}}`,
	"reasoning-delta": `{"type":"reasoning-start","id":"r"} {"type":"reasoning-delta","id":"r","delta":"hm"}`,
	"reasoning-end":   `{"type":"reasoning-start","id":"r"} {"type":"reasoning-end","id":"r"}`,

	"file":             `{"type":"file","mediaType":"m","url":"u","providerMetadata":{"p":{}}}`,
	"reasoning-file":   `{"type":"reasoning-file","mediaType":"m","url":"u"}`,
	"source-url":       `{"type":"source-url","sourceId":"s","url":"u","title":"T"}`,
	"source-document":  `{"type":"source-document","sourceId":"s","mediaType":"m","title":"T","filename":"f"}`,
	"custom":           `{"type":"custom","kind":"v.k","providerMetadata":{"p":{}}}`,
	"steering-message": `{"type":"steering-message","id":"s","parts":[{"type":"text","text":"x"}]}`,
	"data-x":           `{"type":"data-x","id":"1","data":1} {"type":"data-x","id":"1","data":2}`,

	"tool-input-start":       `{"type":"tool-input-start","toolCallId":"c","toolName":"x","title":"T","inputEncoding":"text","dynamic":true,"providerMetadata":{"p":{}}}`,
	"tool-input-delta":       `{"type":"tool-input-start","toolCallId":"c","toolName":"x"} {"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"a\":"}`,
	"tool-input-available":   `{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":[1],"providerExecuted":true,"toolMetadata":{"m":1}}`,
	"tool-input-error":       `{"type":"tool-input-error","toolCallId":"c","toolName":"x","input":"{oops","errorText":"bad"}`,
	"tool-approval-request":  `{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}} {"type":"tool-approval-request","approvalId":"a","toolCallId":"c","reason":"big","signature":"s"}`,
	"tool-approval-response": `{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}} {"type":"tool-approval-request","approvalId":"a","toolCallId":"c"} {"type":"tool-approval-response","approvalId":"a","approved":false,"reason":"no"}`,
	"tool-output-available":  `{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}} {"type":"tool-output-available","toolCallId":"c","output":null,"preliminary":true,"providerMetadata":{"p":{}}}`,
	"tool-output-error":      `{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}} {"type":"tool-output-error","toolCallId":"c","errorText":"down"}`,
	"tool-output-denied":     `{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}} {"type":"tool-output-denied","toolCallId":"c"}`,
}

func TestEveryKindSurvivesGuardFoldAndUnfold(t *testing.T) {
	for kind := range kinds {
		if _, ok := kindStreams[kind]; !ok && kind != "error" { // which ends a turn, see ErrInBand
			t.Errorf("no stream for %s", kind)
		}
	}
	for kind, stream := range kindStreams {
		t.Run(kind, func(t *testing.T) {
			g, f, c := NewGuard(Message{ID: "m"}, false), NewFold(Message{ID: "m"}), newClient(Message{})
			var sent []string
			for _, k := range chunks(t, strings.ReplaceAll(stream, "} {", "}\n{")) {
				out, err := g.Pass(nil, k)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range out {
					sent = append(sent, k.Type)
					f.Apply(k)
					if err := c.apply(k); err != nil {
						t.Fatal(err)
					}
				}
			}
			if want := map[string]string{"step-start": "start-step"}[kind]; !slices.Contains(sent, cmp.Or(want, kind)) {
				t.Errorf("sent %v", sent)
			}
			unfoldsToItself(t, f.Message())
		})
	}
}
