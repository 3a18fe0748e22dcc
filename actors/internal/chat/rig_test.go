package chat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

const epoch = int64(1_000_000) // the rig's clock begins here, in milliseconds

// rig drives a core as the shell does, and keeps what outlives a process: the
// journal. The clock, fresh ids and positions are its own. After every step it
// checks the invariants (see invariants_test.go), so that each test checks them.
type rig struct {
	t           testing.TB
	policy      Policy
	core        *Core
	journal     []record
	tombstone   uint64 // head that was there before the journal: of a deleted predecessor, or of what a base replaces
	now         int64
	incarnation uint64
	fresh       int               // ids given out
	shown       map[string]uint64 // by request: first position that no client has seen
	room        *audience
	blobs       map[string]bool            // keys of the values beside the journal
	told        func([]Event, []feed.Item) // if set, hears of every step
	outcomesOf  map[string]remembered      // of calls, by their id
}

// record is a journal entry as the store keeps it. Streamed ones may be lost,
// but only as a suffix.
type record struct {
	data     []byte
	streamed bool
}

func newRig(t testing.TB, p Policy) *rig {
	r := &rig{t: t, policy: p, core: New(p), now: epoch, shown: map[string]uint64{}, room: newAudience()}
	r.activate()
	return r
}

func (r *rig) state() *State { return &r.core.State }

func (r *rig) ids() Ids {
	r.fresh++
	return Ids{Request: fmt.Sprintf("server%d", r.fresh), Message: fmt.Sprintf("a%d", r.fresh)}
}

// step is one command as the shell gives it; what sockets are told comes back too.
func (r *rig) step(cmd Command) ([]Event, []feed.Item, error) {
	r.t.Helper()
	events, err := r.core.Step(cmd)
	if err != nil {
		require.Empty(r.t, events, "a refusal has changed nothing")
		return nil, nil, err
	}
	r.enter(events, cmd)
	items := r.state().Project(events, "")
	require.NoError(r.t, r.room.hear(items), "%T", cmd)
	requireShown(r.t, events, items)
	r.report(events, items)
	r.check()
	return events, items, nil
}

// must is step for a command that is not refused.
func (r *rig) must(cmd Command) []Event {
	r.t.Helper()
	events, _, err := r.step(cmd)
	require.NoError(r.t, err)
	return events
}

func (r *rig) enter(events []Event, cmd Command) {
	_, kept := cmd.(Keep)
	for _, e := range events {
		data, err := proto.Marshal(e)
		require.NoError(r.t, err)
		r.journal = append(r.journal, record{data, kept || e.GetStreamOpened() != nil})
		for _, m := range e.GetMessagesPut().GetMessages() {
			r.keepBlob(m.GetFullRef())
		}
	}
}

// keepBlob: what an event refers to comes with it, or came before.
func (r *rig) keepBlob(key string) {
	if key == "" {
		return
	}
	require.True(r.t, r.blobs[key] || r.core.Blob(key) != nil, "an event refers to a value that is nowhere")
	if r.blobs == nil {
		r.blobs = map[string]bool{}
	}
	r.blobs[key] = true
}

// activate begins an incarnation. Its events are not projected: whoever connects
// gets the whole picture.
func (r *rig) activate() []Event {
	r.incarnation++
	cmd := Activate{Incarnation: r.incarnation, Class: "Bot", Name: "b", Node: "n", Now: r.now, Ids: r.ids()}
	events, err := r.core.Step(cmd)
	require.NoError(r.t, err)
	r.enter(events, cmd)
	loaded := r.state().Loaded()
	require.NoError(r.t, r.room.load(loaded))
	r.room.state = r.state().Desk.State // comes with the view
	r.report(events, []feed.Item{loaded})
	r.check()
	return events
}

func (r *rig) report(events []Event, items []feed.Item) {
	if r.told != nil {
		r.told(events, items)
	}
}

