package protocol

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// room is where the sockets of one agent meet what the agent lets out. It is
// volatile: what it knows comes from the feed, and a new incarnation tells it
// anew. It outlives the incarnation as long as it has sockets.
//
// It is a state machine over two inputs, feed items (Put) and socket events
// (greet, probe, ack, …); its output is the log, from which each socket's
// writer takes frames.
type room struct {
	address  feed.Address
	askCount *atomic.Uint64 // of the handler: an ask is never mistaken for one of an older room

	// refs and held are guarded by the handler's mutex: sockets and the
	// incarnation that keep the room.
	refs int
	held bool

	mu  sync.Mutex // guards all below, and the seats; held for a few frames' copying at most
	log log

	pending    []string // accepted and not streaming (no chunk yet), oldest first
	stream     *stream  // from Opened until Ended
	failed     *failure
	armed      *feed.Armed  // until it streams, or ends
	tokens     []*token     // calls that wait for a client to run them, oldest first
	recent     []feed.Ended // ring of the last maxRecent, oldest first
	recovering bool
	retrying   string           // request that waits between two attempts, if recovering
	senders    map[string]*seat // which socket sent which request, until it ends
	asks       map[uint64]*ask
	answers    map[string]*answer // those that are followed, by the request that they are under now
	handed     *answer            // its request was handed over to one that is still to be accepted

	news   uint64             // grows with each change of the conversation
	claims map[string]*claim  // by page: responses that wait for a continuation
	left   map[string]absence // by the pk of a socket that has gone

	after func(time.Duration, func()) // of a timer, which is not stopped
}

// maxLeft sockets that have gone are remembered.
const maxLeft = 256

// maxRecent requests that ended are remembered for late ACKs.
const maxRecent = 32

// limits are how far a socket may lag, see Config.
type limits struct{ frames, bytes int }

func newRoom(a feed.Address, l limits, askCount *atomic.Uint64) *room {
	r := &room{
		address:  a,
		askCount: askCount,
		senders:  map[string]*seat{},
		asks:     map[uint64]*ask{},
		answers:  map[string]*answer{},
		claims:   map[string]*claim{},
		left:     map[string]absence{},
		after:    func(d time.Duration, do func()) { time.AfterFunc(d, do) },
	}
	r.log.maxFrames, r.log.maxBytes = l.frames, l.bytes
	r.log.slow = func(s *seat) {
		r.dismiss(s, farewell{code: websocket.StatusTryAgainLater, reason: "too far behind, reconnect", log: true})
	}
	return r
}

// Put implements feed.Sink.
func (r *room) Put(item feed.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch it := item.(type) {
	case feed.Chunk:
		r.chunk(it)
	case feed.Loaded:
		r.loaded(it)
	case feed.Accepted:
		r.failed = nil
		r.pending = append(r.pending, it.Request)
		r.takeOver(it.Request)
	case feed.Opened:
		r.stream = newStream(it.Request, it.Continuation, it.Page)
	case feed.Closed:
		r.closed(it.Request)
	case feed.Transcript:
		r.transcript(it)
	case feed.Ended:
		r.ended(it)
	case feed.Cleared:
		r.cleared(it)
	case feed.Recovery:
		r.recovering, r.retrying = it.On, it.Request
		r.cast(entry{frame: recoveringFrame(it.On, it.Request)})
	case feed.View:
		r.view(it)
	case feed.State:
		r.state(it)
	case feed.Armed:
		r.arm(it)
	case feed.Disarmed:
		r.dropArmed(it.Request)
		r.release()
	case feed.Updated:
		r.news++
		r.cast(entry{frame: updatedFrame(it.Message), chat: true})
	case feed.Runnable:
		r.runnable(it)
	case feed.Settled:
		r.settled(it.Call)
	case feed.MCP:
		r.cast(entry{frame: mcpFrame(it.JSON), own: true})
	case feed.Cast:
		r.authorCast(it)
	case feed.Closing:
		r.closing(it)
	}
}

// cast, direct and mark add to the log.
func (r *room) cast(e entry) { r.log.add(e) }

func (r *room) direct(s *seat, frame []byte) { r.log.add(entry{to: s, frame: frame}) }

func (r *room) chunk(c feed.Chunk) {
	st := r.stream
	if st == nil || st.closed {
		return // of a stream that was cleared away
	}
	frame := st.push(c)
	if len(st.frames) == 1 {
		r.offerToParked()
	}
	r.cast(entry{frame: frame, chat: true, of: r.answers[st.request]})
}

// loaded replaces everything that was known. If an older incarnation left a
// stream open, its sockets wait for an end that no feed will tell them: they
// are closed, and resume.
func (r *room) loaded(it feed.Loaded) {
	if r.stream != nil {
		r.dismissAll(restarted)
	}
	r.forget()
	r.pending = slices.Clone(it.Pending)
	r.recovering, r.retrying = it.Recovering != "", it.Recovering
	r.recent = slices.Clone(it.Recent[max(0, len(it.Recent)-maxRecent):])
	if it.Failed != nil {
		st := newStream(it.Failed.Request, it.Failed.Continuation, "")
		for _, c := range it.FailedLog {
			st.push(c)
		}
		r.failed = &failure{*it.Failed, st.frames}
	}
	if it.Armed != nil {
		r.arm(*it.Armed)
	}
	r.restoreTokens(it.Runnable)
	r.release()
	r.rouseClaims()
}

func (r *room) forget() {
	r.pending, r.stream, r.failed, r.recent = nil, nil, nil, nil
	r.recovering, r.retrying = false, ""
	r.handed, r.armed = nil, nil
}

