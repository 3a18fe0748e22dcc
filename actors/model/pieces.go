package model

import (
	"context"
	"iter"
	"strings"
	"unicode/utf8"
)

// SimulateStreaming cuts text and reasoning that comes at once into words, for
// models that do not stream. It takes no time.
func SimulateStreaming() Middleware {
	return Around(func(ctx context.Context, r Request, next Model) iter.Seq2[Part, error] {
		return func(yield func(Part, error) bool) {
			for p, err := range next.Stream(ctx, r) {
				if err != nil {
					yield(nil, err)
					return
				}
				for _, p := range words(p) {
					if ctx.Err() != nil {
						yield(nil, context.Cause(ctx))
						return
					}
					if !yield(p, nil) {
						return
					}
				}
			}
		}
	})
}

func words(p Part) (out []Part) {
	switch d := p.(type) {
	case TextDelta:
		for piece := range pieces(d.Text) {
			out = append(out, TextDelta{ID: d.ID, Text: piece})
		}
		return out
	case ReasoningDelta:
		for piece := range pieces(d.Text) {
			out = append(out, ReasoningDelta{ID: d.ID, Text: piece, Metadata: d.Metadata})
		}
		return out
	case TextStart, TextEnd, ReasoningStart, ReasoningEnd, ToolInputStart, ToolInputDelta, ToolCall, Source, File, FinishPart:
	}
	return []Part{p}
}

// longestPiece bounds a piece of text without spaces, in bytes.
const longestPiece = 64

// pieces cuts text behind spaces.
func pieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			n := strings.IndexAny(s, " \n") + 1
			if n == 0 || n > longestPiece {
				n = min(len(s), longestPiece)
				for n < len(s) && n > longestPiece-utf8.UTFMax && !utf8.RuneStart(s[n]) {
					n--
				}
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}
