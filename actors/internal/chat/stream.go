package chat

import (
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
	extends  bool   // the message exists already, and keeps its id
	fold     *uimessage.Fold
	said     int  // chunks of fold that an answer is made of, see frames
	finished bool // the last chunk of an answer is among them
}

// frames are the kinds of chunks that say nothing by themselves. A turn that was
// cut off behind them has not begun to answer, and a start that adds only them
// is no progress.
var frames = map[string]bool{
	"start": true, "start-step": true, "finish-step": true, "reset-step": true, "finish": true, "abort": true,
	"message-metadata": true, "text-start": true, "text-end": true, "reasoning-start": true, "reasoning-end": true,
	"tool-input-start": true,
}

// Message returns the message that is being written. Only while Open.
func (st *Stream) Message() uimessage.Message { return st.fold.Message() }

// HasContent reports whether something was said that is worth going on with.
func (st *Stream) HasContent() bool {
	if !st.Open || st.said == 0 {
		return false
	}
	_, ok := st.written()
	return ok
}

// written is the message as the transcript takes it; not ok if it has no parts.
func (st *Stream) written() (uimessage.Message, bool) {
	m := uimessage.Sanitize(st.fold.Message())
	return m, len(m.Parts) > 0
}

func stored(m uimessage.Message) *pb.StoredMessage {
	return &pb.StoredMessage{Id: m.ID, Role: string(m.Role), Json: m.AppendJSON(nil)}
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
	st.Open, st.Turn, st.Next, st.said, st.extends = true, t.ID, st.First, 0, t.Continues
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
		if st.add(run) {
			st.said++
			s.Recovery.Work++
		}
	}
	st.Next = next
	if t := s.Turns.byID(st.Turn); t != nil && t.MessageID != st.fold.ID() {
		s.rename(t, st.fold.ID())
	}
}

// rename gives the message that t writes another id: an author's start chunk may come
// when a step is over, or a call is open.
func (s *State) rename(t *Turn, id string) {
	was := t.MessageID
	t.MessageID = id
	for _, r := range s.Transcript.steps[was] {
		s.Transcript.addStep(id, r)
	}
	delete(s.Transcript.steps, was)
	for _, c := range s.Calls {
		if c.Turn == t.ID && c.MessageID == was {
			c.MessageID = id
		}
	}
}

// add folds run, and reports whether it says something.
func (st *Stream) add(run *ChunkRun) bool {
	if kind := deltaType[run.GetKind()]; kind != "" {
		st.fold.Delta(kind, run.GetPartId(), run.GetText())
		return run.GetText() != ""
	}
	chunk, err := uimessage.ParseChunk(run.GetBody())
	if err != nil {
		return false // a chunk that this version cannot read adds nothing
	}
	if st.extends {
		chunk.MessageID = ""
	}
	st.fold.Apply(chunk)
	st.finished = st.finished || chunk.Type == "finish"
	return !frames[chunk.Type] && !chunk.Transient
}

// Writing is the id of the message that t writes.
func (s *State) Writing(t *Turn) string {
	if s.Stream.Open && s.Stream.Turn == t.ID {
		return s.Stream.fold.ID()
	}
	return t.MessageID
}
