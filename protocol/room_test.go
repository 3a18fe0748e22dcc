package protocol

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// TestRoom plays the transcripts in testdata/room. Each directive feeds the room and
// its sockets line by line, and prints what each socket's writer then takes, in
// the order of the sockets' names. -rewrite accepts what comes out.
//
//	connect A [messages=(u1,a1)] [held]  a socket comes (pk=B: the page of B is back); held: the agent has not answered yet
//	  [state=5]                          the agent's state, for connect and view
//	  [plain]                            the agent is no chat agent, for connect and view
//	  [no-protocol] [no-identity]        what the agent grants
//	view A [messages=(…)]                the agent answers what A waits for
//	probe A [p1] [messages=(…)] [held]   resume request; p1 is its probeId
//	ack A [r1]                           acceptance of an offer
//	send A r1 · refuse A r1 text         A submits r1 · the agent refuses it
//	follow A r1                          A is a request over HTTP that submits r1
//	claim A                              A is one that answers calls, as the page A
//	nothing A                            A asks whether a continuation comes
//	look A [messages=(…)]                A is one that asks for what runs
//	say A words                          author's code sends A a frame
//	end A 4001 reason                    author's code closes A
//	leave A                              the socket is gone
//	pause A · go A                       A's writer stops taking · goes on
//	quit A                               its page has closed it
//	grace                                a page that has gone has been waited for long enough
//	lost                                 the incarnation ended by a fault
//	armed, disarmed, updated, runnable, settled, mcp, accepted, opened, chunk, closed, transcript, ended, cleared, recovery, loaded,
//	state, cast, closing: feed items
func TestRoom(t *testing.T) {
	datadriven.Walk(t, "testdata/room", func(t *testing.T, path string) {
		e := newRoomEnv(t, 100, 1<<20)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			e.t = t
			if d.Cmd == "new" {
				frames, bytes := 100, 1<<20
				d.MaybeScanArgs(t, "frames", &frames)
				d.MaybeScanArgs(t, "bytes", &bytes)
				e = newRoomEnv(t, frames, bytes)
				return ""
			}
			require.Equal(t, "run", d.Cmd)
			for _, line := range strings.Split(d.Input, "\n") {
				e.run(line)
			}
			return e.drain()
		})
	})
}

type roomEnv struct {
	t      *testing.T
	room   *room
	seats  map[string]*seat
	asks   map[string]*ask
	paused map[string]bool
	said   map[string]bool // goodbyes printed

	refused []string // of these sockets a frame was not taken
	timers  []func()
	claims  map[string]*claim
}

func newRoomEnv(t *testing.T, frames, bytes int) *roomEnv {
	e := &roomEnv{
		t:      t,
		room:   newRoom(feed.Address{Class: "ChatAgent", Name: "room-1"}, limits{frames, bytes}, new(atomic.Uint64)),
		seats:  map[string]*seat{},
		asks:   map[string]*ask{},
		paused: map[string]bool{},
		said:   map[string]bool{},
		claims: map[string]*claim{},
	}
	e.room.after = func(_ time.Duration, do func()) { e.timers = append(e.timers, do) }
	return e
}

// line is one command: words and named values.
type line struct {
	words []string
	named map[string][]string
}

func (l line) word(i int) string {
	if i < len(l.words) {
		return l.words[i]
	}
	return ""
}

func (l line) value(k string) string { return strings.Join(l.named[k], ",") }

func (l line) has(k string) bool { _, ok := l.named[k]; return ok || slices.Contains(l.words, k) }

// messages of a transcript, written as their ids.
func (l line) messages() []byte {
	var list []string
	for _, id := range l.named["messages"] {
		list = append(list, fmt.Sprintf("{%q:%q}", "id", id))
	}
	return []byte("[" + strings.Join(list, ",") + "]")
}

func (l line) view(a *ask) feed.View {
	v := feed.View{Ask: a.n, Messages: l.messages(), Wiped: l.has("wiped")}
	if l.has("plain") {
		v.Messages = nil
	}
	if l.has("state") {
		v.State = []byte(l.value("state"))
	}
	if l.has("mcp") {
		v.MCP = []byte(l.value("mcp"))
	}
	return v
}

