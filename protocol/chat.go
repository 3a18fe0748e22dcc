package protocol

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Chat for clients that speak HTTP alone: the default transport of the AI SDK's
// useChat. A response is one more reader of the room; the turn does not depend on it.

// requestHeader tells under which id the agent knows a request.
const requestHeader = "Holdfast-Request-Id"

// serveChat answers POST …/chat with the turn's stream. Until the turn is
// accepted, which is durable, every failure is a status.
func (h *Handler) serveChat(w http.ResponseWriter, r *http.Request, a feed.Address, _ string) error {
	stops, err := stopsOnLoss(r)
	if err != nil {
		return err
	}
	_, body, err := h.readBody(w, r)
	if err != nil {
		return err
	}
	delete(body, "id") // of the page's chat: the agent's name is the conversation
	delete(body, "messageId")
	submit, err := parseSubmit(newID(), body)
	if err != nil {
		return err
	}
	v, err := h.newViewer(w, r, a)
	if err != nil {
		return err
	}
	defer v.leave()
	continues, err := v.answerCalls(a, submit)
	if err == nil && !continues {
		v.room.follow(v.seat, submit.Request)
		err = h.cfg.Host.Submit(h.ctx, a, submit)
	}
	if err != nil {
		return err
	}
	err = v.stream(nil)
	if errors.Is(err, errClientGone) && stops && h.ctx.Err() == nil {
		if err := h.cfg.Host.Cancel(h.ctx, a, v.room.followed(v.seat)); err != nil {
			v.log.Error("cancel failed", "error", err)
		}
	}
	abortOn(err)
	return nil
}

// stopsOnLoss: a page's stop() only drops the connection, which looks like any
// reload; ?stop=disconnect lets that end the turn.
func stopsOnLoss(r *http.Request) (bool, error) {
	switch v := r.URL.Query().Get("stop"); v {
	case "":
		return false, nil
	case "disconnect":
		return true, nil
	default:
		return false, invalid(fmt.Sprintf("stop is %.40q, must be disconnect or missing", v))
	}
}

// serveResume answers GET …/chat/{id}/stream, whatever the id: the running
// answer from its first chunk, or 204.
func (h *Handler) serveResume(w http.ResponseWriter, r *http.Request, a feed.Address, _ string) error {
	v, err := h.newViewer(w, r, a)
	if err != nil {
		return err
	}
	defer v.leave()
	q, err := v.lookUp()
	if err != nil {
		return err
	}
	if v.room.followed(v.seat) == "" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	abortOn(v.stream(q.messages))
	return nil
}

// abortOn breaks the connection after a stream that did not reach its end, so
// that the client does not take it for whole.
func abortOn(err error) {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// serveStop answers POST …/chat/stop: it ends the turn of the request that the
// body names (requestId), or the one that runs, and leaves those that wait.
func (h *Handler) serveStop(w http.ResponseWriter, r *http.Request, a feed.Address, _ string) error {
	request, err := h.requestToStop(w, r)
	if err != nil {
		return err
	}
	if request == "" {
		if request, err = h.current(w, r, a); err != nil {
			return err
		}
	}
	if request != "" {
		if err := h.cfg.Host.Cancel(h.ctx, a, request); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// requestToStop is the requestId of the body, which may be empty.
func (h *Handler) requestToStop(w http.ResponseWriter, r *http.Request) (string, error) {
	if r.ContentLength == 0 {
		return "", nil
	}
	_, body, err := h.readBody(w, r)
	if err != nil || body["requestId"] == nil {
		return "", err
	}
	id, ok := text(body["requestId"])
	if !ok || id == "" {
		return "", invalid(fmt.Sprintf("requestId is %s, must be a text that is not empty", shown(body["requestId"])))
	}
	return id, nil
}

// current is the request whose answer runs, or the next to run; "" if there is none.
func (h *Handler) current(w http.ResponseWriter, r *http.Request, a feed.Address) (string, error) {
	v, err := h.newViewer(w, r, a)
	if err != nil {
		return "", err
	}
	defer v.leave()
	if _, err := v.lookUp(); err != nil {
		return "", err
	}
	return v.room.followed(v.seat), nil
}

// lookUp returns when the agent has told what runs, and the viewer follows that.
func (v *viewer) lookUp() (*ask, error) {
	q := v.room.askCurrent(v.seat)
	return q, v.ask(q)
}

// ask returns when q is answered.
func (v *viewer) ask(q *ask) error {
	ctx, cancel := context.WithTimeout(v.ctx, v.h.cfg.ConnectTimeout)
	defer cancel()
	err := v.h.cfg.Host.View(ctx, v.room.address, q.n)
	if err == nil {
		err = v.await(ctx, q)
	}
	switch {
	case err == nil:
	case v.h.stopping():
		err = errStopping
	case errors.Is(err, context.DeadlineExceeded):
		err = &Error{Code: Unavailable, Message: "agent is not ready yet, try again"}
	}
	return err
}

// await returns when q is answered, or an error if nobody waits for that any more.
func (v *viewer) await(ctx context.Context, q *ask) error {
	for {
		select {
		case <-q.done:
			return nil
		case <-v.seat.wake: // it has joined, or is to go
			if v.h.stopping() {
				return errStopping
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
