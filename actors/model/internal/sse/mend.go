package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// A Mender turns the events of one answer into those that a library expects.
type Mender interface {
	// Event returns what the library shall read instead; an error ends the stream.
	Event(Event) ([]Event, error)
	// End is called where the stream ends; err is io.EOF, or what broke it. It
	// returns what the library shall still read, and the error after that.
	End(err error) ([]Event, error)
}

// Mend returns a body of clean events: one to a read where the reader has room,
// so that nobody waits for a later one. raw, if not nil, gets what is JSON as it came.
func Mend(body io.ReadCloser, m Mender, raw func(json.RawMessage)) io.ReadCloser {
	return &mended{Closer: body, events: NewReader(body), mender: m, raw: raw}
}

type mended struct {
	io.Closer
	events *Reader
	mender Mender
	raw    func(json.RawMessage)
	out    bytes.Buffer // not read yet
	err    error        // after out
}

func (m *mended) Read(p []byte) (int, error) {
	for m.out.Len() == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.next()
	}
	return m.out.Read(p)
}

func (m *mended) next() {
	e, err := m.events.Next()
	var more []Event
	switch {
	case errors.Is(err, ErrTooLarge):
		m.err = err
		return
	case err != nil:
		more, m.err = m.mender.End(err)
	default:
		if m.raw != nil && json.Valid(e.Data) {
			m.raw(bytes.Clone(e.Data))
		}
		more, m.err = m.mender.Event(e)
	}
	for _, e := range more {
		if e.Name != "" {
			m.out.WriteString("event: " + e.Name + "\n")
		}
		for line := range bytes.SplitSeq(e.Data, []byte("\n")) {
			m.out.WriteString("data: ")
			m.out.Write(line)
			m.out.WriteByte('\n')
		}
		m.out.WriteByte('\n')
	}
}
