package providerwire

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// callPattern is a call that the user has written out: a tool and its input, an
// object without objects in it.
var callPattern = regexp.MustCompile(`\bcall ([\w-]+) (\{[^{}]*\})`)

// stepSeparator stands between the calls of one step and those of the next.
const stepSeparator = " then "

// calls makes the tool calls that the last user message asks for in its next
// step. It returns false if there are none (left).
func calls(r *Request, w *Writer) bool {
	steps := strings.Split(r.LastUser(), stepSeparator)
	done := 0
	for _, m := range since(r) {
		if len(m.Calls) > 0 {
			done++
		}
	}
	if done >= len(steps) {
		return false
	}
	found := callPattern.FindAllStringSubmatch(steps[done], -1)
	if len(found) == 0 {
		return false
	}
	w.Usage = Usage{Input: scriptUsage, Output: int64(len(found))}
	for i, c := range found {
		name, input := c[1], c[2]
		half := (len(input) + 1) / 2
		w.Call(fmt.Sprintf("call_%d_%d", r.N, i), name, input[:half], input[half:])
	}
	w.Finish("tool_calls")
	return true
}

// told is what the tools have answered to the last user message, as a sentence;
// "" if none was asked.
func told(r *Request) string {
	var results []string
	for _, m := range since(r) {
		if m.Role == "tool" {
			results = append(results, m.Text)
		}
	}
	if len(results) == 0 {
		return ""
	}
	return "The tools said: " + strings.Join(results, " | ")
}

// since returns what has come behind the last user message.
func since(r *Request) []Message {
	for i, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return r.Messages[i+1:]
		}
	}
	return r.Messages
}