// closed: from here on nobody is veiled, so that everybody gets the transcript
// and the terminal frame.
func (r *room) closed(request string) {
	if r.stream == nil || r.stream.request != request || r.stream.closed {
		return
	}
	r.stream.closed = true
	if s := r.senders[request]; s != nil && s.offered == request {
		delete(r.senders, request) // it has not been shown all: the transcript is for it, too
	}
	r.unveilAll()
}

func (r *room) unveilAll() {
	r.cast(entry{mark: unveil})
	for _, s := range r.log.seats {
		s.offered = ""
	}
}

func (r *room) transcript(it feed.Transcript) {
	r.news++
	if len(r.log.seats) == 0 {
		return
	}
	frame, sender := messagesFrame(it.Messages, false), r.senders[it.Request]
	switch except := r.named(it.By); {
	case !it.Private:
		if sender != nil {
			except = append(except, sender)
		}
		r.cast(entry{frame: frame, chat: true, except: except})
	case sender != nil:
		r.direct(sender, frame)
	}
}

func (r *room) ended(e feed.Ended) {
	r.closed(e.Request)
	r.unpend(e.Request)
	sender, a := r.senders[e.Request], r.answers[e.Request]
	delete(r.senders, e.Request)
	for _, frame := range terminalFrames(&e) {
		if !e.Private {
			r.cast(entry{frame: frame, of: a})
			continue
		}
		for _, s := range r.log.seats {
			if s == sender || a != nil && s.only == a {
				r.log.add(entry{to: s, frame: frame, of: a})
			}
		}
	}
	r.handOver(a, &e)
	r.remember(e)
	if r.stream != nil && r.stream.request == e.Request {
		r.stream = nil
	}
	r.disarm(e.Request)
	r.rouseClaims()
	r.release()
}

// remember keeps what late ACKs and later probes will ask for.
func (r *room) remember(e feed.Ended) {
	if len(r.recent) == maxRecent {
		r.recent = append(r.recent[:0], r.recent[1:]...)
	}
	r.recent = append(r.recent, e)
	switch e.Outcome {
	case feed.Errored:
		f := &failure{ended: e}
		// A client adds what a continuation says to the message that it has; one that
		// comes now was shown the stored message, which says it already.
		if r.stream != nil && r.stream.request == e.Request && !e.Continuation {
			f.frames = r.stream.frames
		}
		r.failed = f
	case feed.Completed, feed.Aborted:
		r.failed = nil
	case feed.Skipped, feed.Recovering: // say nothing about the conversation
	}
}

func (r *room) cleared(it feed.Cleared) {
	r.news++
	r.unveilAll()
	if r.armed != nil && !slices.Contains(r.pending, r.armed.Request) {
		r.dropArmed(r.armed.Request)
	}
	r.pending, r.stream, r.failed, r.armed, r.tokens = nil, nil, nil, nil, nil
	r.release()
	r.cast(entry{frame: clearFrame, except: r.named(it.By)})
}

func (r *room) unpend(request string) {
	if i := slices.Index(r.pending, request); i >= 0 {
		r.pending = slices.Delete(r.pending, i, i+1)
	}
}

// sent notes that s has sent request, before the agent hears of it.
func (r *room) sent(s *seat, request string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.chatted = true
	if s.joined {
		r.senders[request] = s
	}
}

// refused ends a request that the agent has not accepted.
func (r *room) refused(s *seat, request, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.senders[request] == s {
		delete(r.senders, request)
	}
	if s.joined {
		r.direct(s, refusalFrame(request, text))
	}
}

// take appends the next frames for s to dst. If there are none, either bye says
// how s ends or s is roused when there are.
func (r *room) take(s *seat, dst []out) (_ []out, bye *farewell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.joined && (s.bye == nil || s.pos < s.bye.at) {
		if dst = r.log.take(s, dst); len(dst) > 0 {
			return dst, nil
		}
	}
	if s.bye != nil && s.pos >= s.bye.at {
		bye = s.bye
	}
	return dst, bye
}

// cutOff reports whether what the socket of s has sent is not to be worked on any
// more: it was for an agent that is gone, and not for one that takes its name.
func (r *room) cutOff(s *seat) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.bye != nil && s.bye.cut
}

var restarted = farewell{code: websocket.StatusServiceRestart, reason: "agent restarted, reconnect"}

// dismiss ends s. It takes part no longer; what is due to it before b.at is
// still sent, so it leaves the log only when its socket has gone.
func (r *room) dismiss(s *seat, b farewell) {
	if s.bye != nil {
		return
	}
	r.noteAbsence(s)
	s.bye = &b
	r.pageLeft(s)
	s.ease()
	if b.at == 0 {
		r.log.leave(s)
		s.joined = false
	}
	s.rouse()
}

func (r *room) dismissAll(b farewell) {
	b.at = r.log.end()
	for _, s := range r.log.seats {
		r.dismiss(s, b)
	}
}

// close ends s with a code and a reason.
func (r *room) close(s *seat, b farewell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.joined {
		b.at = r.log.end()
	}
	r.dismiss(s, b)
}

// lost: the incarnation has ended by a fault. The sockets that took part in it
// are closed, since the end of what they watch may never be told here; the
// clients reconnect and resume.
func (r *room) lost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dismissAll(restarted)
	r.forget()
	r.rouseClaims()
}

// leave: the socket of s has gone.
func (r *room) leave(s *seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.bye == nil {
		r.noteAbsence(s)
		s.bye = &farewell{}
		r.pageLeft(s)
	}
	s.bye.at = 0
	s.joined = false
	r.log.leave(s)
	for request, sender := range r.senders {
		if sender == s {
			delete(r.senders, request)
		}
	}
	for n, a := range r.asks {
		if a.seat == s {
			delete(r.asks, n)
		}
	}
	r.unfollow(s)
	s.rouse()
}
