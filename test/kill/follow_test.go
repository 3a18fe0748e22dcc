package kill

import (
	"strings"

	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// followsUp begins the questions that FollowAgent asks itself, and their answers.
const followsUp = "follow-"

// follows is what OnChatResponse of FollowAgent has been asked to do and has done:
// one more question for each whole answer to a client's.
type follows struct {
	due     map[uint64]string // delivery → whose answer it tells of
	whole   map[string]bool   // requests with such an answer
	asked   map[string]int    // their follow-ups
	dropped int               // deliveries that were cut off each time
}

func newFollows() follows {
	return follows{due: map[uint64]string{}, whole: map[string]bool{}, asked: map[string]int{}}
}

// clear: nobody is told any more of what was wiped.
func (f *follows) clear() { clear(f.due) }

// followed: a turn of the agent's own is due, and only once.
func (h *history) followed(e *journalv1.TurnAccepted) {
	if e.GetKind() != journalv1.TurnKind_TURN_KIND_PROGRAMMATIC {
		return
	}
	for _, id := range e.GetOriginIds() {
		for _, m := range h.list {
			if m.GetId() != id {
				continue
			}
			request := strings.TrimPrefix(strings.Join(storedTexts(m), ""), followsUp)
			h.follows.asked[request]++
			if n := h.follows.asked[request]; n > 1 {
				h.fault("the answer of request %s is followed up %d times", request, n)
			}
			if !h.follows.whole[request] && !h.lost {
				h.fault("request %s has no whole answer, and is followed up", request)
			}
		}
	}
}

// delivery is an event of the outbox.
func (h *history) delivery(e any) {
	switch e := e.(type) {
	case *journalv1.Event_DeliveryQueued:
		ends := h.ends[h.turn(e.DeliveryQueued.GetTurn()).request]
		if len(ends) == 0 || ends[0].outcome != journalv1.TurnOutcome_TURN_OUTCOME_COMPLETED {
			return
		}
		h.follows.answered(h.follows.due, e.DeliveryQueued.GetId(), ends[0].text)
	case *journalv1.Event_DeliveryDone:
		request, due := h.follows.due[e.DeliveryDone.GetId()]
		if due && h.follows.asked[request] != 1 {
			h.fault("request %s: its answer was followed up %d times when that was done", request, h.follows.asked[request])
		}
		delete(h.follows.due, e.DeliveryDone.GetId())
	case *journalv1.Event_DeliveryDropped:
		delete(h.follows.due, e.DeliveryDropped.GetId())
		h.follows.dropped++
	}
}

// followsBase takes what is due, and what was done unseen, from a base.
func (h *history) followsBase(deliveries []*journalv1.DeliveryEntry) {
	for word := range h.talk().questions {
		if request, ok := strings.CutPrefix(word, followsUp); ok {
			h.follows.asked[request] = 1
		}
	}
	due := map[uint64]string{}
	for _, d := range deliveries {
		for _, m := range h.list {
			if m.GetId() == d.GetEnded().GetMessageId() && d.GetEnded().GetOutcome() == journalv1.TurnOutcome_TURN_OUTCOME_COMPLETED {
				h.follows.answered(due, d.GetId(), storedTexts(m))
			}
		}
	}
	h.follows.due = due
}

// answered notes that a delivery tells of that answer.
func (f *follows) answered(due map[uint64]string, delivery uint64, texts []string) {
	request, _, _ := strings.Cut(strings.Join(texts, ""), ".")
	if !strings.HasPrefix(request, followsUp) {
		due[delivery] = request
		f.whole[request] = true
	}
}

// missing are the requests whose answers were to be followed up and were not.
func (f *follows) missing() (requests []string) {
	for _, request := range f.due {
		if f.asked[request] != 1 {
			requests = append(requests, request)
		}
	}
	return requests
}
