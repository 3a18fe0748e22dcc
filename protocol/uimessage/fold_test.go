package uimessage

import (
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
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := folded(t, Message{ID: "m"}, tc.chunks)
			wantJSON(t, m.AppendJSON(nil), `{"id":"m","role":"assistant","parts":`+tc.parts+`}`)
		})
	}
}
