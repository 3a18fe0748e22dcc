package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/test/client"
)

// tab is one page with a chat: it connects, probes, ACKs, folds what it gets into
// messages, and reconnects, as the official hook does; and it asks for turns,
// cancels and clears like somebody in a hurry. Its fields belong to its goroutine.
type tab struct {
	name    string
	path    string
	witness *witness
	world   *world
	rng     *rand.Rand
	lead    bool // always has a turn under way
	manner  manner

	shown   []client.Message // the conversation as the page shows it
	asked   map[string]bool  // requests of this socket that have not ended
	line    *line            // of the present socket
	number  int              // of requests
	clears  int              // that it was told of
	agenda  *agenda          // of the agent, for when the killing is over
	doubt   map[string]bool  // requests that may have been dropped: their questions are not sent again
	sync    string           // the last probe, if the last request had ended before it
	again   bool             // wants a new socket
	fresh   bool             // has had one, to see the conversation as it is at the end
	settled atomic.Bool      // the killing is over, and everything of this tab with it
}

// manner is what tabs know of the agent that they talk to.
type manner struct {
	overlaps bool // does not run each message: tabs send many at once
	drops    bool // and forgets those that it does not run
	keeps    bool // nobody clears
	follows  bool // adds something to each answer
}

// world is what all tabs and the killer share.
type world struct {
	addr    string
	gate    *gate
	frames  *counter
	cancels *set        // requests that somebody has cancelled
	calm    atomic.Bool // the killing is over: a few turns more, and rest
}

// most bounds how long an answer takes. Where each is followed up they are short, so
// that many are.
func (m manner) most(n int) int {
	if m.follows {
		return n / 4
	}
	return n
}

// run lives until ctx ends. Each opening of the gate is one life of the node.
func (t *tab) run(ctx context.Context) {
	for life := 0; ; {
		var open bool
		if life, open = t.world.gate.next(ctx, life); !open {
			return
		}
		for t.world.gate.isOpen(life) && ctx.Err() == nil && !t.settled.Load() {
			t.connect(ctx)
		}
	}
}

// connect is one socket.
func (t *tab) connect(ctx context.Context) {
	s, err := client.Dial(ctx, client.URL(t.world.addr, t.name, t.path), nil)
	if err != nil {
		return
	}
	defer s.Drop()
	t.asked, t.line, t.again = map[string]bool{}, newLine(t), false
	t.number++
	probe := t.request(0)
	if s.Send(ctx, client.Probe(probe)) != nil { // before anything was heard, as the hook does
		return
	}
	for !t.settled.Load() {
		f, err := s.Read(ctx)
		if err != nil {
			return
		}
		t.world.frames.add()
		for _, answer := range append(t.hear(&f), t.act(&f, probe)...) {
			if s.Send(ctx, answer) != nil {
				return
			}
		}
		if t.again || !t.world.calm.Load() && t.rng.IntN(400) == 0 {
			return // the network fails
		}
	}
}

// hear takes a frame, and returns what the hook answers by itself.
func (t *tab) hear(f *client.Frame) (answers []any) {
	switch f.Type {
	case client.Resuming:
		t.witness.told(f.ID, f.Type)
		return t.line.offered(f.ID)
	case client.Pending:
		t.witness.told(f.ID, f.Type)
	case client.None:
		t.line.idle(f)
	case client.Messages:
		t.list(f)
	case client.Clear:
		t.clears++
		t.witness.cleared(t.clears)
		t.shown = nil
		t.line.forget()
	case client.Response:
		t.response(f)
	}
	return nil
}

func (t *tab) list(f *client.Frame) {
	var messages []client.Message
	if err := json.Unmarshal(f.Messages, &messages); err != nil {
		t.witness.fault("%s: a transcript that is no list: %v", t.name, err)
		return
	}
	t.witness.listed(messages)
	t.shown = messages
	for _, m := range messages {
		delete(t.doubt, strings.TrimPrefix(m.ID, "u-"))
	}
}

func (t *tab) response(f *client.Frame) {
	switch {
	case f.Seq != nil:
		t.witness.told(f.ID, "a chunk")
		t.witness.saw(f.ID, *f.Seq, f.Body)
		t.line.chunk(f)
	case f.ReplayComplete:
		t.line.replayComplete(f.ID)
	case f.Error && f.MessageIDs == nil && t.asked[f.ID]:
		t.witness.fault("%s: request %s was refused: %s", t.name, f.ID, f.Body)
	case f.Terminal():
		t.witness.told(f.ID, "its end")
		t.witness.end(f)
		t.line.ended(f)
		delete(t.asked, f.ID)
		if f.Outcome != "skipped" {
			delete(t.doubt, f.ID)
		}
	}
}

