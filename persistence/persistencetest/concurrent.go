package persistencetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

var concurrentTests = []test{
	{"ManyStreamsAtOnce", func(t *testing.T, h Harness) {
		s := open(t, h)
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				name := fmt.Sprint("s", i)
				for head := uint64(0); head < 20; head += 2 {
					a := one(name, head, "")
					a.Records = []persistence.Record{{Data: content(name, head+1)}, {Data: content(name, head+2)}}
					if err := s.put(a); err != nil {
						t.Errorf("append to %s at %d: %v", name, head, err)
					}
				}
			})
		}
		wg.Wait()
		for i := range 100 {
			name := fmt.Sprint("s", i)
			wantFilled(t, s.read(name, 0), name, 1, 20)
		}
		s.sound()
	}},
	{"OneOfManyWritersWinsEachNumber", func(t *testing.T, h Harness) {
		s := open(t, h)
		const writers, numbers = 8, 25
		for head := uint64(0); head < numbers; head++ {
			var answers []<-chan error
			for w := range writers {
				a := one("a", head, fmt.Sprint(w))
				a.Batch.Incarnation = uint64(w + 1)
				answers = append(answers, s.start(a))
			}
			winner := -1
			for w, answer := range answers {
				if err := <-answer; err == nil {
					require.Equal(t, -1, winner, "two writers got number %d", head+1)
					winner = w
				} else {
					require.ErrorIs(t, err, persistence.ErrConflict)
				}
			}
			require.NotEqual(t, -1, winner, "nobody got number %d", head+1)
			require.EqualValues(t, winner+1, s.info("a").Last.Incarnation)
			require.Equal(t, fmt.Sprint(winner), string(s.read("a", head+1)[0].Data))
		}
	}},
	{"ReadersAndWritersOfOneStreamWithRebases", readersAndWriters},
	{"HistoriesAreLinearizable", linearizable},
}

// readersAndWriters reads a stream over and over while it grows and is rebased.
// What a reader gets has no gaps and ends at a head that was durable.
func readersAndWriters(t *testing.T, h Harness) {
	s := open(t, h)
	s.fill("a", 0, 1)
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !stop.Load() {
				least := s.info("a").Head
				got, err := collect(t.Context(), s.Store, "a", 0)
				if errors.Is(err, persistence.ErrUnavailable) {
					continue // overtaken by a rebase
				}
				if err != nil {
					t.Error(err)
					return
				}
				for i, r := range got {
					if r.Seq != got[0].Seq+uint64(i) {
						t.Errorf("record %d follows %d", r.Seq, got[i-1].Seq)
						return
					}
				}
				if last := got[len(got)-1].Seq; last < least {
					t.Errorf("read ends at %d, the head was %d before", last, least)
					return
				}
			}
		})
	}
	head := uint64(1)
	for i := range 40 {
		head = s.fill("a", head, 100)
		if i%4 == 3 {
			require.NoError(t, s.Rebase(t.Context(), "a", head-350, []byte("base"), nil))
		}
	}
	stop.Store(true)
	readers.Wait()
	s.sound()
}

// A journalCall is an append, or a look at the head if batch is zero.
type journalCall struct {
	expected uint64
	batch    persistence.Batch
}

// journalAnswer is the outcome of a journalCall: for an append whether it was stored.
type journalAnswer struct {
	stored bool
	head   uint64
	last   persistence.Batch
}

// journalModel is what one stream does, call after call.
var journalModel = porcupine.Model{
	Init: func() any { return journalAnswer{} },
	Step: func(state, input, output any) (bool, any) {
		now, call, answer := state.(journalAnswer), input.(journalCall), output.(journalAnswer)
		if call.batch == (persistence.Batch{}) {
			return answer == now, now
		}
		if answer.stored != (call.expected == now.head) {
			return false, now
		}
		if answer.stored {
			now.head, now.last = now.head+1, call.batch
		}
		return true, now
	},
}

// linearizable lets several writers fight for one stream and asks whether their
// histories can be those of a journal that does one thing at a time.
func linearizable(t *testing.T, h Harness) {
	s := open(t, h)
	const writers, calls = 4, 60
	var mu sync.Mutex
	var history []porcupine.Operation
	start := time.Now()
	record := func(w int, call journalCall, f func() journalAnswer) journalAnswer {
		began := time.Since(start).Nanoseconds()
		answer := f()
		ended := time.Since(start).Nanoseconds()
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{ClientId: w, Input: call, Call: began, Output: answer, Return: ended})
		return answer
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			var head uint64
			for n := range uint64(calls) {
				if n%3 == 0 {
					head = record(w, journalCall{}, func() journalAnswer {
						info := s.info("a")
						return journalAnswer{head: info.Head, last: info.Last}
					}).head
					continue
				}
				a := one("a", head, "x")
				a.Batch = persistence.Batch{Incarnation: uint64(w + 1), N: n}
				if record(w, journalCall{head, a.Batch}, func() journalAnswer { return journalAnswer{stored: s.put(a) == nil} }).stored {
					head++
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(journalModel, history, time.Minute))
}
