package uimessage

import (
	"encoding/json"
	"strings"
)

// completeJSON makes the best of JSON text that was cut off: what is complete
// stays, what is open is closed, what cannot be told is left out. It returns
// nil if nothing can be made of it.
func completeJSON(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	if raw, bad := clean([]byte(s)); bad == nil {
		return raw
	}
	c := cutter{text: s}
	c.scan()
	raw, bad := clean(c.closed())
	if bad != nil {
		return nil
	}
	return raw
}

// A cutter finds the longest beginning of a JSON text that closing brackets
// can complete.
type cutter struct {
	text  string
	stack []byte // closers of what is open
	// keep is how much of text stays, depth how many closers of the stack it
	// needs then, tail what has to follow it first.
	// Invariant: depth <= len(stack).
	keep, depth int
	tail        string
}

func (c *cutter) mark(end int, tail string) { c.keep, c.depth, c.tail = end, len(c.stack), tail }

func (c *cutter) closed() []byte {
	out := append([]byte(c.text[:c.keep]), c.tail...)
	for i := c.depth - 1; i >= 0; i-- {
		out = append(out, c.stack[i])
	}
	return out
}

// scan goes through the first value; what comes after it is none of it.
func (c *cutter) scan() {
	key := false // the next string is the name of a member
	for i := 0; i < len(c.text) && (c.keep == 0 || len(c.stack) > 0); {
		switch b := c.text[i]; b {
		case '{', '[':
			c.stack = append(c.stack, b+2) // ASCII: '{'+2 = '}', '['+2 = ']'
			key = b == '{'
			i++
			c.mark(i, "")
		case '}', ']':
			if len(c.stack) == 0 {
				return
			}
			c.stack = c.stack[:len(c.stack)-1]
			i++
			c.mark(i, "")
		case ',':
			key = len(c.stack) > 0 && c.stack[len(c.stack)-1] == '}'
			i++
		case ':', ' ', '\n', '\r', '\t':
			i++
		case '"':
			end, ok := c.stringEnd(i)
			if !key {
				if ok {
					c.mark(end, "")
				} else {
					c.mark(end, `"`)
				}
			}
			if !ok {
				return
			}
			i, key = end, false
		default:
			i = c.literal(i)
		}
	}
}

// stringEnd returns where the string that begins at i ends; if it is cut off,
// ok is false and the end is before any unfinished escape.
func (c *cutter) stringEnd(i int) (end int, ok bool) {
	for i++; i < len(c.text); i++ {
		switch c.text[i] {
		case '"':
			return i + 1, true
		case '\\':
			n := 2
			if i+1 < len(c.text) && c.text[i+1] == 'u' {
				n = 6
			}
			if i+n > len(c.text) {
				return i, false
			}
			i += n - 1
		}
	}
	return len(c.text), false
}

// literal scans a number, true, false or null at i and returns its end.
func (c *cutter) literal(i int) int {
	end := i
	for end < len(c.text) && !strings.ContainsRune("{}[],:\" \n\r\t", rune(c.text[end])) {
		end++
	}
	word := c.text[i:end]
	for _, whole := range []string{"true", "false", "null"} {
		if strings.HasPrefix(whole, word) {
			c.mark(end, whole[len(word):])
			return end
		}
	}
	// A number may be cut behind a sign, a point or an exponent.
	if n := strings.TrimRight(word, "+-.eE"); n != "" {
		c.mark(i+len(n), "")
	}
	return end
}
