package chat

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// check is what holds after every step, whatever has happened.
func (r *rig) check() {
	r.t.Helper()
	s := r.state()
	for i, t := range s.Turns.Queue {
		require.False(r.t, t.CutOff, "turn %d is left cut off", t.ID)
		if i > 0 {
			require.Equal(r.t, Queued, t.Status, "turn %d runs, and is not the head", t.ID)
		}
	}
	if t := s.Turns.holder(); t != nil {
		require.True(r.t, t.Status == Running || t.Until > 0 || t.Deferred, "turn %d could run and does not", t.ID)
	}
	running := s.Turns.Running()
	r.checkOverlap()
	if s.Stream.Open {
		require.NotNil(r.t, running, "a stream is open and no turn runs")
		require.Equal(r.t, running.ID, s.Stream.Turn)
		require.LessOrEqual(r.t, s.Stream.First, s.Stream.Next)
		require.LessOrEqual(r.t, s.Stream.Next, s.Stream.Reserved)
	}
	if running == nil {
		require.Zero(r.t, s.Stream)
		require.Zero(r.t, s.Steps)
	}
	if len(s.Turns.Queue) == 0 {
		require.Zero(r.t, s.Recovery)
	}
	r.checkCalls()
	r.checkFamily()
	r.checkTime()
	r.checkBounds()
	require.NoError(r.t, r.room.agrees(s))
}

// checkOverlap: while the slot is free only the newest of those that overlap is
// left, and it debounces.
func (r *rig) checkOverlap() {
	r.t.Helper()
	s := r.state()
	if s.Turns.holder() == nil {
		require.LessOrEqual(r.t, len(s.Turns.Queue), 1)
		for _, t := range s.Turns.Queue {
			require.True(r.t, t.debounces())
		}
	}
	for id, target := range s.Transcript.Aliases {
		_, there := s.Transcript.message(id)
		require.False(r.t, there, "%s is a message, and an alias of %s", id, target)
		_, there = s.Transcript.message(target)
		require.True(r.t, there, "%s is an alias of %s, which is gone", id, target)
	}
}

// checkTime: WakeAt is what Outstanding says, and whoever is not done wakes.
func (r *rig) checkTime() {
	r.t.Helper()
	s := r.state()
	work, waits := s.Outstanding()
	var want int64
	for _, w := range waits {
		require.NotZero(r.t, w.Until, "wait %s has no time", w.Key)
		if want == 0 || w.Until < want {
			want = max(w.Until, 2) // 1 says: at once
		}
	}
	if len(work) > 0 {
		want = 1
	}
	require.Equal(r.t, want, s.WakeAt())
	if len(s.Turns.Queue)+len(s.Outbox.Entries) > 0 {
		require.NotZero(r.t, want, "something is left to do, and nothing will do it")
	}
}

// checkFamily: what is to be deleted is due, and nothing else is of an agent that
// is to go itself.
func (r *rig) checkFamily() {
	r.t.Helper()
	s := r.state()
	work, waits := s.Outstanding()
	if s.Family.Deleted {
		require.Equal(r.t, []Effect{Erase{}}, work)
		require.Empty(r.t, waits)
		require.Empty(r.t, s.Turns.Queue)
		require.False(r.t, s.CanRebase())
		return
	}
	seen := map[string]bool{}
	for _, c := range s.Family.Children {
		require.False(r.t, seen[c.Class+"/"+c.Name], "a sub-agent is registered twice")
		seen[c.Class+"/"+c.Name] = true
		require.Equal(r.t, c.Removing, slices.Contains(work, Effect(DeleteSub{c.Class, c.Name, c.CreatedMS})))
	}
}

func (r *rig) checkBounds() {
	r.t.Helper()
	s := r.state()
	require.LessOrEqual(r.t, len(s.Ledger.Keys.order), maxKeys)
	require.Len(r.t, s.Ledger.Keys.keys, len(s.Ledger.Keys.order))
	require.LessOrEqual(r.t, len(s.Ledger.Recent), maxRecent+r.core.policy.MaxQueuedTurns+1)
	require.LessOrEqual(r.t, len(s.Turns.Queue), r.core.policy.MaxQueuedTurns+1)
	require.Len(r.t, s.Transcript.index, len(s.Transcript.Messages))
	r.checkTranscript()
	for id := range s.Transcript.steps {
		_, stored := s.Transcript.message(id)
		require.True(r.t, stored || len(s.Turns.Queue) > 0, "steps of %s are kept for no message", id)
	}
}

