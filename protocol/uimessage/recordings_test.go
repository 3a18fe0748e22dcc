package uimessage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The recordings are what clients got from the reference server, cut down to
// the frames that matter here: content, transcripts, updated messages, chunks
// of agent-tool runs, and get-messages.

type recordedFrame struct {
	Type         string
	ID           string
	Body         string
	Seq          *int
	Done         bool
	Error        bool
	Continuation bool
	Messages     []json.RawMessage
	Message      json.RawMessage
	Event        struct {
		RunID string
		Body  string
	}
}

// A recordedStream is what one request streamed.
type recordedStream struct {
	id           string
	continuation bool
	base         Message // of a continuation
	bodies       []string
	first, last  int // lines where the first and the last chunk were first seen
}

type recording struct {
	streams []*recordedStream
	views   []view
}

// A view is a message as a transcript or update showed it.
type view struct {
	line int
	m    Message
}

func TestRecordedStreamsFoldToTheTranscriptThatFollowed(t *testing.T) {
	files, err := filepath.Glob("testdata/recordings/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	compared := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			rec := readRecording(t, file)
			for _, s := range rec.streams {
				got := s.fold(t)
				if want, ok := rec.after(s, got.ID); ok {
					compared++
					compareWithReference(t, s, got, want)
				}
			}
		})
	}
	if compared < 60 {
		t.Errorf("only %d streams were followed by a transcript", compared)
	}
	t.Logf("%d streams compared", compared)
}

func readRecording(t *testing.T, file string) *recording {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recording{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); n++ {
		var line struct{ Frame recordedFrame }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		rec.add(t, n, &line.Frame)
	}
	return rec
}

func (r *recording) add(t *testing.T, n int, f *recordedFrame) {
	t.Helper()
	switch {
	case f.Type == "agent-tool-event" && !strings.Contains(f.Event.Body, "data-agent-"): // progress is told, not stored
		r.chunk("run "+f.Event.RunID, false, nil, f.Event.Body, n)
	case f.Type == "cf_agent_use_chat_response" && f.Body != "" && f.Body[0] == '{' && !f.Done && !f.Error:
		r.chunk(f.ID, f.Continuation, f.Seq, f.Body, n)
	case f.Message != nil:
		r.views = append(r.views, view{n, message(t, string(f.Message))})
	}
	for _, m := range f.Messages {
		r.views = append(r.views, view{n, message(t, string(m))})
	}
}

// chunk keeps each chunk once, however many connections saw it.
func (r *recording) chunk(id string, continuation bool, seq *int, body string, n int) {
	i := slices.IndexFunc(r.streams, func(s *recordedStream) bool { return s.id == id })
	if i < 0 {
		i = len(r.streams)
		s := &recordedStream{id: id, continuation: continuation, first: n}
		if continuation {
			s.base = r.lastAssistant()
		}
		r.streams = append(r.streams, s)
	}
	s := r.streams[i]
	if seq == nil && !slices.Contains(s.bodies, body) || seq != nil && *seq == len(s.bodies) {
		s.bodies = append(s.bodies, body)
		s.last = n
	}
}

func (r *recording) lastAssistant() Message {
	for _, v := range slices.Backward(r.views) {
		if v.m.Role == Assistant {
			return v.m
		}
	}
	return Message{}
}

// after returns the message as it was first shown after the stream's last chunk
// and before another stream went on with it.
func (r *recording) after(s *recordedStream, id string) (Message, bool) {
	end := 1 << 30
	for _, other := range r.streams {
		if other != s && other.continuation && (other.base.ID == id || other.base.ID == "") && other.first > s.last {
			end = min(end, other.first)
		}
	}
	for _, v := range r.views {
		if v.line > s.last && v.line < end && v.m.ID == id {
			return v.m, true
		}
	}
	return Message{}, false
}

// fold sends the stream through guard and fold. The guard must let the
// reference's chunks pass as they are.
func (s *recordedStream) fold(t *testing.T) Message {
	t.Helper()
	base := Message{ID: "server-chosen"}
	if s.continuation {
		base = s.base
	}
	g, f, client := NewGuard(base, s.continuation), NewFold(base), newClient(base)
	for _, body := range s.bodies {
		c, err := ParseChunk([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		wantJSON(t, c.AppendJSON(nil), body)
		out, err := g.Pass(nil, c)
		var missing *SequenceError
		if errors.As(err, &missing) && s.continuation {
			f.Apply(c) // a recovery that leaves out text-start: clients fail on it, the fold must not
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if len(out) == 0 || string(out[len(out)-1].AppendJSON(nil)) != string(c.AppendJSON(nil)) {
			t.Errorf("guard made %v of %s", out, body)
		}
		for _, c := range out {
			if err := client.apply(c); err != nil {
				t.Errorf("%s: client: %v", body, err)
			}
			f.Apply(c)
		}
	}
	return f.Message()
}

// compareWithReference wants got to be what the reference stored. Its reducer
// ignores or simplifies some kinds; the one stream that has them is compared
// with exotic instead.
func compareWithReference(t *testing.T, s *recordedStream, got, want Message) {
	t.Helper()
	for _, body := range s.bodies {
		if c, _ := ParseChunk([]byte(body)); c.Type == "reset-step" {
			wantJSON(t, got.AppendJSON(nil), exotic)
			return
		}
	}
	for i := range min(len(got.Parts), len(want.Parts)) {
		g, w := &got.Parts[i], &want.Parts[i]
		if g.Pending() && (w.Settled() || w.State == ApprovalResponded) && g.ToolCallID == w.ToolCallID {
			*g = *w // somebody has answered in the meantime
		}
		if w.Preliminary && string(g.Output) == string(w.Output) {
			w.Preliminary = g.Preliminary // the reference forgets to take it back
		}
	}
	if !SameParts(got, want) {
		t.Errorf("request %s\n got %s\nwant %s", s.id, got.AppendJSON(nil), want.AppendJSON(nil))
	}
}

// exotic is the message of the recording that has every rare kind: dynamic tool,
// bad input, denial by policy, custom, reasoning-file, reset-step, steering.
const exotic = `{"id":"server-chosen-id","role":"assistant","parts":[{"type":"step-start"},
	{"type":"dynamic-tool","toolCallId":"dyn1","toolName":"mcpThing","title":"MCP thing","state":"output-available","input":{"q":1},"output":{"v":2}},
	{"type":"tool-getWeather","toolCallId":"bad1","toolName":"getWeather","state":"output-error","input":{},"rawInput":"{oops","errorText":"invalid input"},
	{"type":"tool-getWeather","toolCallId":"oe1","toolName":"getWeather","state":"output-error","input":{"city":"X"},"errorText":"upstream 500"},
	{"type":"tool-deleteFile","toolCallId":"den1","toolName":"deleteFile","state":"output-denied","input":{"path":"p"},"approval":{"id":"ap1","approved":false,"reason":"policy"}},
	{"type":"custom","kind":"vendor.thing"},
	{"type":"reasoning-file","mediaType":"image/png","url":"data:image/png;base64,AA=="},
	{"type":"text","text":"draft","state":"done"},
	{"type":"step-start"},
	{"type":"text","text":"final","state":"done"},
	{"type":"steering-message","id":"sm1","parts":[{"type":"text","text":"steer"}]}],
	"metadata":{"finishReason":"stop"}}`
