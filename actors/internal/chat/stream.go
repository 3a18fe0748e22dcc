package chat

import (
	"encoding/json"
	"errors"
	"fmt"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// ErrTurnOver refuses what an attempt hands in that is over.
var ErrTurnOver = errors.New("the turn is over")

// Stream is what the running turn has written so far. Chunks reach it packed
// (Keep), long after clients have seen them; it is the one place where they are
// folded into a message, live and on replay.
//
// Invariant: First <= Next && Next <= Reserved.
type Stream struct {
	Open     bool
	Turn     uint64
	First    uint64 // position of this attempt's first chunk
	Next     uint64 // position of the next chunk to keep
	Reserved uint64 // positions below it may be used
	fold     *uimessage.Fold
	chunks   int // kept, not counting start and start-step
}

// Message returns the message that is being written. Only while Open.
func (st *Stream) Message() uimessage.Message { return st.fold.Message() }

// HasContent reports whether something was written that is worth keeping.
func (st *Stream) HasContent() bool { return st.Open && st.chunks > 0 }

// written is the message as it goes into the transcript; not ok if it has no parts.
func (st *Stream) written() (*pb.StoredMessage, bool) {
	m := st.fold.Message()
	if len(m.Parts) == 0 {
		return nil, false
	}
	return stored(m), true
}

func stored(m uimessage.Message) *pb.StoredMessage {
	data, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("chat: message %s: %v", m.ID, err)) // it was parsed or folded: it can be encoded
	}
	return &pb.StoredMessage{Id: m.ID, Role: string(m.Role), Json: data}
}

func (c *Core) decideOpenStream(cmd OpenStream) ([]Event, error) {
	t := c.State.Turns.attempt(cmd.Turn, cmd.Attempt)
	if t == nil {
		return nil, ErrTurnOver
	}
	if c.State.Stream.Open {
		return nil, nil
	}
	return []Event{event(&pb.StreamOpened{Turn: t.ID})}, nil
}

func (c *Core) decideKeep(cmd Keep) ([]Event, error) {
	st := &c.State.Stream
	if !st.Open || st.Turn != cmd.Turn {
		return nil, ErrTurnOver
	}
	if cmd.First < st.Next || cmd.First+cmd.Count > st.Reserved {
		panic(fmt.Sprintf("chat: positions %d to %d kept, next is %d, reserved %d", cmd.First, cmd.First+cmd.Count, st.Next, st.Reserved))
	}
	return []Event{event(&pb.ChunksKept{First: cmd.First, Runs: cmd.Runs})}, nil
}

func (c *Core) decideReserve(cmd Reserve) []Event {
	t := c.State.Turns.attempt(cmd.Turn, cmd.Attempt)
	if t == nil {
		return nil
	}
	return []Event{event(&pb.PositionsReserved{Turn: t.ID, Reserved: c.State.Stream.Reserved + positionBlock})}
}

func (s *State) applyStreamOpened(e *pb.StreamOpened) {
	t := s.Turns.byID(e.GetTurn())
	if t == nil {
		return
	}
	base := uimessage.Message{ID: t.MessageID, Role: uimessage.Assistant}
	st := &s.Stream
	st.Open, st.Turn, st.Next, st.chunks = true, t.ID, st.First, 0
	if t.Continues {
		if m, ok := s.Transcript.message(t.MessageID); ok {
			base = m.parse()
		}
	}
	st.fold = uimessage.NewFold(base)
}

func (s *State) applyPositionsReserved(e *pb.PositionsReserved) {
	s.Stream.Reserved = e.GetReserved()
	if t := s.Turns.byID(e.GetTurn()); t != nil {
		t.Next = e.GetReserved()
	}
}

func (s *State) applyChunksKept(e *pb.ChunksKept) {
	st := &s.Stream
	if !st.Open {
		return
	}
	next := e.GetFirst()
	for _, run := range e.GetRuns() {
		next += runCount(run)
		if kind := deltaType[run.GetKind()]; kind != "" {
			st.fold.Delta(kind, run.GetPartId(), run.GetText())
			st.chunks++
			s.Recovery.Work++
			continue
		}
		chunk, err := uimessage.ParseChunk(run.GetBody())
		if err != nil {
			continue // a chunk that this version cannot read adds nothing
		}
		st.fold.Apply(chunk)
		if chunk.Type != "start" && chunk.Type != "start-step" {
			st.chunks++
			s.Recovery.Work++
		}
	}
	st.Next = next
	if t := s.Turns.byID(st.Turn); t != nil {
		t.MessageID = st.fold.ID()
	}
}

// writingID is the id of the message that t writes.
func (s *State) writingID(t *Turn) string {
	if s.Stream.Open && s.Stream.Turn == t.ID {
		return s.Stream.fold.ID()
	}
	return t.MessageID
}