// checkTranscript: what is stored has a size, a number and marks that are kept.
func (r *rig) checkTranscript() {
	r.t.Helper()
	s, p := r.state(), r.core.policy
	raw, waiting := 0, 0
	for i, m := range s.Transcript.Messages {
		require.Equal(r.t, i, s.Transcript.index[m.ID])
		require.Equal(r.t, m.ID, m.parse().ID)
		if m.FullRef != "" {
			require.Contains(r.t, s.Transcript.Blobs(), m.FullRef)
			require.Empty(r.t, s.Transcript.Steps(m.ID), "the model sees more of %s than people", m.ID)
		}
		if m.Raw > 0 {
			raw++
			require.True(r.t, p.Sanitizes)
			require.True(r.t, s.Transcript.raw[m.ID])
		}
		if m.waits() {
			waiting++
		}
		require.False(r.t, m.Foreign && m.Role != string(uimessage.Assistant))
	}
	require.Len(r.t, s.Transcript.raw, raw)
	if p.MaxMessages > 0 && len(s.Turns.Queue) == 0 {
		require.LessOrEqual(r.t, len(s.Transcript.Messages), p.MaxMessages+waiting)
	}
}

// audience is what sockets have been told: the feed's contract, as a machine.
type audience struct {
	pending    []string // accepted and not ended
	known      map[string]bool
	open       string
	recovering string
	state      []byte
	armed      string          // the continuation to come
	runnable   map[string]bool // calls that wait for a client to run them
}

func newAudience() *audience { return &audience{known: map[string]bool{}, runnable: map[string]bool{}} }

func (a *audience) hear(items []feed.Item) error {
	for _, item := range items {
		if err := a.take(item); err != nil {
			return fmt.Errorf("%+v: %w", item, err)
		}
	}
	return nil
}

func (a *audience) take(item feed.Item) error {
	switch it := item.(type) {
	case feed.Accepted:
		if a.known[it.Request] {
			return fmt.Errorf("accepted twice")
		}
		a.known[it.Request] = true
		if a.armed == it.Request {
			a.armed = ""
		}
		a.pending = append(a.pending, it.Request)
	case feed.Opened:
		if a.open != "" || !slices.Contains(a.pending, it.Request) {
			return fmt.Errorf("opened while %q is open and %q are pending", a.open, a.pending)
		}
		a.open = it.Request
	case feed.Closed:
		if a.open != it.Request {
			return fmt.Errorf("closed while %q is open", a.open)
		}
		a.open = ""
	case feed.Ended:
		i := slices.Index(a.pending, it.Request)
		if i < 0 || a.open == it.Request {
			return fmt.Errorf("ended while %q is open and %q are pending", a.open, a.pending)
		}
		a.pending = slices.Delete(a.pending, i, i+1)
	case feed.Recovery:
		a.recovering = ""
		if it.On {
			a.recovering = it.Request
		}
	case feed.State:
		if bytes.Equal(a.state, it.JSON) {
			return fmt.Errorf("this was the state already")
		}
		a.state = it.JSON
	case feed.Closing:
		if len(a.pending) > 0 {
			return fmt.Errorf("closed while %q are pending", a.pending)
		}
		a.recovering = ""
	case feed.Armed:
		if a.known[it.Request] {
			return fmt.Errorf("armed, and accepted already")
		}
		if a.armed != "" && a.armed != it.Request {
			return fmt.Errorf("armed while %q is", a.armed)
		}
		a.armed = it.Request
	case feed.Disarmed:
		if a.armed == it.Request {
			a.armed = ""
		}
	case feed.Runnable:
		a.runnable[it.Call] = true
	case feed.Settled:
		delete(a.runnable, it.Call)
	case feed.Cleared:
		clear(a.runnable)
	case feed.Transcript, feed.Updated:
	case feed.Loaded, feed.Chunk, feed.View:
		return fmt.Errorf("not expected from Project")
	}
	return nil
}

// load takes the picture of a new incarnation: who was pending is so still, or
// has ended, and then is told how.
func (a *audience) load(l feed.Loaded) error {
	for _, request := range a.pending {
		ended := slices.ContainsFunc(l.Recent, func(e feed.Ended) bool { return e.Request == request })
		if ended == slices.Contains(l.Pending, request) {
			return fmt.Errorf("request %q is neither pending nor ended, or both", request)
		}
	}
	for _, request := range l.Pending {
		a.known[request] = true
	}
	a.pending, a.open, a.recovering = slices.Clone(l.Pending), "", l.Recovering
	a.armed = ""
	if l.Armed != nil {
		a.armed = l.Armed.Request
	}
	clear(a.runnable)
	for _, c := range l.Runnable {
		a.runnable[c.Call] = true
	}
	return nil
}

// agrees compares what was told with what is.
func (a *audience) agrees(s *State) error {
	var pending []string
	for _, t := range s.Turns.Queue {
		pending = append(pending, t.Request)
	}
	told := slices.Sorted(slices.Values(a.pending))
	switch is := slices.Sorted(slices.Values(pending)); {
	case !slices.Equal(told, is):
		return fmt.Errorf("sockets believe that %q are pending, and %q are", told, is)
	case (a.open != "") != s.Stream.Open:
		return fmt.Errorf("sockets believe that the open stream is %q, open is %v", a.open, s.Stream.Open)
	case !bytes.Equal(a.state, s.Desk.State):
		return fmt.Errorf("sockets believe that the state is %s, and it is %s", a.state, s.Desk.State)
	case a.recovering != "" && !slices.Contains(pending, a.recovering):
		return fmt.Errorf("sockets believe that %q recovers, and it is over", a.recovering)
	}
	return a.agreesOnCalls(s)
}

