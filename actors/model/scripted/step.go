package scripted

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-dev/holdfast/actors/model"
)

// An Answer is what the model does for one request, in order. Without a
// [Finish] at its end it finishes with ToolCalls if it calls a tool and with
// Stop otherwise, and counts one token per piece.
type Answer []Step

// A Step is one element of an answer: Text, Reasoning, Call, Source, File,
// Wait, Hold, Fail or Finish.
//
//sumtype:decl
type Step interface{ step() }

// Text is one block of prose.
type Text struct {
	Pieces []string      // one delta each; empty pieces are skipped
	Every  time.Duration // wait before each piece; 0: none
	// Gate, if set, is received from before each piece: a test that sends lets
	// one piece pass, one that closes it lets all pass.
	Gate     <-chan struct{}
	ID       string         // of the block; "": counted in the answer
	Open     bool           // leave the block without an end, as an answer does that breaks off in it
	Metadata model.Metadata // given with the end of the block
}

// Reasoning is one block of thinking. Its fields are those of Text.
type Reasoning Text

// Call is a complete call of a tool. Its input streams in Pieces if there are
// any; else in one delta.
type Call struct {
	ID, Tool string
	Input    string // JSON; scripts of a faulty model may put anything here
	Pieces   []string
	Every    time.Duration
	Metadata model.Metadata
}

// Source cites something.
type Source model.Source

// File is a file that the model made.
type File model.File

// Wait lets time pass.
type Wait time.Duration

// Hold stops the answer until the channel yields a value or is closed.
type Hold <-chan struct{}

// Fail ends the answer with an error. As the first step it is an answer that
// never began.
type Fail struct{ Err error }

// Finish ends the answer.
type Finish struct {
	Reason   model.FinishReason // "": as for an answer without Finish
	Usage    model.Usage        // zero: as for an answer without Finish
	Metadata model.Metadata
}

func (Text) step()      {}
func (Reasoning) step() {}
func (Call) step()      {}
func (Source) step()    {}
func (File) step()      {}
func (Wait) step()      {}
func (Hold) step()      {}
func (Fail) step()      {}
func (Finish) step()    {}

// Say is an answer of plain text, word by word, without waiting.
func Say(text string) Answer { return Answer{Text{Pieces: Words(text)}} }

// Words cuts text before each word; the pieces joined are the text again.
func Words(text string) []string {
	var pieces []string
	start, inSpace := 0, false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if space && !inSpace && i > start {
			pieces = append(pieces, text[start:i])
			start = i
		}
		inSpace = space
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}

// pieces gives what the call's input streams as.
func (c Call) pieces() []string {
	if len(c.Pieces) > 0 {
		return c.Pieces
	}
	return []string{c.Input}
}

// input gives the whole input, from the pieces if only they are set.
func (c Call) input() json.RawMessage {
	if c.Input == "" {
		return json.RawMessage(strings.Join(c.Pieces, ""))
	}
	return json.RawMessage(c.Input)
}
