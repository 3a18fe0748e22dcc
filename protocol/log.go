package protocol

import "slices"

// The one ordered log of a room. Every seat reads it with a cursor of its own;
// what is meant for one seat alone stands in it too, so that the order per
// socket is exact and a replay and the live stream are the same read.

// entry is one place in the log.
//
// Whether a seat may see it depends on marks that stand before it, not on what
// is true now: writers lag.
type entry struct {
	frame  []byte  // nil: nothing to send
	replay *replay // instead of a frame
	to     *seat   // nil: for every seat …
	except []*seat // … except these
	of     *answer // whose chunk or end it is, if somebody follows that alone
	binary bool    // the frame is no text
	free   bool    // its bytes are no lag
	chat   bool    // not for a seat that is veiled here
	own    bool    // not for a seat that is spared the agent's own frames: state, MCP servers
	mark   mark
}

// size is what e counts as lag. A large frame is none by itself, nor with the few
// small ones around it.
func (l *log) size(e *entry) int {
	if e.free {
		return 0
	}
	return min(len(e.frame), l.maxBytes/2)
}

// mark changes what a seat may see of the entries behind it.
type mark uint8

const (
	veil   mark = iota + 1 // the seat has been offered the open stream: no chat frames until it ACKs
	unveil                 // it has ACKed, or the stream is over
)

// reach applies e to the cursor of s and tells whether s gets e's frame. It may
// be called twice for the same entry.
func (s *seat) reach(e *entry) bool {
	if e.to != nil && e.to != s {
		return false
	}
	if e.mark != 0 {
		s.veiled = e.mark == veil
	}
	if e.frame == nil && e.replay == nil {
		return false
	}
	if s.only != nil {
		return e.of == s.only
	}
	return e.to == s || !(e.chat && s.veiled) && !(e.own && s.terms.NoProtocol) && !slices.Contains(e.except, s)
}

const (
	batchFrames = 64        // frames that one take hands out at most
	batchBytes  = 256 << 10 // and bytes, unless the first frame alone is larger
	trimFrom    = 256       // entries below which taken ones are not dropped singly
)

// log is guarded by the mutex of its room.
//
// Invariant: every seat has base <= pos <= base+len(entries).
// Invariant: busy is the number of seats that are not idle.
// Invariant: busy == 0 => entries is empty.
type log struct {
	base    uint64 // position of entries[0]
	entries []entry
	seats   []*seat
	busy    int
	trimAt  int

	// castFrames and castBytes count what was ever addressed to all.
	castFrames uint64
	castBytes  uint64

	maxFrames, maxBytes int
	slow                func(*seat) // called for a seat that lags too far
}

func (l *log) end() uint64 { return l.base + uint64(len(l.entries)) }

func (l *log) join(s *seat) {
	s.pos, s.castFrames, s.castBytes = l.end(), l.castFrames, l.castBytes
	s.idle, s.caught = false, false
	l.seats = append(l.seats, s)
	l.busy++
	s.rouse()
}

func (l *log) leave(s *seat) {
	i := slices.Index(l.seats, s)
	if i < 0 {
		return
	}
	l.seats = slices.Concat(l.seats[:i], l.seats[i+1:]) // a copy: somebody may be walking over the old one
	s.ease()
	if !s.idle {
		l.busy--
		l.settle()
	}
}

// settle empties the log when everybody has taken everything: an idle room
// holds no frames.
func (l *log) settle() {
	if l.busy > 0 {
		return
	}
	l.base = l.end()
	clear(l.entries)
	if l.entries = l.entries[:0]; cap(l.entries) > trimFrom {
		l.entries = nil
	}
}

func (l *log) add(e entry) {
	if len(l.seats) == 0 {
		return
	}
	if l.busy > 0 && len(l.entries) >= max(l.trimAt, trimFrom) {
		l.trim()
	}
	size := l.size(&e)
	if e.to == nil && e.frame != nil {
		l.castFrames++
		l.castBytes += uint64(size)
	} else if e.to != nil {
		e.to.directFrames++
		e.to.directBytes += size
	}
	l.entries = append(l.entries, e)
	end, late := l.end(), false
	for _, s := range l.seats {
		switch {
		case !s.idle:
			late = l.lags(s) || late
		case s.reach(&e):
			s.idle = false
			l.busy++
			s.rouse()
		default:
			l.skip(s, &e, end)
		}
	}
	l.settle()
	if late {
		l.dropSlow()
	}
}

