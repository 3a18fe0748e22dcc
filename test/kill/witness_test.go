package kill

import (
	"fmt"
	"maps"
	"sync"

	"github.com/holdfast-dev/holdfast/test/client"
)

// witness holds all that the clients of one agent were told, over all restarts.
type witness struct {
	agent string // class/name

	mu       sync.Mutex
	accepted map[string]string            // request → what has told of it
	ended    map[string]string            // request → outcome
	chunks   map[string]map[uint64]string // request → position → body
	messages map[string]bool              // that were in a transcript
	finals   []final
	clears   int // the most that one tab has been told of
	faults   []string
}

// final is an answer as a tab shows it at the end of its request.
type final struct {
	tab, request, message string
	text                  []string // of its text parts
}

func newWitness(agent string) *witness {
	return &witness{
		agent: agent, accepted: map[string]string{}, ended: map[string]string{},
		chunks: map[string]map[uint64]string{}, messages: map[string]bool{},
	}
}

// fault notes what must not be.
func (w *witness) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, w.agent+": "+fmt.Sprintf(format, args...))
}

func (w *witness) takeFaults() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	faults := w.faults
	w.faults = nil
	return faults
}

// told notes that request is known to be accepted.
func (w *witness) told(request, by string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.accepted[request]; !known {
		w.accepted[request] = by
	}
}

// saw notes a chunk. Another chunk at the same position is a fault.
func (w *witness) saw(request string, seq uint64, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chunks[request] == nil {
		w.chunks[request] = map[uint64]string{}
	}
	old, known := w.chunks[request][seq]
	if known && old != body {
		w.faults = append(w.faults, fmt.Sprintf("%s: request %s: position %d was %s and is now %s", w.agent, request, seq, old, body))
	}
	w.chunks[request][seq] = body
}

// end notes how a request has ended.
func (w *witness) end(f *client.Frame) {
	outcome := f.Outcome
	switch {
	case f.Error:
		outcome = "error"
	case outcome == "":
		outcome = "completed"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, known := w.ended[f.ID]; known && old != outcome {
		w.faults = append(w.faults, fmt.Sprintf("%s: request %s ended as %s and as %s", w.agent, f.ID, old, outcome))
	}
	w.ended[f.ID] = outcome
}

func (w *witness) hasEnded(request string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ended := w.ended[request]
	return ended
}

func (w *witness) final(f final) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finals = append(w.finals, f)
}

// cleared notes that one tab has been told of n clears in all.
func (w *witness) cleared(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clears = max(w.clears, n)
}

// listed notes a transcript: what is in it is stored.
func (w *witness) listed(messages []client.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range messages {
		w.messages[m.ID] = true
	}
}

// testimony is a copy of what was told, for the checker.
type testimony struct {
	accepted, ended map[string]string
	messages        map[string]bool
	chunks          map[string]map[uint64]string
	finals          []final
	clears          int
}

// testify returns it. What it hands out of messages, finals, and chunks of
// requests that are over is not told again.
func (w *witness) testify() testimony {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := testimony{
		accepted: maps.Clone(w.accepted), ended: maps.Clone(w.ended), messages: w.messages,
		chunks: make(map[string]map[uint64]string, len(w.chunks)), finals: w.finals, clears: w.clears,
	}
	for request, chunks := range w.chunks {
		t.chunks[request] = maps.Clone(chunks)
		if _, over := w.ended[request]; over {
			delete(w.chunks, request)
		}
	}
	w.finals, w.messages = nil, map[string]bool{}
	return t
}
