package kill

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/test/client"
)

// line is what one socket has been told of streams: it checks their order and
// folds them into messages. It belongs to its tab's goroutine.
type line struct {
	tab     *tab
	acked   map[string]bool
	streams map[string]*stream
	order   []string        // asked on this socket, oldest first
	waiting map[string]bool // of these, not ended
	due     map[string]bool // of these, asked before the last probe
	over    map[string]bool // ended on this socket
}

// stream is one request as it comes over one socket.
type stream struct {
	next      uint64 // position of the next chunk
	message   string // id; "" for a continuation, which the final transcript tells
	open      string // id of the text part that is being written
	text      []string
	replaying bool // begun by a replay that is not complete
	dropped   bool // cleared away, or shown as a whole: no longer being written
}

func newLine(t *tab) *line {
	return &line{tab: t, acked: map[string]bool{}, streams: map[string]*stream{}, waiting: map[string]bool{}, over: map[string]bool{}}
}

func (l *line) fault(format string, args ...any) {
	l.tab.witness.fault(l.tab.name+": "+format, args...)
}

// offered: the hook ACKs each request once per probe, however often it is offered.
func (l *line) offered(request string) []any {
	if l.acked[request] {
		return nil
	}
	if !l.over[request] {
		delete(l.streams, request) // the replay begins anew
	}
	l.acked[request] = true
	return []any{client.Ack(request)}
}

// probing: an offer that comes from now on is ACKed though it was before, and an
// answer knows of all that was asked before.
func (l *line) probing() {
	clear(l.acked)
	l.due = maps.Clone(l.waiting)
}

func (l *line) asked(request string) {
	l.order = append(l.order, request)
	l.waiting[request] = true
}

// inOrder: what was asked here before one that has run has ended before it, and this
// socket was told, also if nobody else was.
func (l *line) inOrder(request string) {
	at := slices.Index(l.order, request)
	for _, earlier := range l.order[:max(at, 0)] {
		if l.waiting[earlier] {
			l.fault("request %s has run, and the end of %s, which was asked here before, was not told", request, earlier)
		}
	}
	l.order = l.order[at+1:]
}

// chunk checks a content frame and folds it. A socket gets a stream from its
// first chunk on, live or replayed, and then each chunk once.
func (l *line) chunk(f *client.Frame) {
	c, ok := f.Content()
	if !ok {
		l.fault("request %s: the chunk at %d is no JSON: %s", f.ID, *f.Seq, f.Body)
		return
	}
	s := l.streams[f.ID]
	switch {
	case l.over[f.ID] && f.Replay:
		return // of a failure, told again to who asks
	case l.over[f.ID]:
		l.fault("request %s: chunk %d comes after the end", f.ID, *f.Seq)
	case s == nil && c.Type != "start":
		l.fault("request %s: begins with a %s at %d", f.ID, c.Type, *f.Seq)
	case s == nil && l.acked[f.ID] && !f.Replay:
		l.fault("request %s: chunk %d is live before the replay", f.ID, *f.Seq)
	case s != nil && *f.Seq != s.next:
		l.fault("request %s: chunk %d comes, %d was next", f.ID, *f.Seq, s.next)
	}
	if s == nil {
		s = &stream{message: c.MessageID, replaying: f.Replay}
		l.streams[f.ID] = s
		l.oneAtATime(f.ID)
	}
	s.next = *f.Seq + 1
	l.fold(s, f, c)
}

func (l *line) replayComplete(request string) {
	if s := l.streams[request]; s != nil {
		s.replaying = false
	}
}

func (l *line) fold(s *stream, f *client.Frame, c client.Chunk) {
	switch c.Type {
	case "text-start":
		s.open = c.ID
		s.text = append(s.text, "")
	case "text-delta":
		if s.open != c.ID {
			l.fault("request %s: text for part %q, %q is open", f.ID, c.ID, s.open)
			return
		}
		s.text[len(s.text)-1] += c.Delta
	case "text-end":
		s.open = ""
	}
}

// oneAtATime: a turn begins when the one before it has ended, and everybody who
// has seen it run was told.
func (l *line) oneAtATime(request string) {
	for other := range l.streams {
		if other != request && !l.over[other] {
			l.fault("request %s begins, and the end of %s was not told", request, other)
			l.over[other] = true
		}
	}
}

// idle: nothing runs and nothing waits.
func (l *line) idle(f *client.Frame) {
	if f.Reason != "idle" {
		return
	}
	for request := range l.streams {
		if !l.over[request] {
			l.fault("%q is answered idle, and the end of %s was not told", f.ProbeID, request)
		}
	}
	for request := range l.due {
		l.fault("%q is answered idle, and the end of %s, which was asked for here, was not told", f.ProbeID, request)
	}
}

// ended: the answer stands as this tab shows it.
func (l *line) ended(f *client.Frame) {
	delete(l.waiting, f.ID)
	delete(l.due, f.ID)
	if f.Outcome == "" {
		l.inOrder(f.ID)
	}
	if f.Replay {
		return // told in answer to an ACK, perhaps again
	}
	if l.over[f.ID] && !f.Error && f.Outcome != "error" {
		l.fault("the end of request %s is told twice", f.ID)
	}
	l.over[f.ID] = true
	s := l.streams[f.ID]
	if s != nil && s.replaying && f.Continuation {
		// What is over is stored, and was shown on connect; this would add it again.
		l.fault("request %s: a continuation that is over is replayed", f.ID)
	}
	if s == nil || s.message == "" || s.dropped {
		return
	}
	s.dropped = true
	if len(s.text) == 0 {
		return
	}
	l.tab.witness.final(final{tab: l.tab.name, request: f.ID, message: s.message, text: s.text})
	l.tab.show(s.asMessage())
}

func (s *stream) asMessage() client.Message {
	m := client.Message{ID: s.message, Role: "assistant"}
	for _, text := range s.text {
		m.Parts = append(m.Parts, client.Part{Type: "text", Text: text})
	}
	return m
}

// unfinished is the answer that is being written.
func (l *line) unfinished() (client.Message, bool) {
	for request, s := range l.streams {
		if !l.over[request] && s.message != "" && !s.dropped && len(s.text) > 0 {
			return s.asMessage(), true
		}
	}
	return client.Message{}, false
}

// forget: the conversation was cleared.
func (l *line) forget() {
	for _, s := range l.streams {
		s.dropped = true
	}
}

// show adds or replaces a message.
func (t *tab) show(m client.Message) {
	for i := range t.shown {
		if t.shown[i].ID == m.ID {
			t.shown = slices.Clone(t.shown)
			t.shown[i] = m
			return
		}
	}
	t.shown = append(t.shown[:len(t.shown):len(t.shown)], m)
}

// texts are the text parts of a message, without empty ones.
func texts(m client.Message) []string {
	var all []string
	for _, p := range m.Parts {
		if p.Type == "text" && strings.TrimSpace(p.Text) != "" {
			all = append(all, p.Text)
		}
	}
	return all
}