// skip moves an idle seat over an entry that is not for it.
func (l *log) skip(s *seat, e *entry, end uint64) {
	if e.to == s {
		s.directFrames--
	}
	s.pos, s.castFrames, s.castBytes = end, l.castFrames, l.castBytes
}

// lags: too much waits for s.
func (l *log) lags(s *seat) bool {
	frames, bytes := l.lag(s)
	patience := 1
	if !s.caught {
		patience = catchUp
	}
	return frames > patience*l.maxFrames || bytes > patience*l.maxBytes
}

// catchUp is how many times as much may wait for a seat while it takes what was
// there before it came: neither its greeting nor a replay counts, but what is said
// meanwhile does.
const catchUp = 4

// crowded: another frame for s should wait, to leave the other half of what may
// wait to what cannot.
func (l *log) crowded(s *seat, size int) bool {
	frames, bytes := l.lag(s)
	return frames > 0 && (frames >= l.maxFrames/2 || bytes+size > l.maxBytes/2)
}

// lag is what s has been addressed and has not taken.
func (l *log) lag(s *seat) (frames, bytes int) {
	return int(l.castFrames-s.castFrames) + s.directFrames, int(l.castBytes-s.castBytes) + s.directBytes
}

func (l *log) dropSlow() {
	for _, s := range l.seats {
		if !s.idle && l.lags(s) {
			l.slow(s)
		}
	}
}

// trim drops what every seat has taken. It is called when the log has doubled
// since, so each entry is moved about once.
func (l *log) trim() {
	low := l.end()
	for _, s := range l.seats {
		if !s.idle {
			low = min(low, s.pos)
		}
	}
	n := copy(l.entries, l.entries[low-l.base:])
	clear(l.entries[n:])
	l.entries, l.base = l.entries[:n], low
	l.trimAt = 2 * n
}

// out is one frame for a socket.
type out struct {
	frame  []byte
	binary bool
	replay bool // to be sent with replay:true
}

// take appends the next frames for s to dst, and moves the cursor over them.
// Nothing appended means that s is idle now and will be roused, or that all is
// taken that was due to it before its end.
func (l *log) take(s *seat, dst []out) []out {
	n, bytes, end := len(dst), 0, l.end()
	if s.bye != nil {
		end = min(end, s.bye.at)
	}
	for s.pos < end && len(dst)-n < batchFrames && (bytes == 0 || bytes < batchBytes) {
		e := &l.entries[s.pos-l.base]
		due := s.reach(e)
		if due && e.replay != nil {
			var o out
			var more bool
			o, more = s.page(e.replay)
			dst, bytes = append(dst, o), bytes+len(o.frame)
			if more {
				continue
			}
		} else if due {
			dst, bytes = append(dst, out{frame: e.frame, binary: e.binary}), bytes+len(e.frame)
		}
		l.pass(s, e)
	}
	if s.eased != nil && !l.crowded(s, 0) {
		s.ease()
	}
	if len(dst) == n && !s.idle && s.pos == l.end() {
		s.idle, s.caught = true, true
		l.busy--
		l.settle()
	}
	return dst
}

// pass counts e as taken by s.
func (l *log) pass(s *seat, e *entry) {
	s.pos++
	s.replayed = 0
	switch {
	case e.to == s:
		s.directFrames--
		s.directBytes -= l.size(e)
	case e.to == nil && e.frame != nil:
		s.castFrames++
		s.castBytes += uint64(l.size(e))
	}
}

// page takes one frame of a replay; more tells whether there are others.
func (s *seat) page(r *replay) (o out, more bool) {
	if s.replayed == len(r.frames) {
		return out{frame: r.tail}, false
	}
	o = out{frame: r.frames[s.replayed], replay: true}
	s.replayed++
	return o, true
}
