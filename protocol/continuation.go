package protocol

import (
	"slices"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// The continuation that goes on with the answers to calls (protocol §10). It belongs
// to the page that has answered last: that page waits for it and joins it, as its hook
// expects; all others look on. A page is known by the key that its sockets share.

// owns: s is a socket of that page.
func owns(s *seat, page string) bool { return page != "" && s.pk == page && s.only == nil }

// present: the page has somebody here.
func (r *room) present(page string) bool {
	return page != "" && slices.ContainsFunc(r.log.seats, func(s *seat) bool { return s.pk == page && s.bye == nil })
}

// arms: that request is the armed continuation, which does not stream yet.
func (r *room) arms(request string) bool { return r.armed != nil && r.armed.Request == request }

// arm lets the sockets of its page wait; they need not ask.
func (r *room) arm(it feed.Armed) {
	r.armed = &it
	if c := r.claims[it.Page]; c != nil {
		delete(r.claims, it.Page)
		r.joinFor(c.seat, r.answerTo(it.Request))
		c.rouse()
	}
	for _, s := range r.log.seats {
		if owns(s, it.Page) {
			s.parked, s.awaits = true, it.Request
		}
	}
}

// dropArmed: the continuation does not come. Who follows it alone is told its end.
func (r *room) dropArmed(request string) {
	if !r.arms(request) {
		return
	}
	r.armed = nil
	a := r.answers[request]
	delete(r.answers, request)
	for _, s := range r.log.seats {
		if a != nil && s.only == a {
			r.log.add(entry{to: s, frame: terminalFrame(&feed.Ended{Request: request}, "", ""), of: a})
		}
	}
}

func (r *room) disarm(request string) {
	if r.arms(request) {
		r.armed = nil
	}
}

// awaited: what s asks for is the armed continuation. A page that is shown what
// streams now asks for what comes after it. Once its page has gone, it is anybody's.
func (r *room) awaited(s *seat) bool {
	switch {
	case r.armed == nil:
		return false
	case r.stream.offerable():
		return owns(s, r.armed.Page) && s.offered == ""
	default:
		return owns(s, r.armed.Page) || s.parked && s.awaits == r.armed.Request || !r.present(r.armed.Page)
	}
}

// ownedByOther: the open stream is another page's to join, and that page is here.
func (r *room) ownedByOther(s *seat) bool {
	page := r.stream.page
	return !owns(s, page) && r.present(page)
}

// pendingFor is the newest request that s may wait for; "" if there is none.
func (r *room) pendingFor(s *seat) string {
	for _, request := range slices.Backward(r.pending) {
		if !r.arms(request) || r.awaited(s) {
			return request
		}
	}
	return ""
}

// waits: what s is parked for may still come.
func (r *room) waits(s *seat) bool {
	if s.awaits != "" { // an incarnation that comes later knows it as a turn that waits
		return r.arms(s.awaits) || slices.Contains(r.pending, s.awaits)
	}
	return r.pendingFor(s) != ""
}
