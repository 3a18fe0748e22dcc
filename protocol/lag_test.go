package protocol

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// greetedSeat is a seat whose writer takes nothing more than the test does.
func greetedSeat(r *room, id string) *seat {
	s := newSeat(id, id)
	r.Put(feed.View{Ask: r.askConnect(s).n, Messages: []byte("[1]")})
	return s
}

func takeWhole(r *room, s *seat) (frames int) {
	for {
		batch, _ := r.take(s, nil)
		if len(batch) == 0 {
			return frames
		}
		frames += len(batch)
	}
}

// A huge frame is held for a stalled reader only as long as not much comes after it.
func TestAStalledReaderHoldsNoMemory(t *testing.T) {
	r := newRoom(feed.Address{Class: "C", Name: "n"}, limits{1000, 1 << 20}, new(atomic.Uint64))
	stalled, other := greetedSeat(r, "stalled"), greetedSeat(r, "other")
	takeWhole(r, stalled)
	takeWhole(r, other)
	r.sent(stalled, "r1")
	r.Put(feed.Cast{Data: []byte(strings.Repeat("x", 64<<20))})
	huge := weak.Make(&r.log.entries[0].frame[0])
	require.Equal(t, 1, takeWhole(r, other))
	runtime.GC()
	require.NotNil(t, huge.Value(), "it is due")
	r.Put(feed.Cast{Data: []byte("small")})
	require.Equal(t, 1, takeWhole(r, other))
	require.Nil(t, stalled.bye)
	r.Put(feed.Cast{Data: []byte(strings.Repeat("x", 1<<20))})
	require.Equal(t, 1, takeWhole(r, other))
	require.Empty(t, r.log.entries)
	runtime.GC()
	require.Nil(t, huge.Value())
	batch, bye := r.take(stalled, nil)
	require.Empty(t, batch)
	require.EqualValues(t, 1013, bye.code)
	r.leave(stalled)
	require.Len(t, r.log.seats, 1)
	require.Empty(t, r.senders)
	require.Empty(t, r.asks)
}

// Who never catches up may lag further, not without end.
func TestAReaderThatNeverCatchesUp(t *testing.T) {
	r := newRoom(feed.Address{Class: "C", Name: "n"}, limits{10, 1 << 20}, new(atomic.Uint64))
	s := newSeat("slow", "slow")
	r.Put(feed.View{Ask: r.askConnect(s).n, Messages: []byte(strings.Repeat(" ", 8<<20) + "[1]")}) // over the bound, and free
	batch, _ := r.take(s, nil)
	require.NotEmpty(t, batch)
	told := 0
	for ; s.bye == nil; told++ {
		r.Put(feed.Cast{Data: fmt.Append(nil, told)})
	}
	require.Equal(t, 10*catchUp+1, told)
	require.Empty(t, r.log.entries)
}

// What is remembered of those who have gone has a bound, and the last to go are not
// forgotten for it all at once.
func TestThoseWhoHaveGoneAreRemembered(t *testing.T) {
	r := newRoom(feed.Address{Class: "C", Name: "n"}, limits{1000, 1 << 20}, new(atomic.Uint64))
	for i := range maxLeft + 50 {
		greetedSeat(r, fmt.Sprint("s", i))
	}
	viewer := newSeat("viewer", "")
	r.follow(viewer, "r1")
	r.leave(viewer)
	require.Empty(t, r.left, "it is no page that comes back")
	r.lost()
	require.Len(t, r.left, maxLeft)
}
