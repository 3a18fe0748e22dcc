package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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

	shown   []client.Message // the conversation as the page shows it
	asked   map[string]bool  // requests of this socket that have not ended
	line    *line            // of the present socket
	number  int              // of requests
	clears  int              // that it was told of
	turns   int              // left to ask for when the killing is over
	settled atomic.Bool      // the killing is over, and everything of this tab with it
}

// world is what all tabs and the killer share.
type world struct {
	addr    string
	gate    *gate
	frames  *counter
	cancels *set        // requests that somebody has cancelled
	calm    atomic.Bool // the killing is over: a few turns more, and rest
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
	t.asked, t.line = map[string]bool{}, newLine(t)
	t.number++
	probe := fmt.Sprintf("%s-%d", t.name, t.number)
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
		if t.world.calm.Load() {
			continue
		}
		if t.rng.IntN(400) == 0 {
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
}

func (t *tab) response(f *client.Frame) {
	switch {
	case f.Seq != nil:
		t.witness.told(f.ID, "a chunk")
		t.witness.saw(f.ID, *f.Seq, f.Body)
		t.line.chunk(f)
	case f.ReplayComplete:
		t.line.replayComplete(f.ID)
	case f.Error && f.MessageIDs == nil:
		t.witness.fault("%s: request %s was refused: %s", t.name, f.ID, f.Body)
	case f.Terminal():
		t.witness.told(f.ID, "its end")
		t.witness.end(f)
		t.line.ended(f)
		delete(t.asked, f.ID)
	}
}

// act decides what the person at the tab does after a frame.
func (t *tab) act(f *client.Frame, probe string) []any {
	if t.world.calm.Load() {
		return t.finish(f, probe)
	}
	idle := f.Type == client.None || f.Type == client.Response && f.Done && !f.Replay
	chunk, _ := f.Content()
	switch n := t.rng.IntN(100); {
	case idle && len(t.asked) == 0 && (t.lead || n < 40):
		return t.ask(1 + t.rng.IntN(7)/6) // sometimes two at once
	case chunk.Type == "text-start" && t.asked[f.ID] && n < 10:
		return t.ask(1) // while the first runs
	case chunk.Type == "text-delta" && n < 1 && t.rng.IntN(4) == 0:
		t.world.cancels.add(f.ID)
		return []any{client.Cancel(f.ID)}
	case chunk.Type == "text-delta" && n < 2 && t.rng.IntN(20) == 0:
		t.shown = nil
		t.line.forget()
		return []any{client.ClearAll()}
	}
	return nil
}

// ask submits turns.
func (t *tab) ask(n int) (frames []any) {
	for range n {
		t.number++
		request := fmt.Sprintf("%s-%d", t.name, t.number)
		question := client.User("u-"+request, "script:paced")
		frames = append(frames, client.Chat(request, t.posted(question), map[string]any{
			"word": request, "words": 1 + t.rng.IntN(30), "delayMs": t.rng.IntN(12), "fail": !t.world.calm.Load() && t.rng.IntN(10) == 0,
		}))
		t.shown = append(t.shown[:len(t.shown):len(t.shown)], question)
		t.asked[request] = true
		t.line.asked(request)
	}
	return frames
}

// posted is the list that the hook sends: what it shows, also what is still being
// answered, and the question.
func (t *tab) posted(question client.Message) []client.Message {
	list := t.shown[:len(t.shown):len(t.shown)]
	if m, ok := t.line.unfinished(); ok {
		list = append(list, m)
	}
	return append(list, question)
}

// finish asks for the last turns, one after the other, and rests when the agent
// has nothing more to tell.
func (t *tab) finish(f *client.Frame, probe string) []any {
	rest := probe + "-rest"
	switch {
	case len(t.asked) > 0:
	case f.Type == client.Response && f.Done, f.Type == client.None && f.ProbeID != rest:
		if t.turns > 0 {
			t.turns--
			return t.ask(1)
		}
		t.line.probing()
		return []any{client.Probe(rest)}
	case f.Type == client.None && f.ProbeID == rest:
		t.settled.Store(true)
	}
	return nil
}
