package protocol

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Calls that wait for a client or a person, for programs: what pages do with frames.
// The turn goes on unless the body says autoContinue: false.

// serveCalls answers GET …/calls.
func (h *Handler) serveCalls(w http.ResponseWriter, r *http.Request, a feed.Address, _ string) error {
	calls, err := h.cfg.Host.Calls(r.Context(), a)
	if err != nil {
		return err
	}
	h.writeJSON(w, http.StatusOK, calls)
	return nil
}

// serveResult answers POST …/calls/{id}/result.
func (h *Handler) serveResult(w http.ResponseWriter, r *http.Request, a feed.Address, arg string) error {
	id, body, err := h.readAnswer(w, r, arg)
	if err != nil {
		return err
	}
	answer, err := parseAnswer(id, body)
	if err == nil {
		err = h.cfg.Host.Answer(h.ctx, a, answer)
	}
	return done(w, err)
}

// serveApproval answers POST …/calls/{id}/approval.
func (h *Handler) serveApproval(w http.ResponseWriter, r *http.Request, a feed.Address, arg string) error {
	id, body, err := h.readAnswer(w, r, arg)
	if err != nil {
		return err
	}
	approval, err := parseApproval(id, body)
	if err == nil {
		err = h.cfg.Host.Approve(h.ctx, a, approval)
	}
	return done(w, err)
}

func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (h *Handler) readAnswer(w http.ResponseWriter, r *http.Request, arg string) (id json.RawMessage, body map[string]json.RawMessage, err error) {
	call, err := url.PathUnescape(arg)
	if err != nil {
		return nil, nil, invalid("Invalid request: the call's id is not percent-encoded")
	}
	if _, body, err = h.readBody(w, r); err != nil {
		return nil, nil, err
	}
	if body["autoContinue"] == nil {
		body["autoContinue"] = json.RawMessage("true")
	}
	id, err = json.Marshal(call)
	return id, body, err
}
