package uimessage

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", `"\/`, "\x00\x1f\n\r\t\x7f", "ä€😀\u2028", "\xff\xc3", "a\xe2\x82b", "\xed\xa0\x80", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := AppendString(nil, s)
		require.True(t, utf8.Valid(got))
		require.Equal(t, got, append(AppendEscaped([]byte(`"`), []byte(s)), '"'))
		var back string
		require.NoError(t, json.Unmarshal(got, &back))
		require.Equal(t, strings.ToValidUTF8(s, "\ufffd"), collapse(back, s))
	})
}

// collapse: ToValidUTF8 replaces a run of bad bytes by one character, we (and
// encoding/json) each byte by one.
func collapse(got, in string) string {
	if utf8.ValidString(in) {
		return got
	}
	want, _ := json.Marshal(in)
	var std string
	_ = json.Unmarshal(want, &std) // it comes from Marshal
	if got == std {
		return strings.ToValidUTF8(in, "\ufffd")
	}
	return got
}

func BenchmarkEscape(b *testing.B) {
	body := []byte(`{"type":"text-delta","id":"t1","delta":" twenty bytes of text"}`)
	buf := make([]byte, 0, 256)
	for b.Loop() {
		buf = AppendEscaped(buf[:0], body)
	}
}
