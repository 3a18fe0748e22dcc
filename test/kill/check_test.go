package kill

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/test/client"
)

var outcomes = map[journalv1.TurnOutcome]string{
	journalv1.TurnOutcome_TURN_OUTCOME_COMPLETED:  "completed",
	journalv1.TurnOutcome_TURN_OUTCOME_ERROR:      "error",
	journalv1.TurnOutcome_TURN_OUTCOME_ABORTED:    "aborted",
	journalv1.TurnOutcome_TURN_OUTCOME_SKIPPED:    "skipped",
	journalv1.TurnOutcome_TURN_OUTCOME_RECOVERING: "recovering",
}

// check compares what clients were told with the journal. Each line is a fault.
func check(w *witness, h *history, cancels *set) []string {
	faults := append(w.takeFaults(), h.faults...)
	h.faults = nil
	fault := func(format string, args ...any) {
		faults = append(faults, h.agent+": "+fmt.Sprintf(format, args...))
	}
	told := w.testify()
	for request, by := range told.accepted {
		if !h.accepted[request] {
			fault("request %s is not in the journal, and %s has told of it", request, by)
		}
	}
	for request, outcome := range told.ended {
		if ends := h.ends[request]; len(ends) == 0 && h.accepted[request] && !h.over[request] {
			fault("request %s was told to have ended (%s), and has not in the journal", request, outcome)
		} else if len(ends) > 0 && outcomes[ends[0].outcome] != outcome {
			fault("request %s was told to have ended as %s, and is %s in the journal", request, outcome, outcomes[ends[0].outcome])
		}
	}
	for id := range told.messages {
		if !h.put[id] && !h.lost && !h.writing[id] {
			fault("message %s was in a transcript and is not in the journal", id)
		}
	}
	if told.clears > h.clears {
		fault("%d clears were told, the journal has %d", told.clears, h.clears)
	}
	checkChunks(told, h, fault)
	checkFinals(told, h, fault)
	checkEnds(h, cancels, fault)
	checkQuestions(h, fault)
	return faults
}

// checkChunks: what was shown and kept is the same, and nothing was shown at a
// position that was not reserved before. (An answer that has failed is told again
// after a restart in other chunks, and those have other positions.)
func checkChunks(told testimony, h *history, fault func(string, ...any)) {
	byRequest := map[string]*turn{}
	for _, t := range h.turns {
		if t.request != "" {
			byRequest[t.request] = t
		}
	}
	for request, chunks := range told.chunks {
		t := byRequest[request]
		if t == nil {
			continue // rebased away; a request that was never there is told above
		}
		for at, body := range chunks {
			if kept, ok := t.chunks[at]; ok && !sameJSON(kept, body) {
				fault("request %s: position %d was shown as %s and is kept as %s", request, at, body, kept)
			}
			if at >= t.reserved && !h.failed(request) {
				fault("request %s: position %d was shown, only those below %d are reserved", request, at, t.reserved)
			}
		}
	}
}

func (h *history) failed(request string) bool {
	ends := h.ends[request]
	return len(ends) > 0 && ends[0].outcome == journalv1.TurnOutcome_TURN_OUTCOME_ERROR
}

// checkFinals: an answer is stored as it was shown at its end.
func checkFinals(told testimony, h *history, fault func(string, ...any)) {
	for _, f := range told.finals {
		for _, e := range h.ends[f.request] {
			if !e.cleared && e.text != nil && !slices.Equal(e.text, f.text) {
				fault("request %s: %s shows %q at its end, %q is stored", f.request, f.tab, f.text, e.text)
			}
		}
	}
}

// recovering are the classes that go on after a crash.
var recovering = map[string]bool{"RecoverAgent": true, "FollowAgent": true, "HelperAgent": true}

// checkEnds: turns end for a reason, with whole answers. Each end is looked at once.
func checkEnds(h *history, cancels *set, fault func(string, ...any)) {
	recovers := recovering[class(h.agent)]
	for request, ends := range h.ends {
		e := &ends[0]
		if e.checked {
			continue
		}
		e.checked = true
		wanted := e.cleared || cancels.has(request)
		switch {
		case e.outcome == journalv1.TurnOutcome_TURN_OUTCOME_ABORTED && recovers && !wanted:
			fault("request %s was aborted, and nobody had asked for it", request)
		case e.outcome == journalv1.TurnOutcome_TURN_OUTCOME_RECOVERING && !recovers:
			fault("request %s goes on though recovery is off", request)
		}
		if why := broken(e.text, e.outcome == journalv1.TurnOutcome_TURN_OUTCOME_COMPLETED && !e.cleared); why != "" {
			fault("request %s (%s): %s: %q", request, outcomes[e.outcome], why, e.text)
		}
	}
}

// broken says what is wrong with an answer of script:paced; "" if nothing is. It
// may have been cut off and begun anew: each piece is a prefix, of one request,
// and the last one is whole if the answer is.
func broken(pieces []string, whole bool) string {
	word := ""
	for n, piece := range pieces {
		total := 0
		tokens := strings.Fields(piece)
		for i, token := range tokens {
			request, rest, _ := strings.Cut(token, ".")
			var at int
			if _, err := fmt.Sscanf(rest, "%d/%d", &at, &total); err != nil || at != i || at >= total {
				return fmt.Sprintf("word %d of piece %d is %q", i, n, token)
			}
			if word == "" {
				word = request
			}
			if request != word {
				return "pieces of two answers"
			}
		}
		if whole && n == len(pieces)-1 && len(tokens) != total {
			return fmt.Sprintf("%d of %d words", len(tokens), total)
		}
	}
	return ""
}

// remembered is how many ended requests an agent can still tell of.
const remembered = 32

// misremembered compares what an agent tells of ended requests with the journal:
// a client that missed an end in a crash is told of it when it asks.
func (h *history) misremembered(told map[string]client.Frame) (faults []string) {
	for _, request := range h.order[max(0, len(h.order)-remembered):] {
		f, ours := told[request]
		if !ours {
			continue
		}
		want := outcomes[h.ends[request][0].outcome]
		got := f.Outcome
		if f.Error {
			got = "error"
		}
		if got == "" && (f.MessageIDs != nil || h.ownTurn(request)) {
			got = "completed"
		}
		if got != want {
			faults = append(faults, fmt.Sprintf("%s: asked for the end of request %s it answers %s, the journal has %s", h.agent, request, f.Raw, want))
		}
	}
	return faults
}

// ownTurn: nobody's messages are behind it.
func (h *history) ownTurn(request string) bool {
	for _, t := range h.turns {
		if t.request == request {
			return t.kind == journalv1.TurnKind_TURN_KIND_PROGRAMMATIC
		}
	}
	return h.based[request].GetByServer()
}

// unfinished are the requests that have not ended.
func (h *history) unfinished() []string {
	var open []string
	for request := range h.accepted {
		if len(h.ends[request]) == 0 && !h.over[request] {
			open = append(open, request)
		}
	}
	return open
}

func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
