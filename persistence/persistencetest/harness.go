// Package persistencetest is the test of persistence.Store: one suite that every
// store passes, those of this module and yours.
//
//	func TestStore(t *testing.T) {
//		persistencetest.Run(t, persistencetest.Harness{
//			Open: func(t testing.TB) persistence.Store { return open(t, t.TempDir()) },
//		})
//	}
//
// Open alone is enough to run most of the suite. Each further field of Harness
// that is set adds the tests that need it; a store that keeps data should have
// Reopen and Crash, since what they test is what a journal is for.
//
// The suite calls the store as a user would, so it can be read as a longer form
// of the contract: each subtest is a sentence of it.
package persistencetest

import (
	"testing"

	"github.com/holdfast-dev/holdfast/persistence"
)

// A Harness tells the suite how to get at a store. Functions that return a store
// also see to it that the store's resources are released when the test ends, be
// it closed by then or not.
type Harness struct {
	// Open returns a store without any streams, independent of all others.
	// Required. It is called a few hundred times.
	Open func(t testing.TB) persistence.Store

	// Reopen closes s and opens it again on the same data. nil: not tested.
	Reopen func(t testing.TB, s persistence.Store) persistence.Store

	// Crash opens the data of s as it is at this instant, as if the process that
	// runs s had been killed now. The suite does not use s afterwards. No call is
	// under way. nil: not tested.
	Crash func(t testing.TB, s persistence.Store) persistence.Store

	// LoseAck lets the next append to s be stored and answered with ErrUnknown.
	// The store may be unavailable for a moment afterwards. nil: not tested.
	LoseAck func(t testing.TB, s persistence.Store)

	// LoseAppend is the same, but nothing is stored. nil: not tested.
	LoseAppend func(t testing.TB, s persistence.Store)

	// Break cuts s off from its disk or server until heal is called. nil: not tested.
	Break func(t testing.TB, s persistence.Store) (heal func())

	// Damage changes a byte of the data of record seq where s keeps it, and
	// returns the store opened on that. nil: not tested.
	Damage func(t testing.TB, s persistence.Store, stream string, seq uint64) persistence.Store

	// KeepsSnapshots: a saved snapshot stays until it is replaced, the stream is
	// rebased or deleted, or the store crashes. The contract allows less.
	KeepsSnapshots bool
}

// Run tests the store of h. Subtests run one after the other.
func Run(t *testing.T, h Harness) {
	if h.Open == nil {
		t.Fatal("Harness.Open is nil")
	}
	groups := []struct {
		name  string
		tests []test
	}{
		{"Append", appendTests},
		{"Find", findTests},
		{"Read", readTests},
		{"Rebase", rebaseTests},
		{"Due", dueTests},
		{"Delete", deleteTests},
		{"List", listTests},
		{"Snapshot", snapshotTests},
		{"Blob", blobTests},
		{"Invalid", invalidTests},
		{"Close", closeTests},
		{"Fault", faultTests},
		{"Concurrent", concurrentTests},
		{"Model", modelTests},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, test := range g.tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, h) })
			}
		})
	}
}

type test struct {
	name string
	run  func(t *testing.T, h Harness)
}