// act decides what the person at the tab does after a frame.
func (t *tab) act(f *client.Frame, probe string) []any {
	if t.world.calm.Load() {
		return t.finish(f, probe)
	}
	idle := f.Type == client.None || f.Type == client.Response && f.Done && !f.Replay && !t.passedOver(f)
	chunk, _ := f.Content()
	switch n := t.rng.IntN(100); {
	case idle && len(t.asked) == 0 && (t.lead || n < 40):
		return t.ask(1 + t.rng.IntN(7)/6) // sometimes two at once
	case chunk.Type == "text-start" && (t.asked[f.ID] && n < 10 || t.manner.overlaps && n < 50):
		return t.ask(1 + t.rng.IntN(3)/2) // while the first runs
	case chunk.Type == "text-delta" && n < 1 && t.rng.IntN(4) == 0:
		t.world.cancels.add(f.ID)
		return []any{client.Cancel(f.ID)}
	case chunk.Type == "text-delta" && n < 2 && t.rng.IntN(20) == 0 && !t.manner.keeps:
		t.shown = nil
		t.line.forget()
		return []any{client.ClearAll()}
	}
	return nil
}

// passedOver: that one was not run, and the one that was has an end to come.
func (t *tab) passedOver(f *client.Frame) bool { return t.manner.overlaps && f.Outcome == "skipped" }

// ask submits turns.
func (t *tab) ask(n int) (frames []any) {
	for range n {
		request := t.request(1)
		t.number++
		question := client.User("u-"+request, "script:paced "+request)
		frames = append(frames, client.Chat(request, t.posted(question), map[string]any{
			"word": request, "words": 1 + t.rng.IntN(t.manner.most(30)), "delayMs": t.rng.IntN(t.manner.most(12)), "fail": !t.world.calm.Load() && t.rng.IntN(10) == 0,
		}))
		t.shown = append(t.shown[:len(t.shown):len(t.shown)], question)
		t.asked[request] = true
		if t.manner.drops {
			t.doubt[request] = true
		}
		t.line.asked(request)
	}
	return frames
}

// request is the id of the n-th request from now.
func (t *tab) request(n int) string { return fmt.Sprintf("%s-%d", t.name, t.number+n) }

// posted is the list that the hook sends: what it shows, also what is still being
// answered, and the question.
func (t *tab) posted(question client.Message) (list []client.Message) {
	writing, some := t.line.unfinished()
	for _, m := range t.shown {
		if !t.doubt[strings.TrimPrefix(m.ID, "u-")] && !(some && m.ID == writing.ID) {
			list = append(list, m)
		}
	}
	if some {
		list = append(list, writing)
	}
	return append(list, question)
}

// finish asks for the last turns, one after the other, and rests when the agent
// has nothing more to tell.
func (t *tab) finish(f *client.Frame, probe string) []any {
	rest := probe + "-rest"
	if t.manner.drops && t.passedOver(f) { // something was still running
		t.agenda.giveBack(t.name)
		return nil
	}
	idle := f.Type == client.None
	switch {
	case len(t.asked) > 0, !idle && !(f.Type == client.Response && f.Done):
	case idle && f.ProbeID == rest:
		t.settled.Store(true)
	case !t.isOver(f, t.agenda.lastRequest()):
		if idle { // perhaps it was over before this socket came
			return t.probeAgain(probe)
		}
	case t.agenda.take(t.name, t.request(1)):
		return t.ask(1)
	case !t.agenda.done():
	case t.manner.overlaps && !t.fresh:
		t.again, t.fresh = true, true
	default:
		t.line.probing()
		return []any{client.Probe(rest)}
	}
	return nil
}

// isOver: this tab has been told all that comes of request.
func (t *tab) isOver(f *client.Frame, request string) bool {
	if request == "" || t.line.over[request] && !t.manner.follows {
		return true
	}
	if !t.manner.follows {
		return f.ProbeID != "" && f.ProbeID == t.sync
	}
	return slices.ContainsFunc(t.shown, func(m client.Message) bool {
		return m.Role == "assistant" && strings.HasPrefix(strings.Join(texts(m), ""), followsUp+request+".")
	})
}

// probeAgain asks what there is to resume. If the last request has ended by now, "nothing"
// comes behind all that is told of it.
func (t *tab) probeAgain(probe string) []any {
	t.number++
	id := fmt.Sprintf("%s-again-%d", probe, t.number)
	if t.sync = ""; t.witness.hasEnded(t.agenda.lastRequest()) {
		t.sync = id
	}
	t.line.probing()
	return []any{client.Probe(id)}
}