// crash forgets everything but the journal, loses up to lose streamed records
// at its end, replays the rest and begins a new incarnation.
func (r *rig) crash(lose int) []Event {
	for n := len(r.journal); lose > 0 && n > 0 && r.journal[n-1].streamed; n-- {
		r.journal = r.journal[:n-1]
		lose--
	}
	r.outcomesOf = nil // what was streamed may be lost
	r.core = &Core{State: *r.replay(func(record) bool { return true }), policy: r.policy.withDefaults()}
	return r.activate()
}

// replay folds the records that keep lets pass.
func (r *rig) replay(keep func(record) bool) *State {
	s := &State{Version: r.tombstone}
	for _, rec := range r.journal {
		if keep(rec) {
			e := r.decode(rec)
			require.True(r.t, Known(e))
			s.Apply(e)
		}
	}
	return s
}

func (r *rig) decode(rec record) Event {
	e := &pb.Event{}
	require.NoError(r.t, proto.Unmarshal(rec.data, e))
	return e
}

// rebase replaces the journal by a base.
func (r *rig) rebase() {
	version, base := r.state().Version, r.state().Base()
	maps.DeleteFunc(r.blobs, func(key string, _ bool) bool { return !slices.Contains(r.state().Transcript.Blobs(), key) })
	data, err := proto.Marshal(base)
	require.NoError(r.t, err)
	r.journal, r.tombstone = []record{{data: data}}, version-1 // the store numbers on
	r.core.State = *r.replay(func(record) bool { return true })
}

// erase does what a deleted agent wants done. The next incarnation is another
// agent's, of the same name.
func (r *rig) erase() []Event {
	r.tombstone, r.journal = r.state().Version, nil
	r.core, r.room = New(r.policy), newAudience()
	r.core.State.Version = r.tombstone
	return r.activate()
}

// keep stores chunks as the running turn's stream would; it opens it if need be.
func (r *rig) keep(chunks ...uimessage.Chunk) []Event {
	r.t.Helper()
	t := r.state().Turns.Running()
	require.NotNil(r.t, t, "no turn runs")
	r.must(OpenStream{Turn: t.ID, Attempt: t.Attempt})
	st := &r.state().Stream
	var p Packer
	for _, c := range chunks {
		p.Add(&c, c.AppendJSON(nil))
	}
	first := st.Next
	require.GreaterOrEqual(r.t, first, r.shown[t.Request], "position used twice")
	runs, count := p.Take()
	r.shown[t.Request] = first + count
	for st.Reserved < first+count {
		r.must(Reserve{Turn: t.ID, Attempt: t.Attempt})
	}
	events := r.must(Keep{Turn: t.ID, First: first, Runs: runs, Count: count})
	require.Equal(r.t, first+count, st.Next, "packing has changed the number of chunks")
	return events
}

// say keeps a step with text that is not finished.
func (r *rig) say(text string) {
	r.t.Helper()
	var chunks []uimessage.Chunk
	if !r.state().Stream.HasContent() {
		start := uimessage.Chunk{Type: "start"}
		if t := r.state().Turns.Running(); t != nil && !t.Continues {
			start.MessageID = t.MessageID
		}
		chunks = append(chunks, start, uimessage.Chunk{Type: "start-step"}, uimessage.Chunk{Type: "text-start", ID: "t"})
	}
	r.keep(append(chunks, uimessage.Chunk{Type: "text-delta", ID: "t", Delta: text})...)
}

// due returns the first effect that is due.
func (r *rig) due() Effect {
	r.t.Helper()
	work, _ := r.state().Outstanding()
	require.NotEmpty(r.t, work, "nothing is due")
	return work[0]
}

