package actors

import (
	"context"
	"errors"

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

// Self is the agent that a hook is called for.
type Self struct{ *Ref }

// prepareHook runs OnChatResponse.
func (a *shell) prepareHook(e chat.Deliver) func(context.Context) chat.Command {
	s := &a.core.State
	response := a.response(s.Outbox.Entries[0].Ended)
	class, self := a.class, &Self{&Ref{rt: a.rt, addr: a.addr}}
	return func(ctx context.Context) chat.Command {
		if class.OnChatResponse == nil {
			return chat.Delivered{ID: e.ID} // the author has taken the hook away
		}
		ctx, cancel := context.WithTimeoutCause(ctx, class.hookTimeout(), errors.New("actors: OnChatResponse took longer than HookTimeout"))
		defer cancel()
		if err := class.OnChatResponse(ctx, self, response); err != nil {
			a.log.Warn("OnChatResponse failed", "request", response.RequestID, "attempt", e.Attempt, "error", err)
			return chat.DeliveryErred{ID: e.ID, Attempt: e.Attempt, Text: err.Error(), Now: nowMS()}
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
// that is handed over to a recovery is followed.
func (a *shell) watchTurn(request string, w chan<- ChatResponse) {
	if t := a.core.State.Turns.Request(request); t != nil {
		a.watch[request] = append(a.watch[request], w)
		return
	}
	ended, ok := a.core.State.Ledger.Find(request)
	if !ok {
		ended = chat.Ended{Request: request, Outcome: journalv1.TurnOutcome_TURN_OUTCOME_SKIPPED}
	}
	a.sendResponse([]chan<- ChatResponse{w}, a.response(ended))
}

// told tells those who wait in this process, and the log, of what has happened.
func (a *shell) told(events []chat.Event) {
	for _, e := range events {
		switch e := e.GetKind().(type) {
		case *journalv1.Event_TurnAccepted:
			if from := e.TurnAccepted.GetContinuesTurn(); from != 0 {
				a.follow(from, e.TurnAccepted.GetRequestId())
			}
		case *journalv1.Event_TurnEnded:
			a.turnEnded(e.TurnEnded)
		case *journalv1.Event_RecoveryDetected:
			a.log.Info("a turn was cut off", "turn", e.RecoveryDetected.GetTurn(), "crashes", e.RecoveryDetected.GetCrashes())
		case *journalv1.Event_RecoveryDecided:
			a.log.Info("recovery decided", "turn", e.RecoveryDecided.GetTurn(), "decision", e.RecoveryDecided.GetDecision().String())
		case *journalv1.Event_DeliveryDropped:
			a.log.Error("OnChatResponse given up", "turn", e.DeliveryDropped.GetId(), "why", e.DeliveryDropped.GetWhy())
		}
	}
}

func (a *shell) turnEnded(e *journalv1.TurnEnded) {
	ended, ok := a.core.State.Ledger.FindTurn(e.GetTurn())
	if !ok || e.GetOutcome() == journalv1.TurnOutcome_TURN_OUTCOME_RECOVERING {
		return
	}
	waiters := a.watch[ended.Request]
	delete(a.watch, ended.Request)
	if len(waiters) > 0 {
		a.sendResponse(waiters, a.response(ended))
	}
}

// follow moves those who wait for a turn to the one that goes on with it.
func (a *shell) follow(turn uint64, request string) {
	ended, ok := a.core.State.Ledger.FindTurn(turn)
	if waiters := a.watch[ended.Request]; ok && len(waiters) > 0 {
		delete(a.watch, ended.Request)
		a.watch[request] = append(a.watch[request], waiters...)
	}
}

// sendResponse lets r out when it is durable. The channels have room for it.
func (a *shell) sendResponse(waiters []chan<- ChatResponse, r ChatResponse) {
	a.out.put(&output{need: a.version(), send: func(err error) {
		if err != nil {
			r = ChatResponse{RequestID: r.RequestID, Err: ErrInterrupted}
		}
		for _, w := range waiters {
			w <- r
		}
	}})
}
