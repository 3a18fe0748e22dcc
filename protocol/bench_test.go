package protocol

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// BenchmarkPut is the room's part of a chunk's way: encode once, append, rouse
// each socket's writer, which takes it. Nothing is written.
func BenchmarkPut(b *testing.B) {
	for _, sockets := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("sockets=%d", sockets), func(b *testing.B) {
			r := newRoom(feed.Address{Class: "C", Name: "n"}, limits{1 << 30, 1 << 40}, new(atomic.Uint64))
			var wg sync.WaitGroup
			var seats []*seat
			for i := range sockets {
				s := newSeat(fmt.Sprint(i), "")
				seats = append(seats, s)
				a := r.askConnect(s)
				r.Put(feed.View{Ask: a.n})
				wg.Go(func() { takeAll(r, s) })
			}
			c := feed.Chunk{Body: []byte(`{"type":"text-delta","id":"t1","delta":" twenty bytes of text"}`)}
			b.ReportAllocs()
			for b.Loop() {
				if c.Seq%20000 == 0 { // streams end
					r.Put(feed.Opened{Request: "r1"})
				}
				r.Put(c)
				c.Seq++
			}
			for _, s := range seats {
				r.leave(s)
			}
			wg.Wait()
		})
	}
}

func takeAll(r *room, s *seat) {
	var batch []out
	for {
		var bye *farewell
		batch, bye = r.take(s, batch[:0])
		if bye != nil {
			return
		}
		if len(batch) == 0 {
			<-s.wake
		}
	}
}
