package actors

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Stream takes a turn's answer, chunk by chunk. Clients see a chunk at once;
// prose is on disk at most 50 ms later, and what states a fact (tool calls, data
// parts with an id, the end) is shown only when it is on disk. Writing waits
// while clients are too far ahead of the disk.
//
// All methods may be called concurrently; a call that writes several chunks, such
// as Text, writes them without another's in between. When the turn is over, or its
// handler has returned, every method returns ErrTurnOver.
type Stream struct {
	ctx     context.Context
	shell   *shell
	turn    uint64
	attempt uint32
	request string

	mu     sync.Mutex
	live   *livestream // nil until the first chunk
	over   bool        // the handler has returned
	empty  bool
	plain  bool   // a plain-text part is open
	split  []byte // the first bytes of a character that a Write has cut
	parts  int    // for ids
	inBand string // text of an error chunk
	failed bool
	cut    bool   // an abort chunk was written
	reason string // finish reason that was written
	looped string // finish reason of the last Generate

	stall time.Duration // silence that ends the attempt; 0: none does
	timer *time.Timer   // ends it
}

// newStream makes the stream of an attempt. Its ctx is set when the attempt runs.
func newStream(a *shell, turn uint64, attempt uint32, request string) *Stream {
	return &Stream{shell: a, turn: turn, attempt: attempt, request: request}
}

// Chunk writes one UI-message chunk of any kind (see package uimessage). A first
// chunk that is no start gets one before it. A chunk that clients would fail on
// (a delta whose part was never started, an output of an unknown call) is refused
// with an error that names it, and the turn goes on; so is one that lacks a field
// or has one that is no JSON. An output, or an error, of a call that an earlier
// message has made is stored there, durably on return, and all sockets are shown
// the conversation; a call that is settled stays as it is. The whole message may
// have 8 MiB. A chunk of type error ends the turn with that text.
func (s *Stream) Chunk(c uimessage.Chunk) error { return s.chunks(c) }

// chunks writes all of cs, up to the first that is refused.
func (s *Stream) chunks(cs ...uimessage.Chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range cs {
		if err := s.write(&cs[i]); err != nil {
			return err
		}
	}
	return nil
}

// write writes one chunk. mu is held.
func (s *Stream) write(c *uimessage.Chunk) error {
	s.patient()
	defer s.alive()
	if s.over {
		return ErrTurnOver
	}
	// These go into the journal as they are; all else as JSON, which is UTF-8.
	c.Delta, c.ID, c.ToolCallID = valid(c.Delta), valid(c.ID), valid(c.ToolCallID)
	if !plainDelta(c) {
		if _, err := uimessage.ParseChunk(c.AppendJSON(nil)); err != nil {
			return err
		}
	}
	switch c.Type {
	case "error":
		s.failed, s.inBand = true, valid(c.ErrorText)
	case "abort":
		s.cut = true
	case "finish":
		s.reason = valid(c.FinishReason)
	}
	if err := s.open(); err != nil {
		return err
	}
	if err := s.live.push(s.ctx, c); err != nil && !errors.Is(err, uimessage.ErrInBand) {
		return s.settleEarlier(c, err)
	}
	return nil
}

// settleEarlier stores an outcome that was refused where its call is, if an earlier
// message has made that. It is no content of this answer: clients would fail on it.
func (s *Stream) settleEarlier(c *uimessage.Chunk, refusal error) error {
	var unfit *uimessage.SequenceError
	if !errors.As(refusal, &unfit) || c.Type != "tool-output-available" && c.Type != "tool-output-error" {
		return refusal
	}
	r, id := &Ref{rt: s.shell.rt, addr: s.shell.addr}, ""
	if err := r.query(s.ctx, func(st *chat.State, _ *outflow, _ uint64) { id = st.Transcript.Calling(c.ToolCallID) }); err != nil {
		return err
	}
	if id == "" {
		return refusal
	}
	m, err := r.Message(s.ctx, id)
	if err != nil {
		return err
	}
	f := uimessage.NewFold(m)
	f.Apply(*c)
	return r.PersistMessages(s.ctx, []uimessage.Message{f.Message()})
}

// plainDelta reports whether nothing can be wrong with c itself.
func plainDelta(c *uimessage.Chunk) bool {
	return (c.Type == "text-delta" || c.Type == "reasoning-delta") && c.ID != "" && c.ProviderMetadata == nil && c.Extra == nil
}

// valid replaces what is not UTF-8: the journal takes nothing else.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

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
// bytes are UTF-8; a character may be split over two writes.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.split, p...)
	whole := len(text) - cutRune(text)
	s.split = bytes.Clone(text[whole:])
	if err := s.writePlain(string(text[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *Stream) writePlain(text string) error {
	if text == "" {
		return nil
	}
	if !s.plain {
		if err := s.write(&uimessage.Chunk{Type: "start-step"}); err != nil {
			return err
		}
		if err := s.write(&uimessage.Chunk{Type: "text-start", ID: s.request}); err != nil {
			return err
		}
		s.plain = true
	}
	return s.write(&uimessage.Chunk{Type: "text-delta", ID: s.request, Delta: text})
}

// cutRune returns how many bytes at the end of p may be the beginning of a
// character that is not complete.
func cutRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
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
func (s *Stream) Empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty = true
}

func (s *Stream) newID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts++
	return "part-" + strconv.Itoa(s.parts)
}

// open asks the agent for the stream at the first chunk: until then clients that
// come are told to wait. mu is held.
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

// result closes what is open and tells how the handler has ended. Nothing can be
// written after that, by whatever the handler has left running.
func (s *Stream) result(ended *chat.HandlerEnded, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended.Reason = s.reason
	switch {
	case s.failed:
		ended.Result, ended.Text = chat.FailedInBand, s.inBand
	case err != nil:
		ended.Result, ended.Text = chat.Failed, valid(publicText(err))
	case s.cut:
		ended.Result = chat.CutShort
	case s.live == nil && s.empty:
		ended.Result = chat.Empty
	case s.live == nil && !s.plain && len(s.split) == 0:
		ended.Result = chat.Silent
	default:
		s.closePlain()
		if s.looped != "" && s.reason == "" && !s.plain {
			_ = s.write(&uimessage.Chunk{Type: "finish", FinishReason: s.looped})
			ended.Reason = s.reason
		}
	}
	s.over = true
}

// closePlain ends the answer of a handler that wrote plain text. If the turn is
// over meanwhile, its end was told already.
func (s *Stream) closePlain() {
	if len(s.split) > 0 {
		_ = s.writePlain(string(s.split))
	}
	if !s.plain {
		return
	}
	_ = s.write(&uimessage.Chunk{Type: "text-end", ID: s.request})
	_ = s.write(&uimessage.Chunk{Type: "finish-step"})
	_ = s.write(&uimessage.Chunk{Type: "finish", FinishReason: "stop"})
}
