package uimessage

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// An InvalidError says which value of a message or chunk cannot be accepted.
// Its text is fit for the client that sent it.
type InvalidError struct {
	Field  string // path such as "messages[2].parts[0].type"; "" is the whole value
	Value  string // the offending JSON, cut to 80 bytes; "" if it is missing
	Reason string // completes "<field> …", such as "must be a string"
}

func (e *InvalidError) Error() string {
	field := e.Field
	if field == "" {
		field = "value"
	}
	text := "invalid UI message: " + field + " " + e.Reason
	if e.Value != "" {
		text += ", got " + e.Value
	}
	return text
}

// In returns the error as seen from outside: prefix is the path of the value
// that was read, such as "messages[2]".
func (e *InvalidError) In(prefix string) *InvalidError {
	out := *e
	switch {
	case e.Field == "":
		out.Field = prefix
	case e.Field[0] == '[':
		out.Field = prefix + e.Field
	default:
		out.Field = prefix + "." + e.Field
	}
	return &out
}

// A SequenceError says that a chunk does not fit what was streamed before:
// clients would end the turn with an error of their own.
type SequenceError struct {
	Chunk  string // kind of the refused chunk
	ID     string // text, reasoning, call or approval id that it names
	Reason string
}

func (e *SequenceError) Error() string {
	return "uimessage: " + e.Chunk + " " + strconv.Quote(e.ID) + ": " + e.Reason
}

const maxQuoted = 80 // bytes of a client's value that an error repeats

func invalid(field string, value json.RawMessage, reason string) *InvalidError {
	return &InvalidError{Field: field, Value: cut(string(value), maxQuoted), Reason: reason}
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
