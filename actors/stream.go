package actors

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Stream takes a turn's answer, chunk by chunk. Clients see a chunk at once;
// prose is on disk at most 50 ms later, and what states a fact (tool calls, data
// parts with an id, the end) is shown only when it is on disk. Writing waits
// while clients are too far ahead of the disk.
//
// It is for one goroutine at a time. After the turn's end every method returns
// ErrTurnOver.
type Stream struct {
	ctx     context.Context
	shell   *shell
	turn    uint64
	attempt uint32
	request string

	live   *livestream // nil until the first chunk
	empty  bool
	plain  bool   // a plain-text part is open
	parts  int    // for ids
	inBand string // text of an error chunk
	failed bool
	cut    bool   // an abort chunk was written
	reason string // finish reason that was written
}

func newStream(ctx context.Context, a *shell, turn uint64, attempt uint32, request string) *Stream {
	return &Stream{ctx: ctx, shell: a, turn: turn, attempt: attempt, request: request}
}

// Chunk writes one UI-message chunk of any kind (see package uimessage). A first
// chunk that is no start gets one before it. A chunk that clients would fail on
// (a delta whose part was never started, an output of an unknown call) is refused
// with an error that names it, and the turn goes on. A chunk of type error ends
// the turn with that text.
func (s *Stream) Chunk(c uimessage.Chunk) error {
	switch c.Type {
	case "error":
		s.failed, s.inBand = true, c.ErrorText
	case "abort":
		s.cut = true
	case "finish":
		s.reason = c.FinishReason
	}
	if err := s.open(); err != nil {
		return err
	}
	if err := s.live.push(s.ctx, c); err != nil && !errors.Is(err, uimessage.ErrInBand) {
		return err
	}
	return nil
}

// Text writes one whole text part.
func (s *Stream) Text(text string) error { return s.prose("text", text) }

// Reasoning writes one whole reasoning part.
func (s *Stream) Reasoning(text string) error { return s.prose("reasoning", text) }

func (s *Stream) prose(kind, text string) error {
	id := s.newID()
	return s.chunks(
		uimessage.Chunk{Type: kind + "-start", ID: id},
		uimessage.Chunk{Type: kind + "-delta", ID: id, Delta: text},
		uimessage.Chunk{Type: kind + "-end", ID: id})
}

// Write makes a Stream an io.Writer of plain text: the first write opens a text
// part, each write is a delta of it, and the handler's return closes it. The
// bytes must be UTF-8; a character must not be split over two writes.
func (s *Stream) Write(p []byte) (int, error) {
	if !s.plain {
		err := s.chunks(uimessage.Chunk{Type: "start-step"}, uimessage.Chunk{Type: "text-start", ID: s.request})
		if err != nil {
			return 0, err
		}
		s.plain = true
	}
	if err := s.Chunk(uimessage.Chunk{Type: "text-delta", ID: s.request, Delta: string(p)}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Data writes a data part of that name. With an id, a later part of the same name
// and id replaces its value; without, each is appended. value is marshalled.
func (s *Stream) Data(name, id string, value any) error {
	return s.data(name, id, value, false)
}

// Transient shows a value to whoever looks now; it is not stored in the message.
func (s *Stream) Transient(name string, value any) error {
	return s.data(name, "", value, true)
}

func (s *Stream) data(name, id string, value any, transient bool) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("actors: data part %q: %w", name, err)
	}
	return s.Chunk(uimessage.Chunk{Type: "data-" + name, ID: id, Data: data, Transient: transient})
}

// Source writes a source that the answer cites.
func (s *Stream) Source(id, url, title string) error {
	return s.Chunk(uimessage.Chunk{Type: "source-url", SourceID: id, URL: url, Title: title})
}

// File writes a file into the answer, as a data URL.
func (s *Stream) File(mediaType string, data []byte) error {
	url := "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
	return s.Chunk(uimessage.Chunk{Type: "file", MediaType: mediaType, URL: url})
}

// Empty says that there is nothing to answer: the turn ends well and without a
// message. Without it a handler that writes nothing tells the visitor that no
// answer was generated.
func (s *Stream) Empty() { s.empty = true }

func (s *Stream) chunks(cs ...uimessage.Chunk) error {
	for _, c := range cs {
		if err := s.Chunk(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) newID() string {
	s.parts++
	return "part-" + strconv.Itoa(s.parts)
}

// open asks the agent for the stream at the first chunk: until then clients that
// come are told to wait.
func (s *Stream) open() error {
	if s.live != nil {
		return nil
	}
	type answer struct {
		live *livestream
		err  error
	}
	got := make(chan answer, 1)
	s.shell.tell(openStream{s.turn, s.attempt, func(l *livestream, err error) { got <- answer{l, err} }})
	select {
	case a := <-got:
		s.live = a.live
		return a.err
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// result closes what is open and tells how the handler has ended.
func (s *Stream) result(ended *chat.HandlerEnded, err error) {
	ended.Reason = s.reason
	switch {
	case s.failed:
		ended.Result, ended.Text = chat.FailedInBand, s.inBand
	case err != nil:
		ended.Result, ended.Text = chat.Failed, publicText(err)
	case s.cut:
		ended.Result = chat.CutShort
	case s.live == nil && s.empty:
		ended.Result = chat.Empty
	case s.live == nil:
		ended.Result = chat.Silent
	default:
		s.closePlain()
	}
}

// closePlain ends the answer of a handler that wrote plain text.
func (s *Stream) closePlain() {
	if !s.plain {
		return
	}
	// If the turn is over meanwhile, its end was told already.
	_ = s.chunks(
		uimessage.Chunk{Type: "text-end", ID: s.request},
		uimessage.Chunk{Type: "finish-step"},
		uimessage.Chunk{Type: "finish", FinishReason: "stop"})
}