func (e *roomEnv) run(text string) {
	cmd, args, err := datadriven.ParseLine(text)
	require.NoError(e.t, err)
	l := line{named: map[string][]string{}}
	for _, a := range args {
		if len(a.Vals) == 0 && !strings.Contains(text, a.Key+"=") {
			l.words = append(l.words, a.Key)
		} else {
			l.named[a.Key] = a.Vals
		}
	}
	if item := feedItem(cmd, l); item != nil {
		e.room.Put(item)
		return
	}
	e.socket(cmd, l)
}

// socket is what a client, its socket or the handler does.
func (e *roomEnv) socket(cmd string, l line) {
	name := l.word(0)
	s := e.seats[name]
	switch cmd {
	case "connect":
		s = newSeat(name, cmp.Or(l.value("pk"), name))
		s.terms = feed.Terms{NoProtocol: l.has("no-protocol"), NoIdentity: l.has("no-identity"), Readonly: l.has("readonly")}
		e.seats[name] = s
		e.asks[name] = e.room.askConnect(s)
		e.unlessHeld(name, l)
	case "probe":
		p := probe{id: l.word(1), given: l.word(1) != ""}
		e.asks[name] = e.room.resume(s, p)
		e.unlessHeld(name, l)
	case "view":
		e.room.Put(l.view(e.asks[name]))
	case "settle":
		e.room.settle(e.asks[name])
	case "ack":
		e.room.ack(s, l.word(1))
	case "send":
		e.room.sent(s, l.word(1))
	case "follow":
		e.seats[name] = newSeat(name, "")
		e.room.follow(e.seats[name], l.word(1))
	case "claim":
		e.seats[name] = newSeat(name, "")
		e.claims[name] = e.room.claim(e.seats[name])
	case "nothing":
		if a, open := e.room.askClaim(e.claims[name]); open {
			e.room.Put(l.view(a))
		}
	case "look":
		e.seats[name] = newSeat(name, "")
		e.asks[name] = e.room.askCurrent(e.seats[name])
		e.unlessHeld(name, l)
	case "refuse":
		e.room.refused(s, l.word(1), l.word(2))
	case "say":
		if !e.room.send(s, authored([]byte(l.word(1)), l.has("binary")), l.has("binary")) {
			e.refused = append(e.refused, name)
		}
	case "end":
		code, _ := strconv.Atoi(l.word(1))
		e.room.close(s, parting(code, l.word(2)))
	case "leave":
		e.room.leave(s)
	case "quit":
		e.room.quits(s)
		e.room.leave(s)
	case "grace":
		timers := e.timers
		e.timers = nil
		for _, do := range timers {
			do()
		}
	case "pause":
		e.paused[name] = true
	case "go":
		delete(e.paused, name)
	case "lost":
		e.room.lost()
	default:
		e.t.Fatalf("unknown command %q", cmd)
	}
}

func (e *roomEnv) unlessHeld(name string, l line) {
	if a := e.asks[name]; a != nil && !l.has("held") {
		e.room.Put(l.view(a))
	}
}

func feedItem(cmd string, l line) feed.Item {
	switch cmd {
	case "accepted":
		return feed.Accepted{Request: l.word(0)}
	case "opened":
		return feed.Opened{Request: l.word(0), Continuation: l.has("continuation"), Page: l.value("page")}
	case "armed":
		return feed.Armed{Request: l.word(0), Page: l.value("page")}
	case "disarmed":
		return feed.Disarmed{Request: l.word(0)}
	case "updated":
		return feed.Updated{Message: []byte(l.word(0))}
	case "runnable":
		return runnable(l.word(0), l)
	case "settled":
		return feed.Settled{Call: l.word(0)}
	case "mcp":
		return feed.MCP{JSON: []byte(l.word(0))}
	case "chunk":
		var seq uint64
		_, _ = fmt.Sscan(l.word(0), &seq) // nothing: 0
		return feed.Chunk{Seq: seq, Body: []byte(l.word(1))}
	case "closed":
		return feed.Closed{Request: l.word(0)}
	case "transcript":
		return feed.Transcript{Messages: l.messages(), Request: l.value("request"), By: l.value("by"), Private: l.has("private")}
	case "ended":
		return ended(l)
	case "cleared":
		return feed.Cleared{By: l.value("by")}
	case "recovery":
		return feed.Recovery{On: l.word(0) == "on", Request: l.word(1)}
	case "loaded":
		return loaded(l)
	case "state":
		return feed.State{JSON: []byte(l.word(0)), By: l.value("by")}
	case "cast":
		return feed.Cast{Data: []byte(l.word(0)), Binary: l.has("binary"), Except: l.named["except"]}
	case "closing":
		code, _ := strconv.Atoi(l.word(0))
		return feed.Closing{Code: code, Reason: l.word(1)}
	}
	return nil
}

