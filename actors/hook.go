package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Status is how a turn has ended.
type Status string

const (
	StatusCompleted Status = "completed"
	StatusError     Status = "error"
	StatusAborted   Status = "aborted"
	StatusSkipped   Status = "skipped"
)

// ChatResponse is the end of a turn.
type ChatResponse struct {
	RequestID    string
	Status       Status
	Message      uimessage.Message // the answer; without parts if there is none
	Continuation bool
	Err          error // StatusError: the text that visitors see
}

// Text joins the text parts of the answer.
func (r ChatResponse) Text() string {
	var text string
	for _, p := range r.Message.Parts {
		if p.Type == "text" {
			text += p.Text
		}
	}
	return text
}

// Self is the agent that a hook or a handler is called for.
//
// In OnChatResponse the requests of Chat, SaveMessages, SaveMessagesFunc and
// ContinueLastTurn get ids made of the hook's own and the number of the call: if the
// hook is run again after a crash, its n-th call gets the answer to its n-th call of
// before, and asks nothing twice.
//
// In a handler (Turn.Self) what would wait for a turn of the agent is refused with
// ErrInsideTurn, whatever its context: see Ref.Chat.
type Self struct{ *Ref }

// delivery is the run of a hook that a Ref's calls belong to.
type delivery struct {
	id    uint64
	calls atomic.Uint64
}

// inHook is the fingerprint of requests that hooks make: what their n-th call asks is
// the same request, whatever it says.
var inHook = []byte("hook")

// hookRequest begins the ids of requests that hooks make. A client cannot take one.
const hookRequest = "hook-of-turn-"

// newRequest names a request of this Ref's.
func (r *Ref) newRequest() (request string, fingerprint []byte) {
	if d := r.delivery; d != nil {
		return fmt.Sprintf("%s%d-%d", hookRequest, d.id, d.calls.Add(1)), inHook
	}
	return newIDs().Request, nil
}

// prepareHook runs OnChatResponse.
func (a *shell) prepareHook(e chat.Deliver) func(context.Context) chat.Command {
	response := a.response(a.core.State.Outbox.Entries[0].Ended)
	self := &Self{&Ref{rt: a.rt, addr: a.addr, delivery: &delivery{id: e.ID}}}
	class, log := a.class, a.log.With("request", response.RequestID)
	raw := a.core.State.Transcript.Raw(response.Message.ID)
	return func(ctx context.Context) chat.Command {
		if class.OnChatResponse == nil {
			return chat.Delivered{ID: e.ID} // the author has taken the hook away
		}
		if raw {
			response.Message, _ = class.sanitize(response.Message) // Clean tells of what goes wrong
		}
		ctx, cancel := context.WithTimeoutCause(ctx, class.hookTimeout(), errHookTimeout)
		defer cancel()
		err := a.rt.cutOff(ctx, func() error { return class.OnChatResponse(ctx, self, response) })
		if err != nil {
			log.Warn("OnChatResponse failed", "attempt", e.Attempt, "error", err)
			return chat.DeliveryErred{ID: e.ID, Attempt: e.Attempt, Text: valid(err.Error()), Now: nowMS()}
		}
		return chat.Delivered{ID: e.ID}
	}
}

var statuses = map[journalv1.TurnOutcome]Status{
	journalv1.TurnOutcome_TURN_OUTCOME_COMPLETED: StatusCompleted,
	journalv1.TurnOutcome_TURN_OUTCOME_ERROR:     StatusError,
	journalv1.TurnOutcome_TURN_OUTCOME_ABORTED:   StatusAborted,
	journalv1.TurnOutcome_TURN_OUTCOME_SKIPPED:   StatusSkipped,
}

// response is a turn's end as authors see it.
func (a *shell) response(e chat.Ended) ChatResponse {
	r := ChatResponse{RequestID: e.Request, Status: statuses[e.Outcome], Continuation: e.Continuation}
	if m, ok := a.core.State.Transcript.Message(e.MessageID); ok {
		r.Message = m
	}
	if r.Status == StatusError {
		r.Err = errors.New(e.Text)
	}
	return r
}

