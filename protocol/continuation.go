package protocol

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// A continuation belongs to the page that has answered last (protocol §8.1, chat.md
// 4.4): that page waits for it, and is offered its stream; others watch, unless the
// page has gone. A page is the pk that its sockets share over reconnects.

// present reports whether a socket of that page takes part, other than s.
func (r *room) present(page string, s *seat) bool {
	return page != "" && slices.ContainsFunc(r.log.seats, func(o *seat) bool { return o != s && o.pk == page && o.bye == nil })
}

// owns reports whether what belongs to that page may be offered to s.
func (r *room) owns(s *seat, page string) bool {
	return page == "" || s.pk == page || !r.present(page, s)
}

func (r *room) arm(it feed.Armed) {
	r.armed = &it
	for _, s := range r.log.seats {
		if s.pk == it.Page && s.only == nil {
			s.parked = true
		}
	}
}

func (r *room) disarm(request string) {
	if r.armed != nil && r.armed.Request == request {
		r.armed = nil
	}
}

// waitsFor is the request that s waits for, the newest; "" if there is none. A
// continuation is waited for by who owns it.
func (r *room) waitsFor(s *seat) string {
	if a := r.armed; a != nil && r.owns(s, a.Page) {
		return a.Request
	}
	for _, request := range slices.Backward(r.pending) {
		if r.armed == nil || request != r.armed.Request {
			return request
		}
	}
	return ""
}

// updated shows everybody one message as it is now.
func (r *room) updated(it feed.Updated) {
	r.news++
	if len(r.log.seats) > 0 {
		r.cast(entry{frame: updatedFrame(it.Message), chat: true})
	}
}

// tokenGrace is how long a call that one page is to run stays with that page when its
// sockets are gone: it may come back.
const tokenGrace = 10 * time.Second

// token is the right to run a client's call that was approved (chat.md §0.0): one page
// at a time has it, so that the call is run once.
type token struct {
	call    string
	message []byte // as only the holder sees it: the call as if it had just been made
	page    string // that is to have it; "": the next that asks
	given   bool   // it was shown the call
	grace   *time.Timer
}

// runnable: the approver's page is to run the call. It asks, unless it wants to know
// nothing of a continuation.
func (r *room) runnable(it feed.Runnable, now bool) {
	t := &token{call: it.Call, message: it.Message, page: it.Page}
	r.tokens = append(r.tokens, t)
	if now {
		for _, s := range r.log.seats {
			if s.pk == t.page && s.bye == nil && s.only == nil {
				r.give(t, s)
				return
			}
		}
	}
	if !r.present(t.page, nil) {
		r.waitForHolder(t)
	}
}

func (r *room) settledCall(call string) {
	r.tokens = slices.DeleteFunc(r.tokens, func(t *token) bool {
		if t.call == call {
			t.stop()
		}
		return t.call == call
	})
}

func (r *room) dropTokens() {
	for _, t := range r.tokens {
		t.stop()
	}
	r.tokens = nil
}

func (t *token) stop() {
	if t.grace != nil {
		t.grace.Stop()
		t.grace = nil
	}
}

// giveTokens hands the page of s, which has been told that nothing runs, what it may run.
func (r *room) giveTokens(s *seat) {
	for _, t := range r.tokens {
		if s.pk == t.page || !r.present(t.page, nil) && t.grace == nil {
			r.give(t, s)
		}
	}
}

func (r *room) give(t *token, s *seat) {
	t.stop()
	t.page, t.given = s.pk, true
	r.direct(s, updatedFrame(t.message))
}

// waitForHolder gives the page of t time to come back; then another one has the token.
func (r *room) waitForHolder(t *token) {
	t.stop()
	t.grace = time.AfterFunc(tokenGrace, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Contains(r.tokens, t) || r.present(t.page, nil) {
			return
		}
		t.grace = nil
		for _, s := range r.log.seats {
			if s.bye == nil && s.only == nil && s.probed {
				r.give(t, s)
				return
			}
		}
	})
}

// holderLeft: the socket of s has gone, perhaps the last of a page that holds a token.
func (r *room) holderLeft(s *seat) {
	for _, t := range r.tokens {
		if t.page == s.pk && !r.present(t.page, s) {
			r.waitForHolder(t)
		}
	}
}

// idle tells s that nothing runs, and what it may run.
func (r *room) idle(s *seat, p probe) {
	r.direct(s, noneFrame("idle", p))
	r.giveTokens(s)
}

func updatedFrame(message []byte) []byte {
	var o object
	o.raw("message", message)
	return o.end("cf_agent_message_updated")
}

func mcpFrame(servers []byte) []byte {
	if servers == nil {
		return noMCP
	}
	var o object
	o.raw("mcp", servers)
	return o.end("cf_agent_mcp_servers")
}
