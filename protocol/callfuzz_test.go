package protocol

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// The part of FuzzRoom that is about calls: answers, continuations and tokens.

func (g *game) playCall(arg byte) {
	page := fmt.Sprint("p", arg/8%4) // perhaps nobody is here of it
	switch arg % 8 {
	case 0, 1:
		g.arm(page)
	case 2:
		g.disarm()
	case 3:
		g.room.Put(feed.Updated{Message: []byte("1")})
	case 4:
		g.calls++
		call := fmt.Sprint("k", g.calls)
		g.room.Put(feed.Runnable{Call: call, Message: fmt.Appendf(nil, "%q", call), Page: page, Now: arg > 128})
	case 5:
		g.room.Put(feed.Settled{Call: fmt.Sprint("k", max(1, g.calls-int(arg/8%2)))})
	case 6:
		timers := g.timers
		g.timers = nil
		for _, do := range timers {
			do()
		}
	case 7:
		g.playClaim()
	}
}

func (g *game) arm(page string) {
	if g.armed == "" {
		g.turns++
		g.armed = fmt.Sprint("r", g.turns)
	}
	g.pages[g.armed] = page
	g.room.Put(feed.Armed{Request: g.armed, Page: page})
}

func (g *game) disarm() {
	if g.armed == "" {
		return
	}
	for _, p := range g.players {
		if p.seat.joined && len(p.follows) > 0 && p.follows[0] == g.armed {
			p.due = append(p.due, g.armed)
		}
	}
	g.room.Put(feed.Disarmed{Request: g.armed})
	g.armed = ""
}

// playClaim is a request over HTTP that answers calls.
func (g *game) playClaim() {
	if len(g.players) == 8 {
		return
	}
	p := &player{seat: newSeat(fmt.Sprint("s", len(g.players)), ""), answers: map[string]int{}, streams: map[string]*seen{}}
	g.players = append(g.players, p)
	c := g.room.claim(p.seat)
	g.arm(p.seat.pk)
	p.follows = []string{g.armed}
	_, open := g.room.askClaim(c)
	require.False(g.t, open, "it follows its continuation")
}

// check: nobody waits for nothing, and each call is in one page's hands.
func (g *game) check() {
	for _, p := range g.players {
		if !p.seat.joined || !p.seat.parked {
			continue
		}
		require.True(g.t, len(g.queue) > 0 || g.armed != "", "%s waits for nothing", p.seat.id)
		if a := p.seat.awaits; a != "" {
			require.True(g.t, a == g.armed || slices.Contains(g.queue, a), "%s waits for %s, which is over", p.seat.id, a)
		}
	}
	for _, t := range g.room.tokens {
		if !t.sent {
			continue
		}
		if old := g.holders[t.call]; old != "" && old != t.page {
			require.False(g.t, g.room.present(old), "%s was taken from a page that is here", t.call)
		}
		g.holders[t.call] = t.page
	}
}
