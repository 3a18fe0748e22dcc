package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// viewer is a response that shows one answer as server-sent events, the AI SDK's
// UI message stream: a seat without a socket. Its one goroutine is the request's.
type viewer struct {
	guest
	w   http.ResponseWriter
	rc  *http.ResponseController
	ctx context.Context // ends when the client has gone, or is cut off
	log *slog.Logger
	end context.CancelFunc
	buf []byte // events that go out together
}

func (h *Handler) newViewer(w http.ResponseWriter, r *http.Request, a feed.Address) (*viewer, error) {
	v := &viewer{w: w, rc: http.NewResponseController(w)}
	v.ctx, v.end = context.WithCancel(r.Context())
	v.guest = guest{h: h, seat: newSeat(newID(), ""), cut: v.end}
	v.log = h.log.With("agent", a, "stream", v.seat.id)
	if !h.admit(&v.guest, a, 1) {
		v.end()
		return nil, errStopping
	}
	return v, nil
}

func (v *viewer) leave() {
	v.end()
	v.room.leave(v.seat)
	v.h.forget(&v.guest)
	v.h.exit()
}

var (
	errClientGone = errors.New("the client has gone")
	errDismissed  = errors.New("the stream was ended before the answer")
)

var eventHeaders = map[string]string{
	"Content-Type":                  "text/event-stream",
	"Cache-Control":                 "no-cache",
	"X-Accel-Buffering":             "no", // nginx
	"X-Vercel-Ai-Ui-Message-Stream": "v1",
}

// stream writes what the seat gets until the answer is over. base is the
// transcript that the client has, if it has just come.
func (v *viewer) stream(base []byte) error {
	for k, val := range eventHeaders {
		v.w.Header().Set(k, val)
	}
	if id := v.room.followed(v.seat); id != "" && !strings.ContainsFunc(id, unicode.IsControl) {
		v.w.Header().Set(requestHeader, id)
	}
	v.w.WriteHeader(http.StatusOK)
	if err := v.flush(); err != nil {
		return err
	}
	keepAlive := time.NewTimer(v.h.cfg.PingEvery)
	defer keepAlive.Stop()
	var batch []out
	for {
		var bye *farewell
		batch, bye = v.room.take(v.seat, batch[:0])
		switch {
		case len(batch) > 0:
			over := v.events(batch, &base)
			clear(batch)
			if err := v.flush(); err != nil || over {
				return err
			}
			keepAlive.Reset(v.h.cfg.PingEvery)
		case bye != nil:
			return v.dismissed(bye)
		default:
			select {
			case <-v.seat.wake:
			case <-keepAlive.C:
				v.buf = append(v.buf, ": nothing new\n\n"...)
				if err := v.flush(); err != nil {
					return err
				}
				keepAlive.Reset(v.h.cfg.PingEvery)
			case <-v.ctx.Done():
				return errClientGone
			}
		}
	}
}

func (v *viewer) dismissed(b *farewell) error {
	if b.log {
		v.log.Warn("client reads too slowly, ending its stream",
			"lag_frames", v.h.cfg.LagFrames, "lag_bytes", v.h.cfg.LagBytes, "settings", "LagFrames, LagBytes")
	}
	return errDismissed
}

// flush sends what events has written, and the headers.
func (v *viewer) flush() error {
	if v.h.write(v.w, v.rc, v.buf) != nil {
		return errClientGone
	}
	if v.buf = v.buf[:0]; cap(v.buf) > maxHeld {
		v.buf = nil
	}
	v.h.hurry(v.rc)
	err := v.rc.Flush()
	_ = v.rc.SetWriteDeadline(time.Time{}) // HTTP/2 ends a stream when it is over, though all is written
	if errors.Is(err, http.ErrNotSupported) {
		v.log.Error("answers cannot be streamed: what is in front of the handler hides http.Flusher", "writer", v.w)
		return errDismissed
	}
	if err != nil {
		return errClientGone
	}
	return nil
}

// told is what a frame says of the answer.
type told struct {
	Body         string       `json:"body"`
	Done         bool         `json:"done"`
	Error        bool         `json:"error"`
	Continuation bool         `json:"continuation"`
	Outcome      feed.Outcome `json:"outcome"`
}

const (
	skippedText = "The message was not taken: another one is being answered."
	doneEvent   = "data: [DONE]\n\n"
)

// events appends the events for a batch, and tells whether the answer is over.
func (v *viewer) events(batch []out, base *[]byte) (over bool) {
	for _, o := range batch {
		var t told
		if err := json.Unmarshal(o.frame, &t); err != nil {
			v.log.Error("a frame of ours cannot be read", "error", err)
			continue
		}
		switch {
		case t.Error:
			v.failure(t.Body)
		case t.Done && t.Outcome == feed.Recovering: // the answer goes on
			continue
		case t.Done && t.Outcome == feed.Skipped && t.Body == "":
			v.failure(skippedText)
		case t.Done && t.Outcome == feed.Skipped:
			v.failure(t.Body)
		case t.Done && t.Outcome == feed.Aborted:
			v.event([]byte(`{"type":"abort"}`))
		case t.Done, t.Body == "":
		default:
			if t.Continuation {
				v.prefix(*base)
			}
			*base = nil
			v.event([]byte(t.Body))
		}
		if t.Done {
			v.buf = append(v.buf, doneEvent...)
			return true
		}
	}
	return false
}

func (v *viewer) event(chunk []byte) {
	v.buf = append(v.buf, "data: "...)
	if !bytes.ContainsAny(chunk, "\r\n") {
		v.buf = append(v.buf, chunk...)
	} else { // a line end is the end of a field
		b := bytes.NewBuffer(v.buf)
		_ = json.Compact(b, chunk) // chunks are valid JSON
		v.buf = b.Bytes()
	}
	v.buf = append(v.buf, "\n\n"...)
}

func (v *viewer) failure(text string) {
	v.event(uimessage.Chunk{Type: "error", ErrorText: text}.AppendJSON(nil))
}

// prefix shows the message that a continuation extends. A client that resumes
// takes what it is told for the whole message, and forgets what it had of it.
func (v *viewer) prefix(transcript []byte) {
	if len(transcript) == 0 {
		return
	}
	messages, err := uimessage.ParseMessages(transcript)
	if err != nil || len(messages) == 0 {
		return
	}
	last := messages[len(messages)-1]
	if last.Role != uimessage.Assistant {
		return
	}
	for _, c := range uimessage.Unfold(last) {
		if c.Type != "finish" {
			v.event(c.AppendJSON(nil))
		}
	}
}
