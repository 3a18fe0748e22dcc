package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// endpoint is one path of a chat agent for clients without sockets. arg is the
// segment that path has a star for.
type endpoint struct {
	method string
	path   []string
	serve  func(h *Handler, w http.ResponseWriter, r *http.Request, a feed.Address, arg string) error
}

var endpoints = []endpoint{
	{http.MethodPost, []string{"chat"}, (*Handler).serveChat},
	{http.MethodPost, []string{"chat", "stop"}, (*Handler).serveStop},
	{http.MethodGet, []string{"chat", "*", "stream"}, (*Handler).serveResume},
	{http.MethodPost, []string{"turns"}, (*Handler).serveTurn},
	{http.MethodGet, []string{"messages", "*"}, (*Handler).serveMessage},
	{http.MethodGet, []string{"calls"}, (*Handler).serveCalls},
	{http.MethodPost, []string{"calls", "*", "result"}, (*Handler).serveResult},
	{http.MethodPost, []string{"calls", "*", "approval"}, (*Handler).serveApproval},
}

// match returns the segment that stands for the star, "" if there is none.
func (e *endpoint) match(path []string) (arg string, ok bool) {
	if len(path) != len(e.path) {
		return "", false
	}
	for i, s := range e.path {
		switch s {
		case "*":
			arg = path[i]
		case path[i]:
		default:
			return "", false
		}
	}
	return arg, true
}

// endpoint finds what serves t; nil if nothing does. Paths of agents that do not
// chat are the author's.
func (h *Handler) endpoint(t target) *endpoint {
	for i := range endpoints {
		if _, ok := endpoints[i].match(t.rest); ok && h.cfg.Host.Chats(t.address.Class) {
			return &endpoints[i]
		}
	}
	return nil
}

// serveEndpoint serves a path that endpoint has found. What changes something
// needs an origin that may use the agents: that a page may read responses (CORS)
// is not enough.
func (h *Handler) serveEndpoint(w http.ResponseWriter, r *http.Request, t target) {
	e := h.endpoint(t)
	if r.Method != e.method {
		w.Header().Set("Allow", e.method)
		http.Error(w, "Method not allowed: use "+e.method, http.StatusMethodNotAllowed)
		return
	}
	var err error
	if e.method != http.MethodGet {
		err = h.checkOrigin(r)
	}
	if err == nil {
		arg, _ := e.match(t.rest)
		err = e.serve(h, w, r, t.address, arg)
	}
	if err != nil {
		h.refuse(w, r, err)
	}
}

// serveMessage answers GET …/messages/{id}.
func (h *Handler) serveMessage(w http.ResponseWriter, r *http.Request, a feed.Address, arg string) error {
	id, err := url.PathUnescape(arg)
	if err != nil {
		return invalid("Invalid request: the message's id is not percent-encoded")
	}
	message, err := h.cfg.Host.Message(r.Context(), a, id)
	if err != nil {
		return err
	}
	h.writeJSON(w, http.StatusOK, message)
	return nil
}

// readBody reads a JSON object.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) (raw []byte, body map[string]json.RawMessage, err error) {
	limit := h.cfg.MaxFrameBytes
	raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, nil, &Error{Code: TooLarge, Message: fmt.Sprintf("request body is over the limit of %s (MaxFrameBytes)", byteCount(limit))}
	case err != nil:
		return nil, nil, invalid("request body cannot be read")
	}
	if json.Unmarshal(raw, &body) != nil || body == nil {
		return nil, nil, invalid("request body is " + shown(raw) + ", must be a JSON object")
	}
	return raw, body, nil
}

func (h *Handler) writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = h.write(w, http.NewResponseController(w), body) // to a client that has gone
}

// write sends a part of a response.
func (h *Handler) write(w io.Writer, rc *http.ResponseController, p []byte) error {
	for len(p) > 0 {
		part := p[:min(len(p), maxHeld)]
		p = p[len(part):]
		h.hurry(rc)
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// hurry gives the network the time that it may take for the next write. A writer
// without deadlines has its own way to be rid of clients that do not read.
func (h *Handler) hurry(rc *http.ResponseController) {
	_ = rc.SetWriteDeadline(time.Now().Add(h.cfg.WriteTimeout))
}
