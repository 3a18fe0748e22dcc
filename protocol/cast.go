package protocol

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// What is the author's own: the state, and frames from author's code.

// state is told to all but the socket that has set it.
func (r *room) state(it feed.State) {
	if len(r.log.seats) > 0 {
		r.cast(entry{frame: stateFrame(it.JSON), own: true, except: r.named(it.By)})
	}
}

func (r *room) authorCast(it feed.Cast) {
	r.cast(entry{frame: authored(it.Data, it.Binary), binary: it.Binary, except: r.named(it.Except...)})
}

// authored is data as it can be a frame: it stays as it is, and what is text is
// UTF-8, or browsers would end the socket.
func authored(data []byte, binary bool) []byte {
	data = append([]byte{}, data...)
	if !binary {
		data = validText(data)
	}
	return data
}

// named are the seats that have one of these ids.
func (r *room) named(ids ...string) (found []*seat) {
	for _, s := range r.log.seats {
		if slices.Contains(ids, s.id) {
			found = append(found, s)
		}
	}
	return found
}

// send queues a frame for s alone; false if s has ended. What is sent before s has
// been greeted comes after its greeting.
func (r *room) send(s *seat, frame []byte, binary bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sendLocked(s, entry{to: s, frame: frame, binary: binary})
}

func (r *room) sendLocked(s *seat, e entry) bool {
	if s.bye != nil {
		return false
	}
	if s.joined {
		r.log.add(e)
		return s.bye == nil
	}
	s.early = append(s.early, e)
	s.earlyBytes += len(e.frame)
	if len(s.early) > 1 && (len(s.early) > r.log.maxFrames || s.earlyBytes > r.log.maxBytes) {
		r.log.slow(s)
		return false
	}
	return true
}

// sendInTurn is send for who can wait: it returns when the frame is on its way
// behind not too many others.
func (r *room) sendInTurn(ctx context.Context, s *seat, frame []byte) error {
	for ctx.Err() == nil {
		r.mu.Lock()
		if s.bye != nil || !r.log.crowded(s, len(frame)) {
			sent := r.sendLocked(s, entry{to: s, frame: frame})
			r.mu.Unlock()
			if !sent {
				return errGone
			}
			return nil
		}
		if s.eased == nil {
			s.eased = make(chan struct{})
		}
		eased := s.eased
		r.mu.Unlock()
		select {
		case <-eased:
		case <-ctx.Done():
		}
	}
	return errGone
}

// closing ends all sockets.
func (r *room) closing(it feed.Closing) {
	bye := parting(it.Code, it.Reason)
	bye.cut = true
	r.dismissAll(bye)
}