// watchTurn has the end of a request's turn sent to w when it is durable. A turn
// that is handed over to a recovery is followed. A request that is not known was
// not run.
func (a *shell) watchTurn(request string, w chan<- ChatResponse) (known bool) {
	t, ended, known := a.core.State.Answer(request)
	switch {
	case t != nil:
		a.watch[t.Request] = append(a.watch[t.Request], w)
	case known:
		a.sendResponse([]chan<- ChatResponse{w}, a.response(ended))
	default:
		a.sendResponse([]chan<- ChatResponse{w}, ChatResponse{Status: StatusSkipped})
	}
	return known
}

// unwatch forgets somebody who has given up waiting.
func (a *shell) unwatch(w chan<- ChatResponse) {
	for request, waiters := range a.watch {
		a.watch[request] = slices.DeleteFunc(waiters, func(other chan<- ChatResponse) bool { return other == w })
		if len(a.watch[request]) == 0 {
			delete(a.watch, request)
		}
	}
}

// told tells those who wait in this process, and the log, of what has happened.
func (a *shell) told(events []chat.Event) {
	over := false
	for _, e := range events {
		switch e := e.GetKind().(type) {
		case *journalv1.Event_TurnAccepted:
			if from := e.TurnAccepted.GetContinuesTurn(); from != 0 {
				a.follow(from, e.TurnAccepted.GetRequestId())
			}
		case *journalv1.Event_TurnStarted:
			delete(a.makers, e.TurnStarted.GetTurn())
		case *journalv1.Event_TurnEnded:
			delete(a.makers, e.TurnEnded.GetTurn())
			if a.loop != nil && a.loop.turn == e.TurnEnded.GetTurn() {
				a.loop, a.looped = nil, nil
			}
			over = true
		case *journalv1.Event_LoopEnded:
			a.loopEnded(e.LoopEnded)
		case *journalv1.Event_SubAgentRemoved:
			a.removed()
		case *journalv1.Event_RecoveryDetected:
			a.log.Info("a turn was cut off", "turn", e.RecoveryDetected.GetTurn(), "crashes", e.RecoveryDetected.GetCrashes())
		case *journalv1.Event_RecoveryDecided:
			a.log.Info("recovery decided", "turn", e.RecoveryDecided.GetTurn(), "decision", e.RecoveryDecided.GetDecision().String())
		case *journalv1.Event_DeliveryDropped:
			a.log.Error("OnChatResponse given up", "turn", e.DeliveryDropped.GetId(), "why", e.DeliveryDropped.GetWhy())
		}
	}
	if over {
		a.turnsEnded()
	}
}

// turnsEnded answers those who wait for turns that are no more. It asks the queue
// and not the events: a clear can end more turns than the ledger remembers.
func (a *shell) turnsEnded() {
	a.forgetCallers()
	for request, waiters := range a.watch {
		if a.core.State.Turns.Request(request) != nil {
			continue
		}
		delete(a.watch, request)
		a.sendResponse(waiters, a.response(a.endOf(request)))
	}
}

// endOf tells how a request ended; skipped, if that is long ago.
func (a *shell) endOf(request string) chat.Ended {
	if ended, ok := a.core.State.Ledger.Find(request); ok {
		return ended
	}
	return chat.Ended{Request: request, Outcome: journalv1.TurnOutcome_TURN_OUTCOME_SKIPPED}
}

// follow moves those who wait for a turn to the one that goes on with it.
func (a *shell) follow(turn uint64, request string) {
	ended, ok := a.core.State.Ledger.FindTurn(turn)
	if c := a.callers[ended.Request]; ok && c != nil {
		delete(a.callers, ended.Request)
		a.callers[request] = c
	}
	if waiters := a.watch[ended.Request]; ok && len(waiters) > 0 {
		delete(a.watch, ended.Request)
		a.watch[request] = append(a.watch[request], waiters...)
	}
}

// sendResponse lets r out when it is durable.
func (a *shell) sendResponse(waiters []chan<- ChatResponse, r ChatResponse) {
	a.out.put(output{need: a.version(), send: func(err error) {
		if err != nil {
			r = ChatResponse{RequestID: r.RequestID, Err: ErrInterrupted}
		}
		notify(waiters, r)
	}})
}

// notify never blocks: each channel has room for the one response that counts.
func notify(waiters []chan<- ChatResponse, r ChatResponse) {
	for _, w := range waiters {
		select {
		case w <- r:
		default:
		}
	}
}
