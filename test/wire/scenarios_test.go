package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
	"github.com/holdfast-dev/holdfast/test/wire/match"
)

// scenarios by the name of their recording. Those of restarts need a node for
// themselves.
var scenarios = map[string]func(*stage){
	"01-connect-empty":                   connectEmpty,
	"02-text-turn-two-tabs":              textTurnTwoTabs,
	"03-second-turn-reconnect":           secondTurnReconnect,
	"04-http-get-messages":               getMessages,
	"11-disconnect-mid-stream-resume":    disconnectMidStreamResume,
	"11b-late-ack-missed-frames":         lateAckMissedFrames,
	"11c-ack-after-stream-finished":      ackAfterStreamFinished,
	"11d-reconnect-before-stream-starts": reconnectBeforeStreamStarts,
	"11e-parked-then-no-stream":          parkedThenNoStream,
	"12-resume-request-idle":             resumeRequestIdle,
	"13-cancel-mid-stream":               cancelMidStream,
	"13b-cancel-queued":                  cancelQueued,
	"14-clear-during-and-after":          clearDuringAndAfter,
	"14b-clear-with-queued-turn":         clearWithQueuedTurn,
	"15-regenerate":                      regenerate,
	"16-data-parts":                      answer("16", "data"),
	"16b-exotic-chunks":                  answer("16b", "exotic"),
	"17-stream-error":                    badEnd("17", "modelerror"),
	"17b-byte-stream-throws":             badEnd("17b", "streamthrow"),
	"17c-abort-chunk":                    badEnd("17c", "abortchunk"),
	"17d-onchatmessage-throws":           badEnd("17d", "throw"),
	"17e-no-response":                    badEnd("17e", "none"),
	"17f-null-body":                      badEnd("17f", "nobody"),
	"18-plain-text":                      answer("18", "plain"),
	"19-reasoning-sources-files":         answer("19", "reasoning"),
	"20-concurrency-debounce":            overlap("debounce-agent"),
	"20-concurrency-drop":                overlap("drop-agent"),
	"20-concurrency-latest":              overlap("latest-agent"),
	"20-concurrency-merge":               overlap("merge-agent"),
	"20-concurrency-queue":               overlap("chat-agent"),
	"25-rpc":                             calls,
	"26-state":                           state,
	"27-malformed":                       malformed,
	"28-savemessages-server-turn":        serverTurn,
	"32-server-restart-orphaned-stream":  restart("chat-agent"),
	"32b-server-restart-chat-recovery":   restart("recover-agent"),
}

func TestRecordedScenarios(t *testing.T) {
	shared := process.Start(t, process.Options{})
	t.Run("all", func(t *testing.T) {
		for _, name := range recordings(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play := scenarios[name]
				require.NotNil(t, play, "the recording has no scenario")
				node := shared
				if strings.Contains(name, "restart") {
					node = process.Start(t, process.Options{})
				}
				s := newStage(t, node)
				play(s)
				recording, events := load(t, name), s.events()
				if faults := recording.Judge(events); len(faults) > 0 {
					t.Fatalf("received:\n%s", strings.Join(faults, "\n"))
				}
				refusesMutations(t, recording, events)
			})
		}
	})
}

func recordings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(scenarios), "scenarios and recordings go together")
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".json")
	}
	return files
}

func load(t *testing.T, name string) *match.Scenario {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	s, err := match.Parse(data)
	require.NoError(t, err)
	return s
}

func textTurnTwoTabs(s *stage) {
	p := s.room("s02")
	a, b := s.open("A", p), s.open("B", p)
	a.Send(client.Probe("pa"))
	b.Send(client.Probe("pb"))
	a.Wait("an answer", client.AnswerTo("pa"))
	b.Wait("an answer", client.AnswerTo("pb"))
	id := s.request()
	s.chat(a, id, client.User("u1", "script:text hi"))
	a.Wait("the end", client.Done(id))
	s.settle(p, a, b)
}

func secondTurnReconnect(s *stage) {
	p := s.room("s03")
	a := s.open("A", p)
	id := s.request()
	s.chat(a, id, client.User("u1", "script:text one"))
	a.Wait("the end", client.Done(id))
	s.settle(p, a)
	history := s.messages(p)
	id2 := s.request()
	s.chat(a, id2, list(history, client.User("u2", "script:text two"))...)
	a.Wait("the end", client.Done(id2))
	s.settle(p, a)
	s.drop(a)
	b := s.openAs("A2", "A", p)
	b.Send(client.Probe("pr2"))
	b.Wait("an answer", client.AnswerTo("pr2"))
	s.messages(p)
	b.Send(client.Ack(id2))
	s.settle(p, b)
}

// answer is one turn, with an observer.
func answer(room, script string) func(*stage) {
	return func(s *stage) {
		p := s.room(room)
		a, b := s.open("A", p), s.open("B", p)
		id := s.request()
		s.chat(a, id, client.User("u1", "script:"+script+" go"))
		a.Wait("the end", client.Done(id))
		s.settle(p, a, b)
		s.messages(p)
	}
}

// badEnd is a turn that ends without an answer, and what a later joiner and the
// next turn make of it.
func badEnd(room, script string) func(*stage) {
	return func(s *stage) {
		p := s.room(room)
		a, b := s.open("A", p), s.open("B", p)
		id := s.request()
		s.chat(a, id, client.User("u1", "script:"+script+" go"))
		a.Wait("the end", client.Done(id))
		s.settle(p, a, b)
		s.messages(p)
		c := s.open("C", p)
		c.Send(client.Probe("pc"))
		if f := c.Wait("an answer", client.AnswerTo("pc")); f.Type == client.Resuming {
			c.Send(client.Ack(id))
			c.Wait("the end", client.Done(id))
		}
		id2 := s.request()
		s.chat(a, id2, list(s.messages(p), client.User("u2", "script:text next"))...)
		a.Wait("the end", client.Done(id2))
		s.settle(p, a, b, c)
		c.Send(client.Probe("pc2"))
		c.Wait("an answer", client.AnswerTo("pc2"))
	}
}

func regenerate(s *stage) {
	p := s.room("s15")
	a, b := s.open("A", p), s.open("B", p)
	question := client.User("u1", "script:text hi")
	id := s.request()
	s.chat(a, id, question)
	a.Wait("the end", client.Done(id))
	s.settle(p, a, b)
	s.messages(p)
	id2 := s.request()
	a.Send(client.Chat(id2, []any{question}, map[string]any{"trigger": "regenerate-message"}))
	a.Wait("the end", client.Done(id2))
	s.settle(p, a, b)
	s.messages(p)
}

// overlap submits twice while a turn runs.
func overlap(class string) func(*stage) {
	return func(s *stage) {
		p := s.agent(class, "s20")
		a, b := s.open("A", p), s.open("B", p)
		m1, m2, m3 := client.User("u1", "script:slow one"), client.User("u2", "say two"), client.User("u3", "say three")
		i1, i2, i3 := s.request(), s.request(), s.request()
		s.chat(a, i1, m1)
		a.Wait("text", client.ChunkOf(i1, "text-delta"))
		s.chat(a, i2, m1, m2)
		s.chat(a, i3, m1, m2, m3)
		for _, request := range []string{i1, i2, i3} {
			a.Wait("an end", client.Done(request))
		}
		s.settle(p, a, b)
		s.messages(p)
	}
}
