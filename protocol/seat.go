package protocol

import (
	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// seat is what a room knows of one socket, or of one stream over HTTP. Its
// holder (session, viewer) advances the cursor in it through room.take.
type seat struct {
	only *answer // is sent nothing else; nil: takes part in all. Never changed after it has joined

	id   string        // unique for each socket; what feed items name in By
	pk   string        // chosen by the client, kept over its reconnects; not unique
	wake chan struct{} // capacity 1: there may be something to take

	// What follows is guarded by room.mu.

	// The cursor. These are facts as of position pos.
	pos        uint64
	veiled     bool // has been offered the open stream and has not ACKed
	replayed   int  // frames already taken of the replay at pos
	castFrames uint64
	castBytes  uint64

	// directFrames and directBytes are addressed to this seat alone and not yet taken.
	directFrames int
	directBytes  int

	// Invariant: idle => pos is the end of the log.
	idle   bool // the writer has taken all and waits for wake
	caught bool // has been idle since it joined or last asked for a replay: less may wait for it

	// These are facts as of the end of the log.
	joined  bool   // greeted, and taking part
	offered string // the stream it is not shown before it has ACKed it
	parked  bool   // waits for a pending request to stream
	awaits  string // if parked: the armed continuation, if it waits for none but that
	probed  bool   // has sent a resume request
	chatted bool   // has sent a chat request
	dated   bool   // its picture may be older than the transcript: worth a second push
	quit    bool   // has been closed by its page
	bye     *farewell

	terms      feed.Terms    // set before it asks to be greeted
	early      []entry       // for it alone, from before it joined
	earlyBytes int           // of early
	eased      chan struct{} // closed when less waits for it; nil if nobody waits for that
}

// farewell ends a seat.
type farewell struct {
	code   websocket.StatusCode // 0: the socket is gone, nothing to say
	reason string
	at     uint64 // what stands in the log before this position is still sent
	log    bool   // the client is to blame: worth a line
	cut    bool   // what the client has sent is not worked on any more
}

func newSeat(id, pk string) *seat {
	return &seat{id: id, pk: pk, wake: make(chan struct{}, 1)}
}

// ease lets go on who waits to send more.
func (s *seat) ease() {
	if s.eased != nil {
		close(s.eased)
		s.eased = nil
	}
}

func (s *seat) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
