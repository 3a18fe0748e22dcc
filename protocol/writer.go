package protocol

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// scratch is what a writer needs while it has something to write; an idle
// socket holds none.
type scratch struct {
	batch []out
	frame []byte
}

var scratches = sync.Pool{New: func() any { return &scratch{batch: make([]out, 0, batchFrames)} }}

// write is the writer's goroutine.
func (s *session) write() {
	defer s.h.exit()
	defer s.end()
	for {
		bye, err := s.drain()
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				s.log.Warn("client does not read, cutting its socket off", "limit", s.h.cfg.WriteTimeout, "setting", "WriteTimeout")
			}
			return
		}
		if bye != nil {
			s.farewell(bye)
			return
		}
		<-s.seat.wake
	}
}

// drain writes all that is due, a batch at a time.
func (s *session) drain() (*farewell, error) {
	buf := scratches.Get().(*scratch)
	defer scratches.Put(buf)
	for {
		batch, bye := s.room.take(s.seat, buf.batch[:0])
		if len(batch) == 0 {
			return bye, nil
		}
		err := s.send(batch, buf)
		clear(batch)
		buf.batch = batch
		if err != nil {
			return nil, err
		}
	}
}

// send writes a batch in one system call if it is small enough. There is no
// context: the connection under it sets deadlines.
func (s *session) send(batch []out, buf *scratch) error {
	s.cork.cork()
	var err error
	for _, o := range batch {
		frame := o.frame
		if o.replay {
			buf.frame = append(append(buf.frame[:0], replayHead...), frame[1:]...)
			frame = buf.frame
		}
		kind := websocket.MessageText
		if o.binary {
			kind = websocket.MessageBinary
		}
		if err = s.conn.Write(context.Background(), kind, frame); err != nil {
			break
		}
	}
	if cap(buf.frame) > maxHeld {
		buf.frame = nil
	}
	if e := s.cork.uncork(); err == nil {
		err = e
	}
	return err
}

func (s *session) farewell(b *farewell) {
	if b.code == 0 {
		return
	}
	if b.log {
		s.log.Warn("client reads too slowly, closing its socket",
			"lag_frames", s.h.cfg.LagFrames, "lag_bytes", s.h.cfg.LagBytes, "settings", "LagFrames, LagBytes")
	}
	s.shut(b.code, b.reason)
}

// closeReason cuts text to what fits into a close frame.
func closeReason(text string) string {
	const limit = 123
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= limit {
		return text
	}
	return strings.TrimSpace(cut(text, limit-len("…"))) + "…"
}

// cut is the beginning of a text, of at most limit bytes.
func cut(text string, limit int) string {
	text = text[:limit]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

func byteCount(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
