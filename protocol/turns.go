package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// keyHeader makes a request that is sent again the same request.
const keyHeader = "Idempotency-Key"

// serveTurn answers POST …/turns: user messages that are added to the
// conversation, for programs. The answer is told when it is there (wait), or
// with 202 that the turn is accepted, which is durable.
func (h *Handler) serveTurn(w http.ResponseWriter, r *http.Request, a feed.Address, _ string) error {
	wait, err := patience(r)
	if err != nil {
		return err
	}
	raw, body, err := h.readBody(w, r)
	if err != nil {
		return err
	}
	request, keyed, err := requestKey(r)
	if err != nil {
		return err
	}
	submit, err := parseTurn(request, body)
	if err != nil {
		return err
	}
	if keyed {
		if submit.Fingerprint, err = fingerprint(raw); err != nil {
			return err
		}
	}
	if err := h.cfg.Host.Submit(h.ctx, a, submit); err != nil {
		return err
	}
	w.Header().Set(requestHeader, request)
	if wait == 0 {
		return h.accepted(w, request)
	}
	return h.awaitTurn(w, r, a, request, wait)
}

func (h *Handler) accepted(w http.ResponseWriter, request string) error {
	var o object
	o.text("requestId", request)
	o.text("status", "accepted")
	h.writeJSON(w, http.StatusAccepted, append(o.b, '}'))
	return nil
}

// awaitTurn tells how the turn has ended, or that it is accepted when wait is over.
func (h *Handler) awaitTurn(w http.ResponseWriter, r *http.Request, a feed.Address, request string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	end, err := h.cfg.Host.Await(ctx, a, request)
	var e *Error
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		return h.accepted(w, request)
	case h.stopping() && !errors.As(err, &e):
		return &Error{Code: Unavailable, Message: "node is stopping; the turn goes on, ask again with the same " + keyHeader}
	default:
		return err
	}
	var o object
	o.optional("error", end.Text)
	if len(end.Message) > 0 {
		o.raw("message", end.Message)
	}
	o.text("requestId", request)
	o.text("status", string(end.Status))
	h.writeJSON(w, http.StatusOK, append(o.b, '}'))
	return nil
}

const forever = 1<<63 - 1

// patience is how long the client wants to wait for the answer: 0 not at all.
// ?wait=1 and "Prefer: wait" set no limit, "Prefer: wait=20" one in seconds.
func patience(r *http.Request) (time.Duration, error) {
	if v := r.URL.Query().Get("wait"); v != "" {
		wait, err := strconv.ParseBool(v)
		switch {
		case err != nil:
			return 0, invalid(fmt.Sprintf("wait is %.40q, must be 1 or 0", v))
		case wait:
			return forever, nil
		}
		return 0, nil
	}
	for preference := range strings.SplitSeq(strings.Join(r.Header.Values("Prefer"), ","), ",") {
		name, value, limited := strings.Cut(strings.TrimSpace(preference), "=")
		if name != "wait" {
			continue
		}
		if !limited {
			return forever, nil
		}
		seconds, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return 0, invalid(fmt.Sprintf("Prefer: wait is %.40q, must be a number of seconds", value))
		}
		return time.Duration(seconds) * time.Second, nil
	}
	return 0, nil
}

// requestKey is the id of the request: the key that the client gave it, or a new one.
func requestKey(r *http.Request) (key string, given bool, err error) {
	keys := r.Header.Values(keyHeader)
	switch {
	case len(keys) == 0:
		return newID(), false, nil
	case len(keys) > 1:
		return "", false, invalid(fmt.Sprintf("%s is given %d times, must be given once", keyHeader, len(keys)))
	case keys[0] == "" || len(keys[0]) > maxID:
		return "", false, invalid(fmt.Sprintf("%s has %d bytes, must have 1 to %d", keyHeader, len(keys[0]), maxID))
	case !utf8.ValidString(keys[0]):
		return "", false, invalid(fmt.Sprintf("%s is %.40q, must be UTF-8", keyHeader, keys[0]))
	}
	return keys[0], true, nil
}

// parseTurn takes {"text": …} or {"messages": […]} and custom fields apart.
func parseTurn(request string, body map[string]json.RawMessage) (feed.Submit, error) {
	said, short := body["text"]
	_, long := body["messages"]
	if short == long {
		return feed.Submit{}, invalid("request body must have either text or messages")
	}
	if short {
		m, err := userMessage(said)
		if err != nil {
			return feed.Submit{}, err
		}
		delete(body, "text")
		body["messages"] = uimessage.AppendList(nil, [][]byte{m.AppendJSON(nil)})
	}
	s, err := parseSubmit(request, body)
	if err != nil {
		return s, err
	}
	if s.Regenerate {
		return s, invalid("trigger is regenerate-message, must be submit-message: messages are added")
	}
	if len(s.Messages) == 0 {
		return s, invalid("messages is empty, must have at least one")
	}
	for i, m := range s.Messages {
		if m.Role != uimessage.User {
			return s, invalid(fmt.Sprintf("messages[%d].role is %q, must be %q", i, m.Role, uimessage.User))
		}
	}
	s.Append = true
	return s, nil
}

func userMessage(said json.RawMessage) (uimessage.Message, error) {
	t, ok := text(said)
	if !ok || t == "" {
		return uimessage.Message{}, invalid(fmt.Sprintf("text is %s, must be a text that is not empty", shown(said)))
	}
	return uimessage.Message{ID: newID(), Role: uimessage.User, Parts: []uimessage.Part{{Type: uimessage.TextPart, Text: t}}}, nil
}

// fingerprint is the same for bodies that differ in white space, in the order of
// fields and in escapes only.
func fingerprint(body []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	canonical, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(canonical)
	return sum[:], nil
}
