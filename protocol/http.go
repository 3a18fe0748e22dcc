package protocol

import (
	"io"
	"net/http"
	"strings"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// ServeHTTP serves the paths of agents, upgrades and plain requests; all other
// paths get 404.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, found, err := h.route(r)
	switch {
	case !found:
		http.NotFound(w, r)
	case err != nil:
		h.refuse(w, r, err)
	case isUpgrade(r):
		h.serveUpgrade(w, r, t)
	default:
		h.servePlain(w, r, t)
	}
}

func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

func (h *Handler) serveUpgrade(w http.ResponseWriter, r *http.Request, t target) {
	if h.stopping() {
		h.refuse(w, r, errStopping)
		return
	}
	err := h.checkHost(r)
	if err == nil {
		err = h.checkOrigin(r)
	}
	if err == nil {
		r, t, err = h.pass(h.cfg.BeforeConnect, r, t)
	}
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if err := h.enterAll(r, t); err != nil {
		h.reject(w, r, err)
		return
	}
	h.open(w, r, t.address)
}

func (h *Handler) servePlain(w http.ResponseWriter, r *http.Request, t target) {
	for k, v := range h.cfg.CORS {
		w.Header().Set(k, v)
	}
	if r.Method == http.MethodOptions && h.cfg.CORS != nil {
		return
	}
	err := h.checkHost(r)
	if err == nil && h.cfg.CORS == nil {
		err = h.checkOrigin(r)
	}
	if err == nil {
		r, t, err = h.pass(h.cfg.BeforeRequest, r, t)
	}
	if err == nil {
		err = h.enterAll(r, t)
	}
	switch {
	case err != nil:
		h.refuse(w, r, err)
	case t.transcript() && h.cfg.Host.Chats(t.address.Class):
		h.serveTranscript(w, r, t.address)
	case h.endpoint(t) != nil:
		h.serveEndpoint(w, r, t)
	case h.cfg.Host.Serve(w, r, t.address, t.path()):
	default:
		h.refuse(w, r, &Error{Code: NotFound, Message: "Not implemented"})
	}
}

// serveTranscript answers GET …/get-messages, and any other method.
func (h *Handler) serveTranscript(w http.ResponseWriter, r *http.Request, a feed.Address) {
	messages, err := h.cfg.Host.Transcript(r.Context(), a)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if len(messages) == 0 {
		messages = []byte("[]")
	}
	h.writeJSON(w, http.StatusOK, messages)
}

// pass asks a gate, and finds the agent anew if it has rewritten the path.
func (h *Handler) pass(gate Gate, r *http.Request, t target) (*http.Request, target, error) {
	path := r.URL.EscapedPath() // now: a gate may write into r itself
	out, err := h.ask(gate, r, t.root)
	if err != nil || out.URL.EscapedPath() == path {
		return out, t, err
	}
	t, found, err := h.route(out)
	if !found {
		err = &Error{Code: NotFound, Message: "404 page not found"}
	}
	return out, t, err
}

// ask runs a gate. A panic in it is an internal error of this request alone.
func (h *Handler) ask(gate Gate, r *http.Request, a feed.Address) (out *http.Request, err error) {
	if gate == nil {
		return r, nil
	}
	err = guard(func() (err error) {
		out, err = gate(r, a)
		return err
	})
	if out == nil {
		out = r
	}
	return out, err
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, hidden := public(err)
	if hidden && r.Context().Err() == nil {
		h.log.Error("request failed", "path", r.URL.Path, "error", err)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	for k, v := range e.Header {
		w.Header()[http.CanonicalHeaderKey(k)] = v
	}
	w.WriteHeader(e.httpStatus())
	io.WriteString(w, e.Message)
}
