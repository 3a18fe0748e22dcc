package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// link keeps a connection to one agent open and hands on what it brings. Its
// fields do not change.
type link struct {
	node, agent        string // for errors
	socket, transcript string // URLs
	frames             chan frame
}

// frame is a frame of the node, or news of the connection.
type frame struct {
	Type         string            `json:"type"`
	ID           string            `json:"id"`
	ProbeID      string            `json:"probeId"`
	Body         string            `json:"body"`
	Seq          *int64            `json:"seq"`
	Done         bool              `json:"done"`
	Error        bool              `json:"error"`
	Continuation bool              `json:"continuation"`
	Outcome      string            `json:"outcome"`
	Messages     []json.RawMessage `json:"messages"`

	connected *websocket.Conn
	gone      error // the connection has ended; another is tried
	fatal     error // none will be tried; the last frame
}

// Pauses between attempts to connect.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Bounds of the opening of a socket and of the request for the transcript.
const (
	dialTimeout  = 30 * time.Second
	fetchTimeout = 10 * time.Second
)

// run ends with ctx, or after a fatal frame. A node that has never answered is a
// wrong address, one that has is being started again.
func (l *link) run(ctx context.Context) {
	wait := firstRetry
	for first := true; ctx.Err() == nil; first = false {
		conn, err := l.dial(ctx)
		if err == nil {
			l.hand(ctx, frame{connected: conn})
			err = l.read(ctx, conn)
			wait = firstRetry
			if !final(err) {
				l.hand(ctx, frame{gone: reason(err)})
			}
		}
		var unreachable *unreachable
		if final(err) || first && errors.As(err, &unreachable) {
			l.hand(ctx, frame{fatal: l.explain(err)})
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, lastRetry)
	}
}

func (l *link) hand(ctx context.Context, f frame) {
	select {
	case l.frames <- f:
	case <-ctx.Done():
	}
}

// dial opens a socket. Errors are *unreachable or *refused.
func (l *link) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, l.socket, nil)
	if err == nil {
		conn.SetReadLimit(-1) // a transcript has no limit
		return conn, nil
	}
	if res == nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op // without what the packages above it say again
		}
		return nil, &unreachable{err}
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, 200)) // Dial keeps the beginning of it
	_ = res.Body.Close()
	return nil, &refused{status: res.StatusCode, text: strings.TrimSpace(string(text))}
}

func (l *link) read(ctx context.Context, conn *websocket.Conn) error {
	defer conn.CloseNow()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var f frame
		if json.Unmarshal(data, &f) != nil {
			continue
		}
		if f.Type == "cf_agent_stream_resuming" {
			// The node sends no transcript beside a stream. It is as it was when
			// the stream began.
			f.Messages = l.fetch(ctx)
		}
		l.hand(ctx, f)
	}
}

// fetch gets the transcript; nil if that fails, which leaves a gap on the screen.
func (l *link) fetch(ctx context.Context) (messages []json.RawMessage) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.transcript, nil)
	if err != nil {
		return nil
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || json.NewDecoder(res.Body).Decode(&messages) != nil {
		return nil
	}
	return messages
}

// unreachable: nobody answers.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return u.err.Error() }

// refused: somebody answers, but not with a socket.
type refused struct {
	status int
	text   string
}

func (r *refused) Error() string { return fmt.Sprintf("%d %s", r.status, r.text) }

// final tells whether to try again is of no use: 5xx and most close codes ask to
// come back.
func final(err error) bool {
	var r *refused
	if errors.As(err, &r) {
		return r.status < 500
	}
	code := websocket.CloseStatus(err)
	return code == websocket.StatusPolicyViolation || code >= 4000 && code < 5000
}

// reason is why a connection ended, for people.
func reason(err error) error {
	var closed websocket.CloseError
	if errors.As(err, &closed) && closed.Reason != "" {
		return errors.New(closed.Reason)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the node has hung up")
	}
	return err
}

// explain makes a sentence of a final error.
func (l *link) explain(err error) error {
	var r *refused
	var u *unreachable
	switch {
	case errors.As(err, &u):
		return fmt.Errorf("no node answers at %s: start one, or name another with --url (%w)", l.node, u.err)
	case !errors.As(err, &r):
		return fmt.Errorf("the node at %s has closed the conversation: %w", l.node, reason(err))
	case r.status == http.StatusBadRequest:
		return fmt.Errorf("the node at %s knows no agent %q, or not in this way: %s", l.node, l.agent, r.text)
	case r.status < 400 || r.status == http.StatusNotFound:
		return fmt.Errorf("what answers at %s is no node: it says %w", l.node, err)
	}
	return fmt.Errorf("the node at %s refuses: %s (%d)", l.node, r.text, r.status)
}