func (a *audience) agreesOnCalls(s *State) error {
	var armed string
	if p := s.Answers.Pending; p != nil && p.Turn == 0 && !s.Family.Deleted {
		armed = p.Request
	}
	runnable := map[string]bool{}
	for _, c := range s.Calls {
		if c.Approved && !c.servers() {
			runnable[c.ID] = true
		}
	}
	switch {
	case a.armed != armed && !s.Family.Deleted:
		return fmt.Errorf("sockets believe that %q is armed, and %q is", a.armed, armed)
	case !maps.Equal(a.runnable, runnable) && !s.Family.Deleted:
		return fmt.Errorf("sockets believe that %v wait for a client, and %v do", a.runnable, runnable)
	}
	return nil
}

// requireShown: what a step has stored of an answer is shown before its end is.
func requireShown(t testing.TB, events []Event, items []feed.Item) {
	t.Helper()
	stored, ends := false, 0
	for _, e := range events {
		stored = stored || e.GetMessagesPut() != nil
		if e.GetTurnEnded() == nil {
			continue
		}
		if ends++; stored {
			shown := slices.IndexFunc(items, func(i feed.Item) bool { _, ok := i.(feed.Transcript); return ok })
			told := 0
			ended := slices.IndexFunc(items, func(i feed.Item) bool {
				if _, ok := i.(feed.Ended); ok {
					told++
				}
				return told == ends
			})
			require.True(t, shown >= 0 && shown < ended, "an end is told before its message: %v", items)
		}
	}
}

// picture is everything that matters in a state, for comparison.
func picture(s *State) string {
	return fmt.Sprintf("version %d\n", s.Version) + lasting(s) + passing(s)
}

// lasting is the part that streamed records have no say in: transcript, turns
// and effects.
func lasting(s *State) string {
	var b strings.Builder
	l, tr := s.Ledger, &s.Transcript
	fmt.Fprintf(&b, "keys %v\nrecent %+v\nfailed %+v\n", l.Keys.proto(), l.Recent, l.Failed)
	if l.Failed != nil {
		fmt.Fprintf(&b, "failed %+v\n", *l.Failed)
	}
	l.Keys, l.Recent, l.Failed = Keyring{}, nil, nil
	fmt.Fprintf(&b, "ledger %+v\ncontext %s %s\n", l, tr.Body, tr.ClientTools)
	for _, m := range tr.Messages {
		fmt.Fprintf(&b, "message %d %s %s %s %s %v %d steps %+v\n", tr.index[m.ID], m.ID, m.Role, m.JSON, m.FullRef, m.Foreign, m.Raw, tr.steps[m.ID])
	}
	fmt.Fprintf(&b, "aliases %v\nlast turn %d, overlap %d\n", tr.Aliases, s.Turns.Last, s.Turns.Overlap)
	for _, t := range s.Turns.Queue {
		turn := *t
		turn.MessageID = ""
		fmt.Fprintf(&b, "turn %+v\n", turn)
	}
	fmt.Fprintf(&b, "steps %+v\noutbox %+v\n", s.Steps, s.Outbox)
	fmt.Fprintf(&b, "family %+v\n", s.Family)
	fmt.Fprintf(&b, "recovery %d, %d crashes, %d failures\n", s.Recovery.Turn, s.Recovery.Crashes, s.Recovery.Failures)
	fmt.Fprintf(&b, "state %q\n", s.Desk.State)
	for _, c := range s.Calls {
		fmt.Fprintf(&b, "call %+v\n", *c)
	}
	fmt.Fprintf(&b, "armed %+v deferred %+v compacted %+v\n", s.Answers.Pending, s.Answers.Deferred, tr.Compaction)
	u := s.Usage
	fmt.Fprintf(&b, "usage %d %d %d %d %d\n", u.GetInput(), u.GetOutput(), u.GetReasoning(), u.GetCacheRead(), u.GetCacheWrite())
	for _, m := range s.Desk.MCP {
		fmt.Fprintf(&b, "server %s %s %s %s\n", m.GetId(), m.GetName(), m.GetUrl(), m.GetOptionsJson())
	}
	work, waits := s.Outstanding()
	fmt.Fprintf(&b, "due %+v waits %+v\n", work, waits)
	return b.String()
}

// passing is the rest: the message in the making and what rests on it.
func passing(s *State) string {
	var b strings.Builder
	st := s.Stream
	if st.Open {
		fmt.Fprintf(&b, "writing %s\n", st.Message().AppendJSON(nil))
	}
	st.fold = nil
	fmt.Fprintf(&b, "stream %+v\nrecovery %+v\nedited %v\nsteps of %d\n", st, s.Recovery, s.Transcript.edited, len(s.Transcript.steps))
	for _, t := range s.Turns.Queue {
		fmt.Fprintf(&b, "turn %d writes %s\n", t.ID, t.MessageID)
	}
	return b.String()
}

// based is the state that the base of s gives.
func based(s *State) *State {
	b := &State{Version: s.Version - 1}
	b.Apply(s.Base())
	return b
}
