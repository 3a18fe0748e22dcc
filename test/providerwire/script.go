package providerwire

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Script answers by words in the last user message. It is what the command
// serves, for tests that are not written in Go.
//
//	slow N   N words, 50 ms apart ("1 2 3 …"); N at most 10,000
//	long     200 words at once
//	think    some reasoning first, then an echo
//	error    fails with HTTP 500 on each request
//	busy     fails with HTTP 429 and Retry-After: 1, on the first request only
//	cut      the connection breaks after half an echo, on the first request only
//	call T {…}  calls tool T with that input; several in one step, those behind
//	         the word "then" in the next one. Then "The tools said: …", their results
//	(else)   "You said: …", the user's text
//
// A request that ends with an assistant message is continued from its end, if
// that is how the answer begins; otherwise the whole answer is given.
func Script() Handler { return (&script{seen: map[string]bool{}}).answer }

// script is used by many requests at once; seen belongs to turn.
type script struct {
	turn sync.Mutex
	seen map[string]bool // texts that have already failed once
}

const (
	slowPace    = 50 * time.Millisecond
	slowMax     = 10_000
	longWords   = 200
	scriptUsage = 100 // tokens of input, for pages that show usage
)

var slowPattern = regexp.MustCompile(`\bslow (\d{1,9})\b`)

func (s *script) answer(r *Request, w *Writer) {
	asked := r.LastUser()
	says := func(word string) bool { return regexp.MustCompile(`\b` + word + `\b`).MatchString(asked) }
	switch {
	case says("error"):
		w.Fail(500, nil, "")
		return
	case says("busy") && s.first(asked):
		w.Fail(429, map[string][]string{"Retry-After": {"1"}}, "")
		return
	}
	if says("think") && r.Partial() == "" {
		for _, p := range pieces("I read the question twice, and then I think about it.") {
			w.Reasoning(p)
		}
		w.Signature(fmt.Sprintf("signature-of-%d", r.N))
	}
	if calls(r, w) {
		return
	}
	whole, pace := wholeAnswer(asked)
	if results := told(r); results != "" {
		whole, pace = results, 0
	}
	rest := whole
	if after, ok := strings.CutPrefix(whole, r.Partial()); ok {
		rest = after
	}
	w.Usage = Usage{Input: scriptUsage, Output: int64(len(pieces(rest)))}
	if says("cut") && s.first(asked) {
		w.Text(rest[:len(rest)/2])
		w.Reset()
		return
	}
	for _, p := range pieces(rest) {
		if !w.Sleep(pace) {
			return
		}
		w.Text(p)
	}
}

func wholeAnswer(asked string) (text string, pace time.Duration) {
	if m := slowPattern.FindStringSubmatch(asked); m != nil {
		n, _ := strconv.Atoi(m[1])
		return numbers(min(n, slowMax)), slowPace
	}
	if regexp.MustCompile(`\blong\b`).MatchString(asked) {
		return numbers(longWords), 0
	}
	return "You said: " + asked, 0
}

// numbers is "1 2 3 …".
func numbers(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.Itoa(i + 1)
	}
	return strings.Join(words, " ")
}

// pieces cuts text before each space.
func pieces(text string) []string {
	var out []string
	for text != "" {
		n := strings.IndexByte(text[1:], ' ') + 1
		if n == 0 {
			n = len(text)
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// first tells whether the text is asked for the first time.
func (s *script) first(asked string) bool {
	s.turn.Lock()
	defer s.turn.Unlock()
	again := s.seen[asked]
	s.seen[asked] = true
	return !again
}
