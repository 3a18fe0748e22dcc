package protocol

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// maxHops bounds what one path costs: each address on it has the whole path of its
// parent.
const maxHops = 32

// descend finds the sub-agents that the path behind t's agent names (protocol
// §2.2): the first `sub` with a registered class and a name is a hop, and so on
// behind it. A `sub` that leads nowhere never means the parent: whoever has made a
// typing error shall not talk to somebody else.
func (h *Handler) descend(t target) (target, error) {
	path, lost := t.rest, false
	for i := 0; i+2 < len(path); {
		if path[i] != "sub" {
			i++
			continue
		}
		class, known := h.cfg.Host.Class(path[i+1])
		name, err := url.PathUnescape(path[i+2])
		switch {
		case !known || err != nil || !utf8.ValidString(name):
			lost = true
			i++
			continue
		case strings.ContainsRune(name, 0):
			return t, invalid("Bad Request")
		case len(name) > maxName:
			return t, invalid("Invalid request: the sub-agent's name has more than 512 bytes")
		case len(t.hops) == maxHops:
			return t, invalid("Invalid request: the path leads down more than 32 sub-agents")
		}
		t.address = t.address.Child(class, name)
		t.hops = append(t.hops, t.address)
		path, i, lost = path[i+3:], 0, false
	}
	t.rest = path
	if lost {
		return t, &Error{Code: NotFound, Message: "Not Found"}
	}
	return t, nil
}

// enterAll asks the gate of each parent on the way to t's agent.
func (h *Handler) enterAll(r *http.Request, t target) error {
	if t.err != nil {
		return t.err
	}
	parent := t.root
	for _, child := range t.hops {
		if err := guard(func() error { return h.cfg.Host.Enter(r.Context(), r, parent, child) }); err != nil {
			return err
		}
		parent = child
	}
	return nil
}

// reject refuses a socket to a sub-agent. A failed upgrade would tell its client
// nothing, and it would try again for ever; a close code says whether it may.
func (h *Handler) reject(w http.ResponseWriter, r *http.Request, err error) {
	e, hidden := public(err)
	if hidden && r.Context().Err() == nil {
		h.log.Error("sub-agent cannot be reached", "path", r.URL.Path, "error", err)
	}
	cw := &corkWriter{ResponseWriter: w, timeout: h.cfg.WriteTimeout}
	conn, err := accept(cw, r)
	if err != nil {
		h.log.Debug("upgrade failed", "path", r.URL.Path, "error", err)
		return
	}
	status := e.httpStatus()
	code := websocket.StatusInternalError
	if status >= 400 && status < 500 {
		code = websocket.StatusCode(4000 + status)
	}
	conn.Close(code, fmt.Sprintf("Sub-agent connection rejected (%d)", status))
}
