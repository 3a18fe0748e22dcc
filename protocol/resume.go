package protocol

import (
	"slices"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// The resume handshake (protocol §3, §8): what a socket is told when it comes,
// when it asks, and when it accepts an offer.

// ask is a question to the agent, answered by a feed.View.
type ask struct {
	n     uint64
	seat  *seat
	greet bool   // the socket is new; else it has asked whether to resume
	claim *claim // instead: a request over HTTP, whose answers a continuation may come of
	look  bool   // instead: a request over HTTP, what runs is all that it wants
	probe probe  // echoed in the answer to a resume request
	done  chan struct{}

	messages []byte // after done, of a look: the transcript as of this place in the feed
}

func (r *room) newAsk(s *seat, greet bool, p probe) *ask {
	a := &ask{n: r.askCount.Add(1), seat: s, greet: greet, probe: p, done: make(chan struct{})}
	r.asks[a.n] = a
	return a
}

// askConnect registers the question that greets s.
func (r *room) askConnect(s *seat) *ask {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newAsk(s, true, probe{})
}

// drop withdraws a; false if it has been answered.
func (r *room) drop(a *ask) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, open := r.asks[a.n]
	delete(r.asks, a.n)
	return open
}

func (r *room) view(it feed.View) {
	a := r.asks[it.Ask]
	if a == nil {
		return
	}
	delete(r.asks, it.Ask)
	defer close(a.done)
	if a.claim != nil {
		r.settleClaim(a.claim)
		return
	}
	if a.look {
		a.messages = it.Messages
		r.followCurrent(a.seat)
		return
	}
	if a.greet {
		r.greet(a.seat, it)
		return
	}
	if r.answer(a.seat, a.probe) {
		return
	}
	// Never after the none: a client may send the moment it hears it.
	if pushed(it) {
		r.push(a.seat, it)
	}
	r.idle(a.seat, a.probe)
}

// idle tells s that there is nothing to resume. What is left to do for it comes
// behind that: until then its hook takes no call.
func (r *room) idle(s *seat, p probe) {
	r.direct(s, noneFrame("idle", p))
	r.giveTokens(s)
}

// greet lets s take part from here on and sends the connect sequence.
func (r *room) greet(s *seat, it feed.View) {
	if s.bye != nil {
		return
	}
	s.joined = true
	r.log.join(s)
	streaming := r.stream.offerable()
	r.tellMissed(s, it)
	switch {
	case streaming:
		r.offer(s, probe{})
	case r.recovering: // says more than that its request is pending, which it is
		r.direct(s, recoveringFrame(true, r.retrying))
		s.parked = len(r.pending) > 0
	case r.awaited(s):
		r.park(s, r.armed.Request, probe{})
	case r.pendingFor(s) != "":
		r.park(s, r.pendingFor(s), probe{})
	}
	if r.armed != nil && owns(s, r.armed.Page) {
		s.parked, s.awaits = true, r.armed.Request
	}
	r.introduce(s, it)
	full := pushed(it)
	if full && !streaming {
		r.push(s, it)
	}
	s.dated = full || streaming
	for _, e := range s.early {
		r.log.add(e)
	}
	s.early, s.earlyBytes = nil, 0
}

// introduce tells s who the agent is and what it is like, as far as s is to know.
func (r *room) introduce(s *seat, it feed.View) {
	if s.terms.NoProtocol {
		return
	}
	if !s.terms.NoIdentity {
		r.direct(s, identityFrame(r.address, it.State != nil))
	}
	if it.State != nil {
		r.direct(s, stateFrame(it.State))
	}
	r.direct(s, mcpFrame(it.MCP))
}

func (r *room) push(s *seat, it feed.View) {
	r.log.add(entry{to: s, frame: messagesFrame(it.Messages, true), free: true})
}

// absence is what the page of a lost socket knew.
type absence struct {
	watched string // request whose stream it was shown; "" if none
	news    uint64
}

func (r *room) noteAbsence(s *seat) {
	if !s.joined || s.only != nil {
		return
	}
	a := absence{news: r.news}
	if r.stream.offerable() && s.offered == "" {
		a.watched = r.stream.request
	}
	r.left[s.pk] = a
	for pk := range r.left {
		if len(r.left) <= maxLeft {
			break
		}
		delete(r.left, pk)
	}
}

// tellMissed tells a page that is back while something goes on what a replay will
// not. An answer that it watched goes on for it until it hears of its end; the
// one that is offered now stands, for it, behind the last message that it knows.
// (If nothing goes on, the push and the "idle" do both.)
func (r *room) tellMissed(s *seat, it feed.View) {
	a, back := r.left[s.pk]
	delete(r.left, s.pk)
	streaming := r.stream.offerable()
	if !back || !streaming && len(r.pending) == 0 {
		return
	}
	if e := r.recall(a.watched); e != nil {
		r.direct(s, settledFrame(a.watched, e))
	}
	if streaming && a.news != r.news && pushed(it) {
		r.push(s, it)
	}
}

// pushed reports whether a socket is to be shown it. The empty list of a new
// conversation tells nothing; that of a cleared one is news to whoever was away.
func pushed(it feed.View) bool { return it.Wiped || !emptyList(it.Messages) }

