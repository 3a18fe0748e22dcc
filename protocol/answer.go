package protocol

import (
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// answer is what somebody follows alone, over HTTP: all that one request is
// told, also after it was handed over to a recovery, which has an id of its own.
type answer struct {
	request string // guarded by room.mu: it changes with a recovery
}

func (r *room) answerTo(request string) *answer {
	a := r.answers[request]
	if a == nil {
		a = &answer{request: request}
		r.answers[request] = a
	}
	return a
}

// follow lets s take part from here on, in the answer to request alone. It is
// called before the agent hears of the request.
func (r *room) follow(s *seat, request string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.joinFor(s, r.answerTo(request))
}

func (r *room) joinFor(s *seat, a *answer) {
	if s.only = a; s.bye == nil {
		s.joined = true
		r.log.join(s)
	}
}

// askCurrent registers a question after which s follows what runs then.
func (r *room) askCurrent(s *seat) *ask {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.newAsk(s, false, probe{})
	a.look = true
	return a
}

// followCurrent lets s follow the answer that runs, from its first chunk, or the
// one that will run next. If there is none, s gets the last one if it failed,
// which perhaps nobody has seen, or does not join.
func (r *room) followCurrent(s *seat) {
	switch {
	case r.stream != nil:
		a := r.answerTo(r.stream.request)
		r.joinFor(s, a)
		if s.joined && r.stream.offerable() {
			r.log.add(entry{to: s, replay: r.stream.replay(), of: a})
		}
	case slices.Contains(r.pending, r.retrying): // before others that wait longer
		r.joinFor(s, r.answerTo(r.retrying))
	case len(r.pending) > 0:
		r.joinFor(s, r.answerTo(r.pending[0]))
	case r.failed != nil:
		a := &answer{request: r.failed.ended.Request}
		if r.joinFor(s, a); s.joined {
			r.log.add(entry{to: s, replay: r.failed.replay(), of: a})
		}
	}
}

// followed is the request that s follows; "" if none.
func (r *room) followed(s *seat) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.only == nil {
		return ""
	}
	return s.only.request
}

// unfollow forgets the answer of s if nobody else follows it.
func (r *room) unfollow(s *seat) {
	if s.only == nil {
		return
	}
	for _, other := range r.log.seats {
		if other.only == s.only {
			return
		}
	}
	maps.DeleteFunc(r.answers, func(_ string, a *answer) bool { return a == s.only })
	if r.handed == s.only {
		r.handed = nil
	}
}

// handOver ends the answer a, unless the next request to be accepted takes it over.
func (r *room) handOver(a *answer, e *feed.Ended) {
	delete(r.answers, e.Request)
	if e.Outcome == feed.Recovering {
		r.handed = a
	}
}

func (r *room) takeOver(request string) {
	if r.handed != nil {
		r.handed.request = request
		r.answers[request], r.handed = r.handed, nil
	}
}
