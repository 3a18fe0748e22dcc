package completions

import (
	"encoding/json"
	"regexp"
)

// half is the first half of a character that a server has cut between two deltas:
// it sends each half of a surrogate pair as an escape of its own, which says nothing
// alone.
type half string

var firstHalf = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}"$`)

// join returns the piece, which is a JSON string or something else, with the half
// that came before it and without one that it ends in.
func (h *half) join(piece json.RawMessage) json.RawMessage {
	if len(piece) < 2 || piece[0] != '"' {
		return piece
	}
	whole := `"` + string(*h) + string(piece[1:])
	*h = ""
	at := firstHalf.FindStringIndex(whole)
	if at == nil || escaped(whole[:at[0]]) {
		return json.RawMessage(whole)
	}
	*h = half(whole[at[0] : at[1]-1])
	return json.RawMessage(whole[:at[0]] + `"`)
}

// escaped tells whether what follows s begins with an escaped backslash.
func escaped(s string) bool {
	n := 0
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// rest is what is left at the end: a half that nothing follows.
func (h *half) rest() string {
	s, _ := text(h.join(json.RawMessage(`" "`)))
	if len(s) < 2 {
		return ""
	}
	return s[:len(s)-1]
}