// resume answers a resume request. If it returns an ask, the answer waits for
// the agent's View: a push on connect reaches a page before its chat hook
// listens, so the first request of a socket that is to be told "idle" gets the
// transcript once more before it.
func (r *room) resume(s *seat, p probe) *ask {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !s.joined {
		return nil
	}
	first := !s.probed && !s.chatted && s.dated
	// A page sends what was typed while it was away, and then asks: it gets the
	// answer already. An offer would hold that back, until after its end perhaps.
	gets := !s.probed && !r.awaited(s) && r.stream.offerable() && r.senders[r.stream.request] == s
	s.probed = true
	r.listens(s)
	if gets {
		r.direct(s, noneFrame("", p))
		return nil
	}
	if r.answer(s, p) {
		return nil
	}
	if first {
		return r.newAsk(s, false, p)
	}
	r.idle(s, p)
	return nil
}

// settle answers a, for which there is no View, as well as the room can.
func (r *room) settle(a *ask) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asks[a.n] == nil || !a.seat.joined {
		return
	}
	delete(r.asks, a.n)
	if !r.answer(a.seat, a.probe) {
		r.idle(a.seat, a.probe)
	}
}

// answer tells s what there is to resume; false if nothing is.
func (r *room) answer(s *seat, p probe) bool {
	switch {
	case r.awaited(s):
		r.park(s, r.armed.Request, p)
	case r.stream.offerable() && r.ownedByOther(s): // it looks on
		r.direct(s, noneFrame("continuation-owned", p))
	case r.stream.offerable():
		r.offer(s, p)
	case r.failed != nil:
		r.direct(s, resumingFrame(r.failed.ended.Request, p))
	case r.pendingFor(s) != "":
		r.park(s, r.pendingFor(s), p)
	default:
		return false
	}
	return true
}

// offer offers the open stream. Until s ACKs it, it gets no chat frames. (Once
// the stream is closed nobody is veiled: what follows is for all.)
func (r *room) offer(s *seat, p probe) {
	e := entry{to: s, frame: resumingFrame(r.stream.request, p)}
	if !r.stream.closed {
		e.mark = veil
		s.offered = r.stream.request
	}
	if s.awaits == "" || s.awaits == r.stream.request {
		s.unpark()
	}
	r.log.add(e)
}

// park lets s wait for a pending request: it is offered the stream when there
// is one, or released when there will be none. Who waits for a client's message is
// offered whatever streams, since it is one page's as much as another's; who waits
// for a continuation, that one.
func (r *room) park(s *seat, request string, p probe) {
	if s.parked, s.awaits = true, ""; r.arms(request) {
		s.awaits = request
	}
	r.direct(s, pendingFrame(request, p))
}

func (s *seat) unpark() { s.parked, s.awaits = false, "" }

// offerToParked: the open stream has its first chunk, its request waits no
// longer.
func (r *room) offerToParked() {
	request := r.stream.request
	r.unpend(request)
	r.disarm(request)
	sender := r.senders[request]
	for _, s := range r.log.seats {
		switch {
		case !s.parked:
		case s.awaits == "" && r.ownedByOther(s): // it looks on
		case s.awaits != "" && s.awaits != request:
		case s == sender: // it listens already; an offer would veil it
			s.unpark()
			r.direct(s, noneFrame("", probe{}))
		default:
			r.offer(s, probe{})
		}
	}
}

// release ends the wait of parked seats for what will not come, without a claim that
// the agent is idle. After a failure they are offered its remains: a client drops an
// error that it is told outside the handshake.
func (r *room) release() {
	for _, s := range r.log.seats {
		if !s.parked || r.waits(s) {
			continue
		}
		s.unpark()
		if r.failed != nil {
			r.direct(s, resumingFrame(r.failed.ended.Request, probe{}))
		} else {
			r.direct(s, noneFrame("", probe{}))
		}
	}
	r.handTokens(false)
}

// ack handles the acceptance of an offer. Each one gets exactly one replay,
// even if the offer was made twice.
func (r *room) ack(s *seat, request string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !s.joined {
		return
	}
	st := r.stream
	switch {
	case st.offerable() && st.request == request:
		s.offered = ""
		s.caught = false
		r.log.add(entry{to: s, replay: st.replay(), mark: unveil})
	case st.offerable() && !st.closed:
		if s.offered != "" { // accepting one stream never lets another through
			r.offer(s, probe{})
		}
	case r.failed != nil && r.failed.ended.Request == request:
		r.log.add(entry{to: s, replay: r.failed.replay()})
	case slices.Contains(r.pending, request) || r.arms(request): // "over" would be wrong
		r.park(s, request, probe{})
	default:
		r.direct(s, settledFrame(request, r.recall(request)))
	}
}

// recall finds how request ended, the newest if an id was used twice.
func (r *room) recall(request string) *feed.Ended {
	for i := len(r.recent) - 1; i >= 0; i-- {
		if r.recent[i].Request == request {
			return &r.recent[i]
		}
	}
	return nil
}
