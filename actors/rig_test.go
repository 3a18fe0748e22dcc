package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f under a clock of its own: time passes only while everybody waits.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// pass lets time pass, and what is due then happen. In a bubble only.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// faults decide on appends; a test changes them as it goes.
type faults struct {
	mu     sync.Mutex
	decide func(persistence.Append) memory.Fault
	down   error
	mute   error // of reads alone
	reads  func() error
	seen   []persistence.Append
}

func (f *faults) onAppend(a persistence.Append) memory.Fault {
	f.mu.Lock()
	f.seen = append(f.seen, a)
	decide := f.decide
	f.mu.Unlock()
	if decide == nil {
		return memory.Fault{}
	}
	return decide(a)
}

// set has decide decide from now on; nil: no faults.
func (f *faults) set(decide func(persistence.Append) memory.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = decide
}

// hold holds every append from now on until the result is called.
func (f *faults) hold() (release func()) {
	held := make(chan struct{})
	f.set(func(persistence.Append) memory.Fault { return memory.Fault{Hold: held} })
	return func() {
		f.set(nil)
		close(held)
	}
}

// once has the next append of an event that is picks end in that way.
func (f *faults) once(is func(*journalv1.Event) bool, fault memory.Fault) {
	var done sync.Once
	f.set(func(a persistence.Append) (out memory.Fault) {
		if has(a, is) {
			done.Do(func() { out = fault })
		}
		return out
	})
}

func (f *faults) outage(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = err
}

func (f *faults) outageOfReads(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mute = err
}

func (f *faults) onRead(string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reads != nil {
		return f.reads()
	}
	return f.mute
}

func (f *faults) isDown() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

func (f *faults) appends() []persistence.Append {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]persistence.Append(nil), f.seen...)
}

func (f *faults) config() memory.Config {
	return memory.Config{OnAppend: f.onAppend, OnRead: f.onRead, Down: f.isDown}
}

func eventsOf(a persistence.Append) []*journalv1.Event {
	var events []*journalv1.Event
	for _, r := range a.Records {
		events = append(events, decode(r))
	}
	return events
}

func decode(r persistence.Record) *journalv1.Event {
	var rec journalv1.Record
	if err := proto.Unmarshal(r.Data, &rec); err != nil {
		panic(err)
	}
	return rec.GetEvent()
}

func has(a persistence.Append, is func(*journalv1.Event) bool) bool {
	for _, e := range eventsOf(a) {
		if is(e) {
			return true
		}
	}
	return false
}

func turnAccepted(e *journalv1.Event) bool { return e.GetTurnAccepted() != nil }
func turnEnded(e *journalv1.Event) bool    { return e.GetTurnEnded() != nil }

// journal returns all events of an agent that are on the harness's disk.
func journal(t testing.TB, h *actorstest.Harness, a feed.Address) []*journalv1.Event {
	t.Helper()
	s := memory.Open(memory.Config{Disk: h.Disk})
	defer s.Close()
	var events []*journalv1.Event
	for r, err := range s.Read(context.Background(), a.String(), 1) {
		require.NoError(t, err)
		events = append(events, decode(r))
	}
	return events
}

func count(events []*journalv1.Event, is func(*journalv1.Event) bool) int {
	n := 0
	for _, e := range events {
		if is(e) {
			n++
		}
	}
	return n
}

// echo answers with what the last user message says.
func echo() *actors.Agent {
	return &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		return turn.Stream.Text("echo: " + textOf(turn.Question[len(turn.Question)-1]))
	}}
}

// talker answers with what answer returns for each request.
func talker(answer func(model.Request) scripted.Answer) *actors.Agent {
	return &actors.Agent{Name: "Talker", Instructions: "Talk.", Model: scripted.New(answer)}
}

func textOf(m uimessage.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == uimessage.TextPart {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// conversation is the stored history in short: "user: a", "assistant: b".
func conversation(t testing.TB, r *actors.Ref) []string {
	t.Helper()
	messages, err := r.Messages(context.Background())
	require.NoError(t, err)
	lines := []string{}
	for _, m := range messages {
		lines = append(lines, string(m.Role)+": "+textOf(m))
	}
	return lines
}

// submit is a client's request that brings one user message and no history.
func submit(request, text string) feed.Submit {
	m := uimessage.Message{ID: "u-" + request, Role: uimessage.User, Parts: []uimessage.Part{{Type: uimessage.TextPart, Text: text}}}
	return feed.Submit{Request: request, Messages: []uimessage.Message{m}}
}

func ended(request string) func(feed.Item) bool {
	return func(i feed.Item) bool {
		e, ok := i.(feed.Ended)
		return ok && e.Request == request
	}
}

// endings returns how each request ended, failing the test if one did twice.
func endings(t testing.TB, h *actorstest.Harness, a feed.Address) map[string]feed.Outcome {
	t.Helper()
	ends := make(map[string]feed.Outcome)
	for _, item := range h.Items(a) {
		if e, ok := item.(feed.Ended); ok {
			require.NotContains(t, ends, e.Request, "a request has ended twice")
			ends[e.Request] = e.Outcome
		}
	}
	return ends
}

func hold(until <-chan struct{}) memory.Fault { return memory.Fault{Hold: until} }

var errCable = errors.New("the cable is out")

func describe(items []feed.Item) []string {
	var out []string
	for _, i := range items {
		out = append(out, strings.TrimPrefix(fmt.Sprintf("%T", i), "feed."))
	}
	return out
}
