package protocol

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// FuzzRoom plays any interleaving of one agent's turns with sockets that come,
// ask, accept, send, lag and go, and checks what each socket is sent:
//
//   - nothing of a stream between its offer and the ACK
//   - the chunks of a stream without gap or repetition, live or replayed, to the
//     last if it was sent any
//   - no chunk after the terminal frame
//   - a terminal frame for every turn that ended while the socket took part
//   - exactly one answer to every resume request
//   - nobody is parked for what does not come
//   - a call that one page is to run is shown to no other while that page is here
//   - to whom follows one answer over HTTP, that and nothing else: its chunks from
//     the first on, also those of the recoveries that it is handed over to, and
//     one end, which is the last frame
func FuzzRoom(f *testing.F) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		ops := make([]byte, 400)
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		f.Add(ops)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		g := &game{t: t, chunks: map[string]uint64{}, holders: map[string]string{}, pages: map[string]string{}, room: newRoom(feed.Address{Class: "C", Name: "n"}, limits{1 << 20, 1 << 30}, new(atomic.Uint64))}
		g.room.after = func(_ time.Duration, do func()) { g.timers = append(g.timers, do) }
		g.room.Put(feed.Loaded{})
		for len(ops) >= 2 {
			g.play(ops[0], ops[1])
			g.check()
			ops = ops[2:]
		}
		g.finish()
	})
}

// game is the agent's side (turns in order, each with its own number of chunks)
// and the clients.
type game struct {
	t       *testing.T
	room    *room
	turns   int      // accepted so far
	queue   []string // accepted, not ended
	open    bool     // the first of queue streams
	closed  bool
	seq     uint64
	chunks  map[string]uint64 // of each turn that has ended
	players []*player
	last    string // failed, and nothing has begun since
	again   string // goes on with an answer that was cut off

	armed   string            // a continuation that is not accepted
	pages   map[string]string // of continuations, by request
	calls   int               // made so far
	holders map[string]string // the page that each call that is to be run was shown to
	timers  []func()
}

type player struct {
	seat    *seat
	ask     *ask
	probes  int
	answers map[string]int
	offers  []string // seen and not accepted
	streams map[string]*seen
	due     []string // turns whose terminal frame it must get

	follows []string // over HTTP: the requests of the answer, until it is over
	late    bool     // over HTTP: came after it
}

// seen is what a client has of one stream.
type seen struct {
	next      uint64
	offered   bool // and not accepted since
	replaying bool
	over      bool
}

func (g *game) play(op, arg byte) {
	if op%16 == 11 {
		g.playCall(arg)
		return
	}
	if op%32 == 3 && len(g.players) < 8 {
		g.playHTTP(arg)
		return
	}
	if op%8 >= 4 && len(g.players) > 0 {
		g.playClient(op, g.players[int(arg)%len(g.players)])
		return
	}
	switch op % 4 {
	case 0:
		if len(g.players) < 8 {
			s := newSeat(fmt.Sprint("s", len(g.players)), fmt.Sprint("p", len(g.players)%3))
			p := &player{seat: s, answers: map[string]int{}, streams: map[string]*seen{}}
			g.players = append(g.players, p)
			p.ask = g.room.askConnect(s)
			g.room.Put(feed.View{Ask: p.ask.n, Messages: []byte("[1]")})
		}
	case 1:
		if len(g.queue) < 3 {
			g.accept()
		}
	default:
		g.step(arg)
	}
}

func (g *game) accept() {
	g.turns++
	g.enqueue(fmt.Sprint("r", g.turns))
}

func (g *game) enqueue(id string) {
	g.queue = append(g.queue, id)
	g.last = ""
	g.room.Put(feed.Accepted{Request: id})
}

// playHTTP is a request over HTTP: a message, or a page that resumes.
func (g *game) playHTTP(arg byte) {
	p := &player{seat: newSeat(fmt.Sprint("s", len(g.players)), ""), answers: map[string]int{}, streams: map[string]*seen{}}
	g.players = append(g.players, p)
	if arg%2 == 0 {
		p.follows = []string{fmt.Sprint("r", g.turns+1)}
		g.room.follow(p.seat, p.follows[0])
		g.accept()
		return
	}
	g.room.Put(feed.View{Ask: g.room.askCurrent(p.seat).n, Messages: []byte("[1]")})
	switch {
	case len(g.queue) > 0:
		p.follows = []string{g.queue[0]}
	case g.last != "":
		p.follows, p.late = []string{g.last}, true
	}
	require.Equal(g.t, len(p.follows) > 0, p.seat.joined, "follows what there is")
}

// step moves the first turn on, along any path that the feed allows.
func (g *game) step(arg byte) {
	switch {
	case len(g.queue) == 0 && g.armed != "":
		g.enqueue(g.armed)
		g.armed = ""
	case len(g.queue) == 0:
	case g.closed || !g.open && arg%5 == 0:
		g.end(arg)
	case !g.open:
		g.open, g.seq = true, 0
		page, owned := g.pages[g.queue[0]]
		g.room.Put(feed.Opened{Request: g.queue[0], Continuation: owned || arg%3 == 0, Page: page})
	case arg%6 == 0:
		g.closed = true
		g.room.Put(feed.Closed{Request: g.queue[0]})
	default:
		g.room.Put(feed.Chunk{Seq: g.seq, Body: []byte("x")})
		g.seq++
	}
}