const callMessage = `{"id":"a1","role":"assistant","parts":[{"type":"tool-x","toolCallId":%q,"state":"input-available","input":{}}]}`

func runnable(call string, l line) feed.Runnable {
	return feed.Runnable{Call: call, Message: fmt.Appendf(nil, callMessage, call), Page: l.value("page"), Now: l.has("now")}
}

func ended(l line) feed.Ended {
	return feed.Ended{
		Request: l.word(0), Outcome: feed.Outcome(l.word(1)), Text: l.value("text"), InBand: l.has("inband"),
		Continuation: l.has("continuation"), MessageIDs: l.named["ids"], Private: l.has("private"),
	}
}

func loaded(l line) feed.Loaded {
	it := feed.Loaded{Pending: l.named["pending"], Recovering: l.value("recovering")}
	for _, r := range l.named["recent"] {
		it.Recent = append(it.Recent, feed.Ended{Request: r, Outcome: feed.Completed})
	}
	if r := l.value("armed"); r != "" {
		it.Armed = &feed.Armed{Request: r, Page: l.value("page")}
	}
	for _, call := range l.named["runnable"] {
		it.Runnable = append(it.Runnable, runnable(call, l))
	}
	if r := l.value("failed"); r != "" {
		it.Failed = &feed.Ended{Request: r, Outcome: feed.Errored, Text: l.value("text")}
		for i, body := range l.named["log"] {
			it.FailedLog = append(it.FailedLog, feed.Chunk{Seq: uint64(i), Body: []byte(body)})
		}
	}
	return it
}

// drain takes for every socket that is not paused what its writer would send.
func (e *roomEnv) drain() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(e.seats)) {
		if e.paused[name] {
			continue
		}
		for {
			batch, bye := e.room.take(e.seats[name], nil)
			for _, o := range batch {
				fmt.Fprintf(&b, "%s %s\n", name, brief(o))
			}
			if bye != nil && bye.code != 0 && !e.said[name] {
				e.said[name] = true
				fmt.Fprintf(&b, "%s closed %d %s\n", name, bye.code, bye.reason)
			}
			if len(batch) == 0 {
				break
			}
		}
	}
	e.checkLog()
	for _, name := range e.refused {
		fmt.Fprintf(&b, "%s takes no frame\n", name)
	}
	e.refused = nil
	return b.String()
}

// brief prints a frame with its type, shortened, in front.
func brief(o out) string {
	frame := string(o.frame)
	if o.binary {
		return "binary " + frame
	}
	if !strings.HasPrefix(frame, "{") {
		return "text " + frame
	}
	if o.replay {
		frame = replayHead + frame[1:]
	}
	i := strings.LastIndex(frame, `"type":"`)
	head, kind := frame[:i], frame[i+len(`"type":"`):]
	kind = strings.TrimSuffix(kind, `"}`)
	kind = strings.TrimPrefix(strings.TrimPrefix(kind, "cf_agent_"), "use_chat_")
	if frame == string(mcpFrame(nil)) {
		return kind
	}
	if head = strings.TrimSuffix(head, ","); head == "{" {
		return kind
	}
	return kind + " " + head + "}"
}

// checkLog checks the invariants of the log.
func (e *roomEnv) checkLog() {
	l, busy := &e.room.log, 0
	for _, s := range l.seats {
		require.True(e.t, l.base <= s.pos && s.pos <= l.end(), "cursor inside the log")
		if s.idle {
			require.Equal(e.t, l.end(), s.pos, "an idle seat is at the end")
			require.Zero(e.t, s.directFrames)
			require.Zero(e.t, s.directBytes)
			require.Equal(e.t, l.castFrames, s.castFrames)
			require.Equal(e.t, l.castBytes, s.castBytes)
		} else {
			busy++
		}
	}
	require.Equal(e.t, busy, l.busy)
	for request, a := range e.room.answers {
		follows := func(s *seat) bool { return s.only == a }
		require.True(e.t, slices.ContainsFunc(l.seats, follows), "nobody follows %s any more", request)
	}
	if busy == 0 {
		require.Empty(e.t, l.entries)
	}
}
