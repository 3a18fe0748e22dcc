package memory_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/persistence/persistencetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A rig keeps what the suite's harness needs to know of a store.
type rig struct {
	disk *memory.Disk
	next memory.Outcome // of the next append
	down error
}

func TestStore(t *testing.T) {
	rigs := make(map[persistence.Store]*rig)
	open := func(disk *memory.Disk) persistence.Store {
		r := &rig{disk: disk}
		s := memory.Open(memory.Config{
			Disk: disk,
			OnAppend: func(persistence.Append) memory.Fault {
				if r.next == memory.Stored {
					return memory.Fault{} // no write, since appends run concurrently
				}
				o := r.next
				r.next = memory.Stored
				return memory.Fault{Outcome: o}
			},
			Down: func() error { return r.down },
		})
		rigs[s] = r
		return s
	}
	persistencetest.Run(t, persistencetest.Harness{
		Open: func(testing.TB) persistence.Store { return open(new(memory.Disk)) },
		Reopen: func(t testing.TB, s persistence.Store) persistence.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(rigs[s].disk)
		},
		Crash: func(_ testing.TB, s persistence.Store) persistence.Store {
			s.(*memory.Store).Crash()
			return open(rigs[s].disk)
		},
		LoseAck:    func(_ testing.TB, s persistence.Store) { rigs[s].next = memory.AckLost },
		LoseAppend: func(_ testing.TB, s persistence.Store) { rigs[s].next = memory.Lost },
		Break: func(_ testing.TB, s persistence.Store) func() {
			rigs[s].down = errors.New("the cable is out")
			return func() { rigs[s].down = nil }
		},
		KeepsSnapshots: true,
	})
}