func (g *game) end(arg byte) {
	id := g.queue[0]
	g.queue = g.queue[1:]
	g.open, g.closed = false, false
	g.chunks[id], g.seq = g.seq, 0
	outcomes := []feed.Outcome{feed.Completed, feed.Errored, feed.Aborted, feed.Recovering}
	e := feed.Ended{Request: id, Outcome: outcomes[arg/2%4], InBand: arg%2 == 0}
	g.room.Put(feed.Transcript{Messages: []byte("[1]"), Request: id})
	g.room.Put(e)
	g.last = map[feed.Outcome]string{feed.Errored: id}[e.Outcome]
	for _, p := range g.players {
		if p.seat.joined && (p.follows == nil || slices.Contains(p.follows, id)) {
			p.due = append(p.due, id)
		}
	}
	if id == g.again {
		g.again = ""
		g.room.Put(feed.Recovery{Request: id})
	}
	if e.Outcome == feed.Recovering {
		g.recover(id)
	}
}

// recover accepts, before all others, the request that goes on with id's answer.
func (g *game) recover(id string) {
	g.accept()
	next := g.queue[len(g.queue)-1]
	g.queue = slices.Insert(g.queue[:len(g.queue)-1], 0, next)
	g.again = next
	g.room.Put(feed.Recovery{On: true, Request: next})
	for _, p := range g.players {
		if slices.Contains(p.follows, id) {
			p.follows = append(p.follows, next)
		}
	}
}

func (g *game) playClient(op byte, p *player) {
	if p.seat.only != nil && op/8%8 < 4 {
		return // has no way to say anything
	}
	switch op / 8 % 8 {
	case 0:
		p.probes++
		p.ask = g.room.resume(p.seat, probe{fmt.Sprint("p", p.probes), true})
		if p.ask != nil {
			g.room.Put(feed.View{Ask: p.ask.n, Messages: []byte("[1]")})
		}
	case 1:
		if len(p.offers) > 0 {
			g.room.ack(p.seat, p.offers[0])
			p.offers = p.offers[1:]
		}
	case 2:
		g.room.ack(p.seat, "r1") // perhaps long over
	case 3:
		if len(g.queue) < 3 {
			g.room.sent(p.seat, fmt.Sprint("r", g.turns+1))
			g.accept()
		}
	case 4:
		if op > 240 {
			g.room.leave(p.seat)
		}
	default:
		g.take(p, int(op)/64)
	}
}

func (g *game) take(p *player, batches int) {
	for range batches {
		batch, _ := g.room.take(p.seat, nil)
		for _, o := range batch {
			frame := string(o.frame)
			if o.replay {
				frame = replayHead + frame[1:]
			}
			g.receive(p, frame)
		}
		if len(batch) == 0 {
			return
		}
	}
}

type received struct {
	Type, ID, Reason, ProbeID           string
	Done, Error, Replay, ReplayComplete bool
	Seq                                 *uint64
}

func (g *game) receive(p *player, frame string) {
	var f received
	require.NoError(g.t, json.Unmarshal([]byte(frame), &f))
	if p.seat.only != nil {
		require.Contains(g.t, p.follows, f.ID, "a frame of another answer: %s", frame)
	}
	if f.ProbeID != "" {
		p.answers[f.ProbeID]++
	}
	st := p.streams[f.ID]
	if st == nil {
		st = &seen{}
		p.streams[f.ID] = st
	}
	switch {
	case f.Type == "cf_agent_stream_resuming":
		p.offers = append(p.offers, f.ID)
		st.offered = !st.over
	case f.Type != chatResponse:
	case f.Replay:
		g.replayed(st, f, frame)
	case f.Done || f.Error:
		if (st.next > 0 || p.seat.only != nil && !p.late) && !st.offered && !st.over {
			require.Equal(g.t, g.chunks[f.ID], st.next, "chunks are missing before %s", frame)
		}
		st.over = true
		p.due = slices.DeleteFunc(p.due, func(id string) bool { return id == f.ID })
	default:
		require.False(g.t, st.over, "chunk after the terminal: %s", frame)
		require.False(g.t, st.offered, "chunk before the ACK: %s", frame)
		require.False(g.t, st.replaying, "live chunk inside a replay: %s", frame)
		require.Equal(g.t, st.next, *f.Seq, "live: %s", frame)
		st.next++
	}
}

func (g *game) replayed(st *seen, f received, frame string) {
	switch {
	case f.Done: // of a stream long over
	case f.ReplayComplete:
		require.True(g.t, st.replaying)
		st.replaying = false
	default:
		st.offered = false
		if *f.Seq == 0 {
			st.next, st.replaying = 0, true
		}
		require.Equal(g.t, st.next, *f.Seq, "replay: %s", frame)
		st.next++
	}
}

func (g *game) finish() {
	g.disarm()
	for len(g.queue) > 0 {
		g.step(0)
	}
	for _, p := range g.players {
		if !p.seat.joined {
			continue
		}
		g.take(p, 1<<20)
		require.Empty(g.t, p.due, "terminal frames missing")
		require.Len(g.t, p.answers, p.probes)
		for id, n := range p.answers {
			require.Equal(g.t, 1, n, id)
		}
		require.False(g.t, p.seat.parked, "waits for nothing")
	}
	require.Empty(g.t, g.room.log.entries)
}
