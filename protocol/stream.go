package protocol

import (
	"strconv"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// stream is the open stream of a room: its chunks as the frames that went out
// live, kept for replay until the turn has ended.
type stream struct {
	request      string
	continuation bool
	page         string   // that joins it, if present; "": any
	frames       [][]byte // append-only: a slice of them is good for ever
	closed       bool     // no more chunks; transcript and terminal follow

	between []byte // what stands between a chunk and its number in a frame
	arena   []byte // free room for frames; a block is freed when no frame of it is left
}

const (
	arenaBlock = 16 << 10
	frameHead  = `{"body":"`
	frameTail  = `,"type":"` + chatResponse + `"}`
	replayHead = `{"replay":true,` // takes the place of the opening brace of a live frame
)

func newStream(request string, continuation bool, page string) *stream {
	s := &stream{request: request, continuation: continuation, page: page}
	s.between = append(s.between, '"', ',')
	if continuation {
		s.between = append(s.between, `"continuation":true,`...)
	}
	s.between = append(s.between, `"done":false,"id":`...)
	s.between = uimessage.AppendString(s.between, request)
	s.between = append(s.between, `,"seq":`...)
	return s
}

// push encodes a chunk, once for all sockets.
func (s *stream) push(c feed.Chunk) []byte {
	need := len(frameHead) + len(c.Body)*5/4 + len(s.between) + 20 + len(frameTail)
	if cap(s.arena)-len(s.arena) < need {
		s.arena = make([]byte, 0, max(arenaBlock, need))
	}
	start := len(s.arena)
	b := append(s.arena, frameHead...)
	b = uimessage.AppendEscaped(b, c.Body)
	b = append(b, s.between...)
	b = strconv.AppendUint(b, c.Seq, 10)
	b = append(b, frameTail...)
	s.arena = b
	frame := b[start:len(b):len(b)]
	s.frames = append(s.frames, frame)
	return frame
}

// offerable: a stream is offered once its first chunk is there, so that every
// replay begins with it. Before that its request counts as pending.
func (s *stream) offerable() bool { return s != nil && len(s.frames) > 0 }

// replay is chunks for one socket, expanded by its writer page by page.
type replay struct {
	frames [][]byte // live frames; sent with replay:true
	tail   []byte   // the frame after them, as it is
}

func (s *stream) replay() *replay {
	return &replay{frames: s.frames[:len(s.frames):len(s.frames)], tail: replayCompleteFrame(s.request, s.continuation)}
}

// failure is the remembered terminal error of a room (protocol §8.5).
type failure struct {
	ended  feed.Ended
	frames [][]byte
}

func (f *failure) replay() *replay {
	return &replay{frames: f.frames, tail: errorFrame(&f.ended, true)}
}
