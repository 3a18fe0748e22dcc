package persistencetest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/persistence"
)

var modelTests = []test{
	{"RandomCallsLeaveWhatTheModelHas", func(t *testing.T, h Harness) {
		rapid.Check(t, func(rt *rapid.T) {
			m := &machine{rt: rt, subject: subject{t: t, h: h, Store: h.Open(t)}, model: model{}}
			defer m.finish()
			rt.Repeat(m.actions())
		})
	}},
}

// Few names and keys, so that calls meet. The last name is never written.
var (
	modelNames = []string{"a", "b", "b/c", "none"}
	modelKeys  = []string{"k", "l", "m"}
)

// A machine does the same to a store and to a model, and compares them whole
// after each step.
type machine struct {
	subject
	rt    *rapid.T
	model model
	n     uint64 // appends so far
}

func (m *machine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"":             m.compare,
		"append":       m.doAppend,
		"append again": m.doAppend, // twice as likely as the rest
		"rebase":       m.doRebase,
		"delete":       m.doDelete,
		"snapshot":     m.doSnapshot,
		"group":        m.doGroup,
	}
	if m.h.Reopen != nil {
		actions["reopen"] = func(*rapid.T) { m.reopen() }
	}
	if m.h.Crash != nil {
		actions["crash"] = func(*rapid.T) {
			m.crash()
			m.forgetSnapshots()
		}
	}
	if m.h.LoseAck != nil {
		actions["lose ack"] = m.doLoseAck
	}
	return actions
}

var drawName = rapid.SampledFrom(modelNames[:len(modelNames)-1])

// drawNumber draws one that is mostly near a stream's head.
func drawNumber(rt *rapid.T, head uint64) uint64 {
	if rapid.IntRange(0, 3).Draw(rt, "exact") > 0 {
		return head
	}
	return rapid.Uint64Range(0, head+2).Draw(rt, "number")
}

func (m *machine) drawAppend(rt *rapid.T) persistence.Append {
	m.n++
	name := drawName.Draw(rt, "stream")
	a := persistence.Append{
		Stream: name, Expected: drawNumber(rt, m.model.stream(name).info.Head),
		Batch: persistence.Batch{Incarnation: 7, N: m.n},
		Wake:  persistence.Wake(rapid.SampledFrom([]int{0, 1, 10, 10, 20, 30}).Draw(rt, "wake")),
	}
	for range rapid.SampledFrom([]int{1, 1, 2, 3, 300}).Draw(rt, "records") {
		a.Records = append(a.Records, persistence.Record{
			Class: persistence.Class(len(a.Records) % 2),
			Data:  content(name, m.n*1000+uint64(len(a.Records))),
		})
	}
	for _, key := range rapid.SliceOfN(rapid.SampledFrom(modelKeys), 0, 2).Draw(rt, "blobs") {
		a.Blobs = append(a.Blobs, persistence.Blob{Key: key, Data: content(key, m.n)})
	}
	return a
}

func (m *machine) doAppend(rt *rapid.T) {
	a := m.drawAppend(rt)
	require.ErrorIs(rt, m.put(a), m.model.append(a))
}

// doGroup has appends of several streams under way at once.
func (m *machine) doGroup(rt *rapid.T) {
	var answers []<-chan error
	var want []error
	var used []string
	for range 3 {
		if a := m.drawAppend(rt); !slices.Contains(used, a.Stream) {
			used = append(used, a.Stream)
			answers = append(answers, m.start(a))
			want = append(want, m.model.append(a))
		}
	}
	for i, answer := range answers {
		require.ErrorIs(rt, <-answer, want[i])
	}
}

func (m *machine) doLoseAck(rt *rapid.T) {
	a := m.drawAppend(rt)
	a.Expected = m.model.stream(a.Stream).info.Head
	m.h.LoseAck(m.t, m.Store)
	require.ErrorIs(rt, m.put(a), persistence.ErrUnknown)
	require.NoError(rt, m.model.append(a))
	_, found := m.settle(a)
	require.True(rt, found)
	m.forgetSnapshots()
}

func (m *machine) doRebase(rt *rapid.T) {
	name := drawName.Draw(rt, "stream")
	upto := rapid.Uint64Range(1, m.model.stream(name).info.Head+1).Draw(rt, "upto")
	base := rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(rt, "base")
	keep := rapid.SliceOfN(rapid.SampledFrom(modelKeys), 0, 2).Draw(rt, "keep")
	want := m.model.rebase(name, upto, base, keep)
	require.ErrorIs(rt, m.Rebase(m.t.Context(), name, upto, base, keep), want)
}

func (m *machine) doDelete(rt *rapid.T) {
	name := drawName.Draw(rt, "stream")
	expected := drawNumber(rt, m.model.stream(name).info.Head)
	require.ErrorIs(rt, m.Delete(m.t.Context(), name, expected), m.model.delete(name, expected))
}

func (m *machine) doSnapshot(rt *rapid.T) {
	name := drawName.Draw(rt, "stream")
	snap := persistence.Snapshot{Seq: drawNumber(rt, m.model.stream(name).info.Head), Data: content(name, m.n)}
	require.ErrorIs(rt, m.SaveSnapshot(m.t.Context(), name, snap), m.model.save(name, snap))
}

// forgetSnapshots takes over which snapshots the store still has.
func (m *machine) forgetSnapshots() {
	for name, s := range m.model {
		if _, ok, err := m.LoadSnapshot(m.t.Context(), name); err == nil && !ok {
			s.snapshot = nil
		}
	}
}

// compare looks at everything that a store can tell.
func (m *machine) compare(rt *rapid.T) {
	ctx := m.t.Context()
	for _, name := range modelNames {
		want := m.model.stream(name)
		info, found, err := m.Find(ctx, name, want.info.Last)
		require.NoError(rt, err)
		require.Equal(rt, want.info, info)
		require.Equal(rt, want.info.Head > 0, found)
		from := rapid.Uint64Range(0, info.Head+1).Draw(rt, "from")
		for _, from := range []uint64{0, from} {
			got, err := collect(ctx, m.Store, name, from)
			require.NoError(rt, err)
			equalRecords(rt, want.records, got, from)
		}
		for _, key := range modelKeys {
			data, err := m.Blob(ctx, name, key)
			if blob, ok := want.blobs[key]; ok {
				require.NoError(rt, err)
				require.Equal(rt, blob, string(data))
			} else {
				require.ErrorIs(rt, err, persistence.ErrNotFound)
			}
		}
		m.wantSnapshot(name, want.snapshot)
	}
	for _, prefix := range []string{"", "b"} {
		got, err := m.List(ctx, prefix, "a", 2)
		require.NoError(rt, err)
		require.Equal(rt, m.model.list(prefix, "a", 2), got)
	}
	for _, t := range []persistence.Wake{0, 1, 10, 1 << 60} {
		require.Equal(rt, len(m.model.due(t)), len(m.due(t)))
		require.ElementsMatch(rt, m.model.due(t), m.due(t))
	}
	m.sound()
}

// equalRecords compares got with those of want that are not below from.
func equalRecords(rt *rapid.T, want, got []persistence.Record, from uint64) {
	want = slices.DeleteFunc(slices.Clone(want), func(r persistence.Record) bool { return r.Seq < from })
	if !slices.EqualFunc(want, got, func(a, b persistence.Record) bool {
		return a.Seq == b.Seq && a.Class == b.Class && bytes.Equal(a.Data, b.Data)
	}) {
		rt.Fatalf("records from %d: got %d of them, want %d: %v", from, len(got), len(want), got)
	}
}
