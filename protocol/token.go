package protocol

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Approved calls that are not the server's to run. Every page that sees such a call as
// input-available runs it, so that is shown to one page alone: it has the call's token.

// token is the right to run one call.
type token struct {
	call    string
	message []byte // with the call to be run
	page    string // which has it; "": the next that asks for something to resume
	now     bool   // its page has asked since, or never will
	sent    bool
	left    int // how often its page has gone
}

// pageGrace is how long a page that has lost its socket is waited for. It tries again
// after about three seconds.
const pageGrace = 10 * time.Second

// runnable: the page that has approved gets the token when it asks for something to
// resume, which is when its hook listens. If there is no such page, an open tab does.
func (r *room) runnable(it feed.Runnable) {
	r.settled(it.Call)
	t := &token{call: it.Call, message: it.Message, page: it.Page, now: it.Now}
	r.tokens = append(r.tokens, t)
	if t.page != "" && !r.present(t.page) {
		r.waitForPage(t)
	}
	r.handTokens(true)
}

func (r *room) settled(call string) {
	r.tokens = slices.DeleteFunc(r.tokens, func(t *token) bool { return t.call == call })
}

// restoreTokens takes what a new incarnation knows. A page that has one keeps it.
func (r *room) restoreTokens(list []feed.Runnable) {
	old := r.tokens
	r.tokens = nil
	for _, it := range list {
		i := slices.IndexFunc(old, func(t *token) bool { return t.call == it.Call })
		t := &token{call: it.Call, page: it.Page}
		if i >= 0 {
			t = old[i]
		}
		t.message = it.Message
		if r.tokens = append(r.tokens, t); !r.present(t.page) {
			r.waitForPage(t)
		}
	}
}

// canRun: what s answers counts.
func (s *seat) canRun() bool {
	return s.joined && s.bye == nil && s.only == nil
}

// listens: s has asked for something to resume, so its hook listens, whatever it is told.
func (r *room) listens(s *seat) {
	for _, t := range r.tokens {
		t.now = t.now || owns(s, t.page)
	}
}

// giveTokens shows s, which has just been told that there is nothing to resume, the
// calls that it is to run: again, if it is a page that comes back, which knows what it
// has run.
func (r *room) giveTokens(s *seat) {
	if !s.canRun() {
		return
	}
	for _, t := range r.tokens {
		if t.page == "" || owns(s, t.page) {
			r.give(t, s)
		}
	}
}

func (r *room) give(t *token, s *seat) {
	t.page, t.now, t.sent = s.pk, true, true
	r.direct(s, updatedFrame(t.message))
}

// handTokens shows what could not be shown when it was asked for, since something
// streamed. If toAny, a token that is nobody's goes to some open tab whose hook listens.
func (r *room) handTokens(toAny bool) {
	if r.stream != nil || len(r.pending) > 0 {
		return
	}
	for _, t := range r.tokens {
		if t.sent || t.page == "" && !toAny || t.page != "" && !t.now {
			continue
		}
		for _, s := range slices.Backward(r.log.seats) { // the newest socket of a page lives
			if s.canRun() && !s.parked && (owns(s, t.page) || t.page == "" && (s.probed || s.chatted)) {
				r.give(t, s)
				break
			}
		}
	}
}

// pageLeft: s has gone. If its page has closed it, the page does not come back; it
// may be another one after a reload, which asks.
func (r *room) pageLeft(s *seat) {
	for _, t := range r.tokens {
		if t.page == "" || t.page != s.pk || r.present(s.pk) {
			continue
		}
		if s.quit {
			t.free()
		}
		r.waitForPage(t)
	}
}

func (t *token) free() { t.page, t.now, t.sent = "", false, false }

func (r *room) waitForPage(t *token) {
	t.left++
	left := t.left
	r.after(pageGrace, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.left == left && !r.present(t.page) {
			t.free()
			r.handTokens(true)
		}
	})
}

// quits: the page of s has closed it, and does not come back.
func (r *room) quits(s *seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.quit = true
}
