package uimessage

import (
	"errors"
	"strings"
	"testing"
)

// passed sends chunks through a guard and returns what goes out, one per line.
func passed(t *testing.T, g *Guard, lines string) string {
	t.Helper()
	var out []Chunk
	for _, c := range chunks(t, lines) {
		var err error
		if out, err = g.Pass(out, c); err != nil {
			t.Fatalf("%s: %v", c.AppendJSON(nil), err)
		}
	}
	return jsonLines(out)
}

func jsonLines(list []Chunk) string {
	var b strings.Builder
	for _, c := range list {
		b.Write(c.AppendJSON(nil))
		b.WriteByte('\n')
	}
	return b.String()
}

func tidy(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

const approvedBase = `{"id":"m1","role":"assistant","parts":[{"type":"step-start"},
	{"type":"tool-pay","toolCallId":"paid","state":"output-available","input":{},"output":1},
	{"type":"tool-pay","toolCallId":"c","toolName":"pay","state":"approval-responded","input":{"n":1},"approval":{"id":"a","approved":true}},
	{"type":"dynamic-tool","toolCallId":"d","toolName":"mcp","state":"approval-requested","input":{},"approval":{"id":"b"}}]}`

// A guardCase is what a producer writes and what goes out to clients.
type guardCase struct{ name, in, out string }

func runGuardCases(t *testing.T, guard func() *Guard, cases []guardCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if got, want := passed(t, guard(), tc.in), tidy(tc.out); got != want {
				t.Errorf("\n got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// C08: a provider gives no message id; what is streamed and what is stored have the same all the same.
func TestGuardOfANewMessage(t *testing.T) {
	guard := func() *Guard { return NewGuard(Message{ID: "m1"}, false) }
	runGuardCases(t, guard, []guardCase{
		{"a start without id gets the server's",
			`{"type":"start","messageMetadata":{"a":1}}`,
			`{"type":"start","messageId":"m1","messageMetadata":{"a":1}}`},
		{"a start with an id keeps it",
			`{"type":"start","messageId":"theirs"}`,
			`{"type":"start","messageId":"theirs"}`},
		{"a missing start is sent first",
			`{"type":"text-start","id":"t"}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"text-start","id":"t"}`},
		{"a second start goes out as metadata only",
			`{"type":"start"}
			 {"type":"start","messageId":"other"}
			 {"type":"start","messageId":"other","messageMetadata":{"a":1}}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"message-metadata","messageMetadata":{"a":1}}`},
		{"the finish reason moves into the metadata",
			`{"type":"start"}
			 {"type":"finish","finishReason":"stop","messageMetadata":{"done":true}}
			 {"type":"finish","finishReason":"stop","messageMetadata":{"finishReason":"mine"}}
			 {"type":"finish"}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"finish","messageMetadata":{"finishReason":"stop","done":true}}
			 {"type":"finish","messageMetadata":{"finishReason":"mine"}}
			 {"type":"finish"}`},
		{"a step does not finish while a text is open, since AI SDK 6 would close it",
			`{"type":"start"}
			 {"type":"reasoning-start","id":"r"}
			 {"type":"finish-step"}
			 {"type":"reasoning-end","id":"r"}
			 {"type":"finish-step"}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"reasoning-start","id":"r"}
			 {"type":"reasoning-end","id":"r"}
			 {"type":"finish-step"}`},
		{"unknown kinds and data pass",
			`{"type":"start"}
			 {"type":"brand-new","x":1}
			 {"type":"data-p","data":1,"transient":true}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"brand-new","x":1}
			 {"type":"data-p","data":1,"transient":true}`},
	})
}

func TestGuardOfCalls(t *testing.T) {
	guard := func() *Guard { return NewGuard(Message{ID: "m1"}, false) }
	runGuardCases(t, guard, []guardCase{
		{"an input behind the approval request makes it ask again",
			`{"type":"start"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-approval-request","approvalId":"a","toolCallId":"c","reason":"big"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-approval-request","approvalId":"a","toolCallId":"c","reason":"big"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"a":1}}
			 {"type":"tool-approval-request","approvalId":"a","toolCallId":"c","reason":"big"}`},
		{"an input is dynamic if its start was",
			`{"type":"start"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x","dynamic":true}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x","dynamic":true}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{},"dynamic":true}`},
		{"behind a reset the input of an earlier step's call comes only as a whole",
			`{"type":"start"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"start-step"}
			 {"type":"reset-step"}
			 {"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{}"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"start-step"}
			 {"type":"reset-step"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}`},
		{"a call keeps the tool that it was announced with",
			`{"type":"start"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-input-error","toolCallId":"c","toolName":"y","dynamic":true,"input":{},"errorText":"bad"}`,
			`{"type":"start","messageId":"m1"}
			 {"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			 {"type":"tool-input-error","toolCallId":"c","toolName":"x","input":{},"errorText":"bad"}`},
	})
}

func TestGuardOfAContinuation(t *testing.T) {
	guard := func() *Guard { return NewGuard(message(t, approvedBase), true) }
	runGuardCases(t, guard, []guardCase{
		{"a continuation's start has no id",
			`{"type":"start","messageId":"other"}`,
			`{"type":"start"}`},
		{"a replay of known calls is dropped whole",
			`{"type":"start"}
			 {"type":"start-step"}
			 {"type":"tool-input-start","toolCallId":"paid","toolName":"pay"}
			 {"type":"tool-input-delta","toolCallId":"paid","inputTextDelta":"{}"}
			 {"type":"tool-input-available","toolCallId":"paid","toolName":"pay","input":{}}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"pay","input":{}}
			 {"type":"tool-input-error","toolCallId":"paid","toolName":"pay","input":{},"errorText":"x"}
			 {"type":"tool-approval-request","approvalId":"z","toolCallId":"paid"}
			 {"type":"tool-approval-request","approvalId":"z","toolCallId":"c"}
			 {"type":"tool-output-denied","toolCallId":"paid"}
			 {"type":"tool-output-denied","toolCallId":"c"}
			 {"type":"tool-output-available","toolCallId":"paid","output":2}`,
			`{"type":"start"}
			 {"type":"start-step"}`},
		{"an output for a call of the base announces it first",
			`{"type":"start"}
			 {"type":"tool-output-available","toolCallId":"c","output":1}`,
			`{"type":"start"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"pay","input":{"n":1}}
			 {"type":"tool-output-available","toolCallId":"c","output":1}`},
		{"an announcement of the producer's own is enough",
			`{"type":"start"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"pay","input":{"n":1}}
			 {"type":"tool-output-available","toolCallId":"c","output":1}`,
			`{"type":"start"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"pay","input":{"n":1}}
			 {"type":"tool-output-available","toolCallId":"c","output":1}`},
		{"an announcement that nothing follows is dropped: clients would take the call back",
			`{"type":"start"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"pay","input":{"n":1}}
			 {"type":"tool-input-start","toolCallId":"d","toolName":"mcp"}
			 {"type":"tool-input-delta","toolCallId":"d","inputTextDelta":"{}"}
			 {"type":"tool-output-denied","toolCallId":"c"}
			 {"type":"tool-approval-response","approvalId":"a","approved":true}`,
			`{"type":"start"}`},
		{"an error of a known call's input is its output's, and announced like one",
			`{"type":"start"}
			 {"type":"tool-input-error","toolCallId":"c","toolName":"pay","input":{},"errorText":"bad"}`,
			`{"type":"start"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"pay","input":{"n":1}}
			 {"type":"tool-output-error","toolCallId":"c","errorText":"bad"}`},
		{"an answer to a question of the base asks it first",
			`{"type":"start"}
			 {"type":"tool-approval-response","approvalId":"b","approved":false}
			 {"type":"tool-output-denied","toolCallId":"d"}`,
			`{"type":"start"}
			 {"type":"tool-input-available","toolCallId":"d","toolName":"mcp","input":{},"dynamic":true}
			 {"type":"tool-approval-request","approvalId":"b","toolCallId":"d"}
			 {"type":"tool-approval-response","approvalId":"b","approved":false}
			 {"type":"tool-output-denied","toolCallId":"d"}`},
		{"after a step has begun nothing is announced again",
			`{"type":"start"}
			 {"type":"start-step"}
			 {"type":"tool-output-available","toolCallId":"c","output":1}`,
			`{"type":"start"}
			 {"type":"start-step"}
			 {"type":"tool-output-available","toolCallId":"c","output":1}`},
		{"a reset before the first step of a continuation is dropped",
			`{"type":"start"}
			 {"type":"reset-step"}
			 {"type":"start-step"}
			 {"type":"reset-step"}`,
			`{"type":"start"}
			 {"type":"start-step"}
			 {"type":"reset-step"}`},
	})
}

// A page that finds no call to go on with begins a message of its own: it has to
// hear of every call of the base, in whatever step, and again after a reset.
func TestGuardOfAContinuationThatPagesBeginAnew(t *testing.T) {
	guard := func() *Guard {
		return NewGuard(message(t, `{"id":"m1","role":"assistant","parts":[
			{"type":"tool-x","toolCallId":"p","state":"output-available","input":{},"output":1,"preliminary":true},
			{"type":"step-start"},
			{"type":"tool-x","toolCallId":"c","state":"input-available","input":{"n":1}}]}`), true)
	}
	runGuardCases(t, guard, []guardCase{
		{"a preliminary output is not taken back, only replaced",
			`{"type":"start"}
			 {"type":"tool-input-available","toolCallId":"p","toolName":"x","input":{}}
			 {"type":"tool-approval-request","approvalId":"a","toolCallId":"p"}
			 {"type":"tool-output-available","toolCallId":"p","output":2}`,
			`{"type":"start"}
			 {"type":"tool-input-available","toolCallId":"p","toolName":"x","input":{}}
			 {"type":"tool-output-available","toolCallId":"p","output":2}`},
		{"an output behind a start-step is announced, and again after a reset",
			`{"type":"start"}
			 {"type":"start-step"}
			 {"type":"tool-output-available","toolCallId":"c","output":1,"preliminary":true}
			 {"type":"reset-step"}
			 {"type":"tool-output-available","toolCallId":"c","output":2}`,
			`{"type":"start"}
			 {"type":"start-step"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"n":1}}
			 {"type":"tool-output-available","toolCallId":"c","output":1,"preliminary":true}
			 {"type":"reset-step"}
			 {"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{"n":1}}
			 {"type":"tool-output-available","toolCallId":"c","output":2}`},
	})
}

func TestGuardTellsTheStoredID(t *testing.T) {
	g := NewGuard(Message{ID: "m1"}, false)
	passed(t, g, `{"type":"start","messageId":"theirs"}`)
	if g.MessageID != "theirs" {
		t.Errorf("MessageID = %q", g.MessageID)
	}
	g = NewGuard(Message{ID: "m1"}, false)
	passed(t, g, `{"type":"start","messageId":"`+strings.Repeat("x", maxID+1)+`"}`)
	if g.MessageID != "m1" {
		t.Errorf("an id over the limit was taken: %q", g.MessageID)
	}
}

func TestGuardRefusesWhatClientsThrowOn(t *testing.T) {
	for _, tc := range []struct{ in, id string }{
		{`{"type":"text-delta","id":"t9","delta":"x"}`, "t9"},
		{`{"type":"text-end","id":"t9"}`, "t9"},
		{`{"type":"reasoning-delta","id":"r9","delta":"x"}`, "r9"},
		{`{"type":"reasoning-end","id":"r9"}`, "r9"},
		{`{"type":"tool-input-delta","toolCallId":"c9","inputTextDelta":"x"}`, "c9"},
		{`{"type":"tool-output-available","toolCallId":"c9","output":1}`, "c9"},
		{`{"type":"tool-output-error","toolCallId":"c9","errorText":"x"}`, "c9"},
		{`{"type":"tool-output-denied","toolCallId":"c9"}`, "c9"},
		{`{"type":"tool-approval-request","approvalId":"a","toolCallId":"c9"}`, "c9"},
		{`{"type":"tool-approval-response","approvalId":"a9","approved":true}`, "a9"},
		{`{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
		  {"type":"tool-approval-request","approvalId":"a9","toolCallId":"c"}
		  {"type":"tool-approval-request","approvalId":"b","toolCallId":"c"}
		  {"type":"tool-approval-response","approvalId":"a9","approved":true}`, "a9"}, // b has replaced it
		{`{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
		  {"type":"tool-input-available","toolCallId":"d","toolName":"x","input":{}}
		  {"type":"tool-approval-request","approvalId":"a9","toolCallId":"c"}
		  {"type":"tool-approval-request","approvalId":"a9","toolCallId":"d"}`, "a9"}, // the answer would reach c
		{`{"type":"text-start","id":"t9"}
		  {"type":"text-end","id":"t9"}
		  {"type":"text-delta","id":"t9","delta":"x"}`, "t9"},
		{`{"type":"text-start","id":"t9"}
		  {"type":"reset-step"}
		  {"type":"text-delta","id":"t9","delta":"x"}`, "t9"},
		{`{"type":"tool-input-available","toolCallId":"c9","toolName":"x","input":{}}
		  {"type":"tool-approval-request","approvalId":"a","toolCallId":"c9"}
		  {"type":"reset-step"}
		  {"type":"tool-output-available","toolCallId":"c9","output":1}`, "c9"},
	} {
		list := chunks(t, tc.in)
		g := NewGuard(Message{ID: "m"}, false)
		var err error
		for _, c := range list {
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.Pass(nil, c)
		}
		var bad *SequenceError
		if !errors.As(err, &bad) || bad.ID != tc.id || bad.Chunk != list[len(list)-1].Type {
			t.Errorf("%s: error %v", tc.in, err)
		}
	}
}

func TestGuardReportsErrorChunksWithoutAStart(t *testing.T) {
	g := NewGuard(Message{ID: "m"}, false)
	c := Chunk{Type: "error", ErrorText: "boom"}
	if g.NeedsStart(c) {
		t.Error("a start would be sent for an error")
	}
	if _, drop, err := g.Admit(c); !drop || !errors.Is(err, ErrInBand) {
		t.Errorf("drop %v, error %v", drop, err)
	}
}

func TestGuardAdmitsNothingBeforeStart(t *testing.T) {
	g := NewGuard(Message{ID: "m"}, false)
	c := Chunk{Type: "text-start", ID: "t"}
	if _, _, err := g.Admit(c); err == nil || !g.NeedsStart(c) {
		t.Errorf("admitted without start (%v)", err)
	}
	if _, drop, err := g.Admit(g.Start()); drop || err != nil {
		t.Fatal(drop, err)
	}
	if _, _, err := g.Admit(c); err != nil || g.NeedsStart(c) {
		t.Errorf("not admitted after start: %v", err)
	}
}

func TestUrgencyOfChunks(t *testing.T) {
	g := NewGuard(Message{}, false)
	for want, lines := range map[Urgency]string{
		Prose: `{"type":"start"}
			{"type":"start-step"}
			{"type":"text-start","id":"t"}
			{"type":"text-delta","id":"t","delta":"x"}
			{"type":"text-end","id":"t"}
			{"type":"reasoning-end","id":"t"}
			{"type":"tool-input-start","toolCallId":"c","toolName":"x"}
			{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"x"}
			{"type":"tool-output-available","toolCallId":"c","output":1,"preliminary":true}
			{"type":"data-x","id":"1","data":1,"transient":true}
			{"type":"data-x","data":1}
			{"type":"brand-new"}`,
		LazyFact: `{"type":"finish-step"}
			{"type":"finish"}
			{"type":"abort"}
			{"type":"message-metadata","messageMetadata":{}}`,
		UrgentFact: `{"type":"tool-input-available","toolCallId":"c","toolName":"x","input":{}}
			{"type":"tool-input-error","toolCallId":"c","toolName":"x","input":{},"errorText":"x"}
			{"type":"tool-approval-request","toolCallId":"c","approvalId":"a"}
			{"type":"tool-approval-response","approvalId":"a","approved":true}
			{"type":"tool-output-available","toolCallId":"c","output":1}
			{"type":"tool-output-error","toolCallId":"c","errorText":"x"}
			{"type":"tool-output-denied","toolCallId":"c"}
			{"type":"data-x","id":"1","data":1}
			{"type":"file","url":"u","mediaType":"m"}
			{"type":"source-url","sourceId":"s","url":"u"}
			{"type":"source-document","sourceId":"s","mediaType":"m","title":"t"}`,
	} {
		for _, c := range chunks(t, lines) {
			if got := g.Fact(c); got != want {
				t.Errorf("%s: urgency %d, want %d", c.AppendJSON(nil), got, want)
			}
		}
	}
}