// answer is the good outcome of an effect.
func answer(e Effect) Command {
	switch e := e.(type) {
	case CallModel:
		return StepAnswered{Last: true, Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Content: []byte(`["said"]`), Reason: "stop"}
	case Handle:
		return HandlerEnded{Turn: e.Turn, Attempt: e.Attempt}
	case Prepare:
		return Prepared{Turn: e.Turn, Messages: []uimessage.Message{user(fmt.Sprintf("p%d", e.Turn))}}
	case Clean:
		return Cleaned{Clean: e, Message: message("unused", uimessage.User, "cleaned")}
	case RunTool:
		return ToolReturned{Turn: e.Turn, CallID: e.CallID, Attempt: e.Attempt, Output: []byte(`"good"`)}
	case Compact:
		return Compacted{Turn: e.Turn, Attempt: e.Attempt, UptoID: "u0", Summary: "in short"}
	case Deliver:
		return Delivered{ID: e.ID}
	case DeleteSub:
		return SubRemoved(e)
	default:
		panic(fmt.Sprintf("unknown effect %T", e))
	}
}

// fail is its bad outcome.
func (r *rig) fail(e Effect, transient bool) Command {
	switch e := e.(type) {
	case CallModel:
		cause := "refused"
		if transient {
			cause = "transient"
		}
		return StepErred{
			Turn: e.Turn, Step: e.Step, Attempt: e.Attempt, Transient: transient, Cause: cause,
			Public: "The model failed.", Text: "503", Now: r.now, Ids: r.ids(),
		}
	case Handle:
		return HandlerEnded{Turn: e.Turn, Attempt: e.Attempt, Result: Failed, Text: "It failed."}
	case Prepare:
		return Prepared{Turn: e.Turn, Failed: true}
	case Clean:
		return Cleaned{Clean: e, Failed: true}
	case RunTool:
		return ToolReturned{Turn: e.Turn, CallID: e.CallID, Attempt: e.Attempt, Failed: true, Text: "The tool failed.", Now: r.now}
	case Compact:
		return Compacted{Turn: e.Turn, Attempt: e.Attempt, Failed: "It does not fit."}
	case DeleteSub:
		return SubRemoved{}
	case Deliver:
		return DeliveryErred{ID: e.ID, Attempt: e.Attempt, Text: "hook failed", Now: r.now}
	default:
		panic(fmt.Sprintf("unknown effect %T", e))
	}
}

// wait lets the earliest wait's time come.
func (r *rig) wait() []Event {
	r.t.Helper()
	_, waits := r.state().Outstanding()
	require.NotEmpty(r.t, waits, "nothing waits")
	next := slices.MinFunc(waits, func(a, b Wait) int { return int(a.Until - b.Until) })
	r.now = max(r.now, next.Until)
	return r.must(TimerFired{Key: next.Key, Now: r.now})
}

// finish feeds good outcomes for all that is due until nothing is.
func (r *rig) finish() {
	r.t.Helper()
	for range 1000 {
		work, waits := r.state().Outstanding()
		switch {
		case len(work) > 0 && work[0] == Erase{}:
			r.erase()
		case len(work) > 0:
			r.must(answer(work[0]))
		case len(waits) > 0:
			r.wait()
		default:
			return
		}
	}
	r.t.Fatal("outcomes for all that is due do not end the turns")
}

func submit(request string, messages ...uimessage.Message) Submit {
	return Submit{Request: request, Messages: messages, Ids: Ids{Request: "unused", Message: "a-" + request}}
}

func user(id string) uimessage.Message      { return message(id, uimessage.User, "ask "+id) }
func assistant(id string) uimessage.Message { return message(id, uimessage.Assistant, "say "+id) }

func message(id string, role uimessage.Role, text string) uimessage.Message {
	return uimessage.Message{ID: id, Role: role, Parts: []uimessage.Part{{Type: "text", Text: text}}}
}

// listed names the stored messages in order.
func (r *rig) listed() string {
	var ids []string
	for _, m := range r.state().Transcript.Messages {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

// text joins the text of a stored message.
func (r *rig) text(id string) string {
	m, _ := r.state().Transcript.Message(id)
	var text string
	for _, p := range m.Parts {
		text += p.Text
	}
	return text
}
