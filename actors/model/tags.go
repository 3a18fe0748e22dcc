package model

import (
	"context"
	"fmt"
	"iter"
	"strings"
)

// ExtractReasoning makes reasoning of what stands between tags in the text, as
// some models without a field for it write: "think" is <think>…</think>. With begun
// the answer begins inside, as it does where the prompt ends with the opening tag.
// A tag may come in pieces. White space beside tags goes.
func ExtractReasoning(tag string, begun bool) Middleware {
	return Around(func(ctx context.Context, r Request, next Model) iter.Seq2[Part, error] {
		return func(yield func(Part, error) bool) {
			x := extractor{opening: "<" + tag + ">", closing: "</" + tag + ">", inside: begun}
			for p, err := range next.Stream(ctx, r) {
				if err != nil {
					// What was held back may have been a tag: it is not lost if it was none.
					for _, p := range x.rest() {
						if !yield(p, nil) {
							return
						}
					}
					yield(nil, err)
					return
				}
				for _, p := range x.part(p) {
					if !yield(p, nil) {
						return
					}
				}
			}
		}
	})
}

// An extractor goes through one answer. Blocks of text become as many blocks as
// the tags make of them.
type extractor struct {
	opening, closing string
	inside           bool

	source string // id of the text block that is read; "" if none is
	blocks int    // made of source so far
	open   string // id of the block that is written; "" if none is
	held   string // text that may be the beginning of a tag
	trim   bool   // white space goes until there is something else
}

func (x *extractor) part(p Part) []Part {
	switch p := p.(type) {
	case TextStart:
		x.source, x.blocks, x.trim = p.ID, 0, x.inside
		return nil
	case TextDelta:
		if p.ID == x.source {
			return x.text(p.Text)
		}
	case TextEnd:
		if p.ID == x.source {
			return x.end(p.Metadata)
		}
	case FinishPart:
		return append(x.rest(), p)
	case ReasoningStart, ReasoningDelta, ReasoningEnd, ToolInputStart, ToolInputDelta, ToolCall, Source, File:
	}
	return []Part{p}
}

func (x *extractor) tag() string {
	if x.inside {
		return x.closing
	}
	return x.opening
}

func (x *extractor) text(s string) (out []Part) {
	s, x.held = x.held+s, ""
	for {
		before, after, found := strings.Cut(s, x.tag())
		if !found {
			break
		}
		out = append(out, x.close(x.write(nil, strings.TrimRight(before, " \t\r\n")), nil)...)
		x.inside, x.trim, s = !x.inside, true, after
	}
	n := beginning(s, x.tag())
	// White space before a tag goes, so it has to wait, too.
	n += len(s[:len(s)-n]) - len(strings.TrimRight(s[:len(s)-n], " \t\r\n"))
	x.held = s[len(s)-n:]
	return x.write(out, s[:len(s)-n])
}

// beginning is the length of the longest end of s that tag begins with.
func beginning(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasPrefix(tag, s[len(s)-n:]) {
			return n
		}
	}
	return 0
}

func (x *extractor) write(out []Part, s string) []Part {
	if x.trim {
		s = strings.TrimLeft(s, " \t\r\n")
	}
	if s == "" {
		return out
	}
	x.trim = false
	if x.open == "" {
		x.open = x.source
		if x.blocks++; x.blocks > 1 {
			x.open = fmt.Sprintf("%s.%d", x.source, x.blocks)
		}
		if x.inside {
			out = append(out, ReasoningStart{ID: x.open})
		} else {
			out = append(out, TextStart{ID: x.open})
		}
	}
	if x.inside {
		return append(out, ReasoningDelta{ID: x.open, Text: s})
	}
	return append(out, TextDelta{ID: x.open, Text: s})
}

func (x *extractor) close(out []Part, m Metadata) []Part {
	if x.open == "" {
		return out
	}
	id := x.open
	x.open = ""
	if x.inside {
		return append(out, ReasoningEnd{ID: id, Metadata: m})
	}
	return append(out, TextEnd{ID: id, Metadata: m})
}

// end ends the text block that is read.
func (x *extractor) end(m Metadata) []Part {
	out := x.close(x.rest(), m)
	x.source = ""
	return out
}

// rest is what was held back.
func (x *extractor) rest() []Part {
	s := x.held
	x.held = ""
	return x.write(nil, s)
}
