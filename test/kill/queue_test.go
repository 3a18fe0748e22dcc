package kill

import (
	"encoding/json"
	"slices"
	"strings"

	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/test/client"
)

// queue is an agent's queue as its journal tells of it. It numbers by itself what
// overlaps, and does not look at the node's numbers.
type queue struct {
	open    []*queued       // not ended, oldest first
	running uint64          // turn; 0: none
	newest  uint64          // turn of the newest message that overlapped, while any is open
	asked   map[string]bool // requests whose question must be there once
	dropped map[string]bool // those whose question must not be there
	read    map[*journalv1.StoredMessage]client.Message
}

// queued is a turn that has not ended.
type queued struct {
	turn    uint64
	request string
	overlap bool   // was not alone when it came
	dropped *batch // must end in the append that has accepted it
	started bool
}

func newQueue() queue {
	return queue{asked: map[string]bool{}, dropped: map[string]bool{}, read: map[*journalv1.StoredMessage]client.Message{}}
}

func (q *queue) clear() { clear(q.asked); clear(q.read) }

// base: nothing is under way.
func (q *queue) base(cleared bool) {
	q.open, q.running, q.newest = nil, 0, 0
	if cleared {
		q.clear()
	}
}

func (q *queue) find(turn uint64) *queued {
	for _, t := range q.open {
		if t.turn == turn {
			return t
		}
	}
	return nil
}

// policies of the classes that do not run each message.
var policies = map[string]string{"LatestAgent": "latest", "DropAgent": "drop", "MergeAgent": "merge", "DebounceAgent": "debounce"}

// class of an agent, which may be a sub-agent.
func class(agent string) string {
	if i := strings.LastIndex(agent, sub); i >= 0 {
		agent = agent[i+len(sub):]
	}
	name, _, _ := strings.Cut(agent, "/")
	return name
}

func (h *history) queued(e *journalv1.TurnAccepted, b batch) {
	q := &h.queue
	t := &queued{turn: e.GetTurn(), request: e.GetRequestId()}
	if e.GetKind() == journalv1.TurnKind_TURN_KIND_SUBMIT {
		policy := policies[class(h.agent)]
		t.overlap = policy != "" && len(q.open) > 0
		if t.overlap && policy == "drop" {
			t.dropped = &b
			q.dropped[t.request] = true
		} else {
			q.asked[t.request] = true
		}
		if t.overlap {
			q.newest = t.turn
		}
	}
	q.open = append(q.open, t)
}

// begun: one at a time, and none that a newer one has superseded.
func (h *history) begun(e *journalv1.TurnStarted) {
	q := &h.queue
	t := q.find(e.GetTurn())
	if t == nil {
		h.fault("turn %d begins, and is none that waits", e.GetTurn())
		return
	}
	if q.running != 0 && q.running != t.turn {
		h.fault("request %s begins while turn %d runs", t.request, q.running)
	}
	if t.dropped != nil {
		h.fault("request %s overlaps, and runs though such are dropped", t.request)
	}
	if t.overlap && !t.started && t.turn < q.newest {
		h.fault("request %s runs though turn %d has superseded it", t.request, q.newest)
	}
	t.started, q.running = true, t.turn
}

// dequeued: what is skipped is skipped for a reason.
func (h *history) dequeued(e *journalv1.TurnEnded, b batch) {
	q := &h.queue
	t := q.find(e.GetTurn())
	if t == nil {
		h.fault("turn %d ends, and is none that waits", e.GetTurn())
		return
	}
	skipped := e.GetOutcome() == journalv1.TurnOutcome_TURN_OUTCOME_SKIPPED
	cleared := h.cleared == b && h.clears > 0
	switch {
	case t.dropped != nil:
		if !skipped || *t.dropped != b {
			h.fault("request %s overlaps, and is not dropped at once", t.request)
		}
	case skipped && !cleared && !(t.overlap && t.turn < q.newest):
		h.fault("request %s is skipped, and nothing has superseded it", t.request)
	case skipped && t.started:
		h.fault("request %s is skipped though it has run", t.request)
	}
	q.open = slices.DeleteFunc(q.open, func(o *queued) bool { return o == t })
	if q.running == t.turn {
		q.running = 0
	}
	if len(q.open) == 0 {
		q.newest = 0
	}
}

// conversation is what questions and answers there are, by their words.
type conversation struct {
	questions, answers map[string]int
}

// parse remembers what it has parsed.
func (q *queue) parse(stored *journalv1.StoredMessage) client.Message {
	m, known := q.read[stored]
	if !known {
		_ = json.Unmarshal(stored.GetJson(), &m) // then it has no texts
		q.read[stored] = m
	}
	return m
}

// talk reads it. Each question is "script:paced REQUEST" or "follow-REQUEST", and several
// merged ones are all of these; each answer begins with "REQUEST.0/".
func (h *history) talk() conversation {
	c := conversation{map[string]int{}, map[string]int{}}
	for _, stored := range h.list {
		m := h.queue.parse(stored)
		text := strings.Join(texts(m), " ")
		if m.Role != "user" {
			if word, _, some := strings.Cut(text, "."); some {
				c.answers[word]++
			}
			continue
		}
		for _, word := range strings.Fields(text) {
			if word != "script:paced" {
				c.questions[word]++
			}
		}
	}
	return c
}

// checkQuestions: each request that was accepted has its question in the
// conversation, once, and no more than one answer.
func checkQuestions(h *history, fault func(string, ...any)) {
	c := h.talk()
	for request := range h.queue.asked {
		if n := c.questions[request]; n != 1 {
			fault("request %s: its question is there %d times", request, n)
		}
	}
	for request := range h.queue.dropped {
		if n := c.questions[request]; n != 0 {
			fault("request %s was dropped, and its question is there", request)
		}
	}
	for word, n := range c.questions {
		if n > 1 && !h.queue.asked[word] {
			fault("question %s is there %d times", word, n)
		}
	}
	for word, n := range c.answers {
		if n > 1 {
			fault("request %s has %d answers", word, n)
		}
	}
}

// unanswered are the requests that are told to be completed and have no answer.
func (h *history) unanswered() (requests []string) {
	c := h.talk()
	for request := range h.queue.asked {
		if h.final(request) == "completed" && c.answers[request] != 1 {
			requests = append(requests, request)
		}
	}
	return requests
}

// final is how a request has ended, through all recoveries; "" if it has not.
func (h *history) final(request string) string {
	if e := h.based[request]; e != nil && e.GetOutcome() != journalv1.TurnOutcome_TURN_OUTCOME_RECOVERING {
		return outcomes[e.GetOutcome()]
	}
	for _, t := range h.turns {
		if t.request != request {
			continue
		}
		for t.next != 0 {
			t = h.turns[t.next]
		}
		if ends := h.ends[t.request]; len(ends) > 0 {
			return outcomes[ends[0].outcome]
		}
	}
	return ""
}
