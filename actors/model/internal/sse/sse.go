// Package sse reads server-sent events as the HTML standard has them, and lets
// a provider's package mend them before a library reads them.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEvent is the largest event that is read, in bytes.
const MaxEvent = 16 << 20

// ErrTooLarge: an event is larger than MaxEvent.
var ErrTooLarge = fmt.Errorf("an event of the stream has more than %d bytes", MaxEvent)

// An Event is one server-sent event. Lines of data are joined by a line feed.
type Event struct {
	Name string // "" if the stream gives none
	Data []byte
}

// A Reader reads events: comments, ids and retry times are skipped, lines may
// end with LF, CR LF or CR. Unlike the standard it does not drop an event that the
// stream ends in: some servers leave the last blank line out.
type Reader struct {
	r      *bufio.Reader
	begun  bool
	skipLF bool // the line before ended with CR
	line   []byte
	err    error // that the stream ended with
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 16<<10)} }

// Next returns the next event that has data. The error is io.EOF at the end of
// the stream, ErrTooLarge, or what reading gave.
func (r *Reader) Next() (Event, error) {
	var e Event
	some, size := false, 0
	for r.err == nil {
		line, err := r.readLine(MaxEvent - size)
		r.err = err
		size += len(line)
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			break
		}
		if len(line) == 0 {
			if some {
				return e, nil
			}
			e.Name, size = "", 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.Name = string(value)
		case "data":
			if some {
				e.Data = append(e.Data, '\n')
			}
			e.Data, some = append(e.Data, value...), true
		}
	}
	if some && errors.Is(r.err, io.EOF) {
		return e, nil
	}
	return Event{}, r.err
}

// readLine returns a line without its end; it is good until the next call. With
// io.EOF it is what came after the last end. It never waits for what follows a CR.
func (r *Reader) readLine(limit int) ([]byte, error) {
	r.line = r.line[:0]
	for {
		if _, err := r.r.Peek(1); err != nil {
			return r.line, err
		}
		buf, _ := r.r.Peek(r.r.Buffered())
		buf = r.skip(buf)
		end := bytes.IndexAny(buf, "\r\n")
		if end < 0 {
			r.line = append(r.line, buf...)
			r.discard(len(buf))
			if len(r.line) > limit {
				return nil, ErrTooLarge
			}
			continue
		}
		r.line = append(r.line, buf[:end]...)
		r.skipLF = buf[end] == '\r'
		r.discard(end + 1)
		if len(r.line) > limit {
			return nil, ErrTooLarge
		}
		return r.line, nil
	}
}

var byteOrderMark = []byte("\uFEFF")

// skip leaves out the LF of a CR LF and a byte order mark.
func (r *Reader) skip(buf []byte) []byte {
	if r.skipLF && buf[0] == '\n' {
		r.discard(1)
		buf = buf[1:]
	}
	r.skipLF = false
	if !r.begun && bytes.HasPrefix(buf, byteOrderMark) {
		r.discard(len(byteOrderMark))
		buf = buf[len(byteOrderMark):]
	}
	r.begun = true
	return buf
}

// discard drops what Peek has shown.
func (r *Reader) discard(n int) {
	r.r.Discard(n) //nolint:errcheck // no more than is there
}
