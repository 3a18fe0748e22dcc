package providerwire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Usage counts tokens. Input includes what came from the cache.
type Usage struct{ Input, Output, Reasoning, CacheRead int64 }

// A Writer streams one answer. Only the handler may use it; nothing is written
// after the answer's end or to a client that has gone.
type Writer struct {
	// SplitEvery cuts what follows into writes of so many bytes, each flushed on
	// its own, regardless of lines and characters. 0: one write an event.
	SplitEvery int
	// Usage is reported with the end of the answer.
	Usage Usage

	server  *Server
	rec     *Record
	rw      http.ResponseWriter
	ctx     context.Context //nolint:containedctx // the request's, as in net/http
	dialect dialect
	begun   bool // headers are out
	ended   bool // no more events
	whole   bool // the client was there for all of it. Invariant: whole implies ended
}

// A dialect turns deltas into events of one protocol.
type dialect interface {
	api() API
	key(http.Header) (string, bool)
	decode(*Request) error
	begin(*Request)
	errorBody(*refusal) string

	start() []event
	text(string) []event
	reasoning(string) []event
	signature(string) []event
	callStart(id, tool string) []event
	callDelta(string) []event
	finish(reason string, u Usage) []event
	streamError(kind, message string) []event
	keepAlive() []event
}

// An event is one server-sent event; data is marshalled unless it is a rawData.
type event struct {
	name string
	data any
}

// rawData goes out as it is; comments have an empty name and begin with ":".
type rawData string

// Gone is closed when the client has hung up, or the server closes.
func (w *Writer) Gone() <-chan struct{} { return w.ctx.Done() }

// Wait blocks until the channel yields or is closed, or the client has gone.
// It returns whether the client is still there.
func (w *Writer) Wait(gate <-chan struct{}) bool {
	select {
	case <-gate:
		return w.ctx.Err() == nil
	case <-w.ctx.Done():
		return false
	}
}

// Sleep waits. It returns whether the client is still there.
func (w *Writer) Sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// Text streams a piece of the answer's text.
func (w *Writer) Text(piece string) {
	w.send(w.dialect.text(piece))
	w.server.note(w.rec, func(r *Record) { r.Sent += piece })
}

// Reasoning streams a piece of thinking.
func (w *Writer) Reasoning(piece string) { w.send(w.dialect.reasoning(piece)) }

// Signature ends the thinking with its signature (Anthropic) or encrypted
// content (Responses). The server takes it back in later requests. Chat
// Completions has no such thing.
func (w *Writer) Signature(sig string) {
	w.server.Accept(sig)
	w.send(w.dialect.signature(sig))
}

// Call streams a tool call, its input in the given pieces.
func (w *Writer) Call(id, tool string, pieces ...string) {
	w.send(w.dialect.callStart(id, tool))
	for _, p := range pieces {
		w.send(w.dialect.callDelta(p))
	}
}

// KeepAlive sends what the provider sends to keep a connection open: a comment,
// a ping.
func (w *Writer) KeepAlive() { w.send(w.dialect.keepAlive()) }

// Finish ends the answer with its terminal marker. The reason is Chat
// Completions' word: stop, length, tool_calls, content_filter.
func (w *Writer) Finish(reason string) {
	w.send(w.dialect.finish(reason, w.Usage))
	w.close()
}

// Cut ends the response cleanly, as HTTP sees it, but without the provider's
// terminal marker.
func (w *Writer) Cut() {
	w.start()
	w.close()
}

// Reset breaks the TCP connection with RST.
func (w *Writer) Reset() {
	w.close()
	conn, _, err := http.NewResponseController(w.rw).Hijack()
	if err != nil {
		return // the client has gone already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) //nolint:errcheck // without it the client sees FIN: still a broken stream
	}
	conn.Close() //nolint:errcheck // that is the point
}

// StreamError sends an error inside the stream, after which nothing comes.
func (w *Writer) StreamError(kind, message string) {
	w.send(w.dialect.streamError(kind, message))
	w.close()
}

// Raw writes bytes to the wire as they are.
func (w *Writer) Raw(s string) {
	w.start()
	w.write([]byte(s))
}

// Fail answers with an HTTP error. With an empty body it is the provider's usual
// error of that status. It must come before anything else.
func (w *Writer) Fail(status int, header http.Header, body string) {
	if w.begun || w.ended {
		panic("providerwire: Fail after the answer has begun")
	}
	if body == "" {
		body = w.dialect.errorBody(usualRefusal(status))
	}
	for k, v := range header {
		w.rw.Header()[k] = v
	}
	if w.rw.Header().Get("Content-Type") == "" {
		w.rw.Header().Set("Content-Type", "application/json")
	}
	w.begun = true
	w.server.note(w.rec, func(r *Record) { r.Status = status })
	w.rw.WriteHeader(status)
	w.write([]byte(body))
	w.close()
}

func usualRefusal(status int) *refusal {
	kind := "api_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status == 529:
		kind = "overloaded_error"
	case status < 500:
		kind = "invalid_request_error"
	}
	return &refusal{status, kind, kind, fmt.Sprintf("provider's own words for %d, request req_secret_123", status)}
}

// start sends the headers and the events that open an answer.
func (w *Writer) start() {
	if w.begun || w.ended {
		return
	}
	w.begun = true
	w.rw.Header().Set("Content-Type", "text/event-stream")
	w.rw.Header().Set("Cache-Control", "no-cache")
	w.server.note(w.rec, func(r *Record) { r.Status = http.StatusOK })
	w.rw.WriteHeader(http.StatusOK)
	w.write(encode(w.dialect.start()))
}

func (w *Writer) send(events []event) {
	if w.ended {
		return
	}
	w.start()
	w.write(encode(events))
}

func (w *Writer) write(b []byte) {
	step := w.SplitEvery
	if step <= 0 {
		step = max(len(b), 1)
	}
	flush := http.NewResponseController(w.rw)
	for len(b) > 0 && w.ctx.Err() == nil {
		n := min(step, len(b))
		if _, err := w.rw.Write(b[:n]); err != nil {
			return // the client has gone: the context tells the handler
		}
		flush.Flush() //nolint:errcheck // as above
		b = b[n:]
	}
}

// close is called where the answer ends.
func (w *Writer) close() {
	if !w.ended {
		w.ended, w.whole = true, w.ctx.Err() == nil
	}
}

// finished closes the record.
func (w *Writer) finished() {
	hungUp := !w.whole && w.ctx.Err() != nil && !w.server.closing()
	w.server.note(w.rec, func(r *Record) { r.Done, r.Cut = true, hungUp })
}

func encode(events []event) []byte {
	var b bytes.Buffer
	for _, e := range events {
		if raw, ok := e.data.(rawData); ok && e.name == "" {
			b.WriteString(string(raw))
			continue
		}
		data, err := json.Marshal(e.data)
		if err != nil {
			panic(fmt.Sprintf("providerwire: event %q: %v", e.name, err))
		}
		if e.name != "" {
			fmt.Fprintf(&b, "event: %s\n", e.name)
		}
		fmt.Fprintf(&b, "data: %s\n\n", data)
	}
	return b.Bytes()
}
