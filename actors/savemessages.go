package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// SaveMessages adds messages to the conversation, asks for a turn and waits for its
// end. Each message replaces the one of its id, or is appended; one without an id
// gets one. They are durable before anything is asked of a model, and hidden from
// the turns before theirs. The turn runs behind those that are queued, with the body
// and the client tools of the last client's request as of then. Every open socket
// sees all of it. An empty list is no error: the turn answers what is there.
//
// How the turn ended is the response's Status, not an error: completed, error (with
// Err), aborted, or skipped if a clear or a reset came before its slot. The answer is
// durable on return.
//
// ctx cancels the turn, unlike Chat's: SaveMessages then returns the aborted response,
// or ctx's error if the end cannot be stored within some seconds. A ctx that is over
// already has the messages stored and no turn made; the response is aborted, without a
// RequestID. Errors: *Error if nothing was accepted, ErrInsideTurn as for Chat, and
// ErrInterrupted if the agent, or the one whose turn or hook asks, was lost or its node
// stopped meanwhile: the turn goes on.
func (r *Ref) SaveMessages(ctx context.Context, messages []uimessage.Message) (ChatResponse, error) {
	over, err := r.wait(ctx)
	if err != nil {
		return ChatResponse{}, err
	}
	defer over()
	request, fingerprint := r.newRequest()
	messages, err = checked(messages, request)
	if err != nil {
		return ChatResponse{}, err
	}
	if ctx.Err() != nil {
		return r.store(ctx, messages)
	}
	return r.run(ctx, ask{request: request, cmd: chat.Submit{
		Request: request, Fingerprint: fingerprint, Messages: messages, Programmatic: true, Readonly: r.readonly(ctx), Ids: newIDs(),
	}})
}

// SaveMessagesFunc is SaveMessages with messages that are made when the turn's slot
// comes, from the conversation as of then. produce runs on a goroutine of its own; its
// context ends when the turn is cancelled, cleared or reset, and then what it returns
// is dropped. It must not wait for a turn of the same agent. It may return the whole
// list or what is new. If it fails or panics nothing is stored, no turn runs, and its
// error is returned with a skipped response.
//
// produce lives in this process: if that ends before the slot comes, the turn ends as
// skipped. A ctx that is over already has produce not run at all.
func (r *Ref) SaveMessagesFunc(ctx context.Context, produce func(ctx context.Context, current []uimessage.Message) ([]uimessage.Message, error)) (ChatResponse, error) {
	over, err := r.wait(ctx)
	if err != nil {
		return ChatResponse{}, err
	}
	defer over()
	if ctx.Err() != nil {
		return ChatResponse{Status: StatusAborted}, nil
	}
	request, fingerprint := r.newRequest()
	failed := newFailure()
	response, err := r.run(ctx, ask{
		request: request,
		cmd: chat.Submit{
			Request: request, Fingerprint: fingerprint, Programmatic: true, Deferred: true, Readonly: r.readonly(ctx), Ids: newIDs(),
		},
		maker: func(ctx context.Context, current []uimessage.Message) (messages []uimessage.Message, err error) {
			if p := guard(func() { messages, err = produce(ctx, current) }); p != nil {
				err = p
			}
			if err == nil {
				messages, err = checked(messages, request)
			}
			failed.set(err)
			return messages, err
		},
	})
	if err == nil && response.Status == StatusSkipped {
		err = failed.get()
	}
	return response, err
}

// failure hands an error from one goroutine to another.
type failure chan error

func newFailure() failure { return make(failure, 1) }

func (f failure) set(err error) {
	select {
	case f <- err:
	default:
	}
}

func (f failure) get() error {
	select {
	case err := <-f:
		return err
	default:
		return nil
	}
}

// ContinueLastTurn asks for a turn that extends the last answer, as it is when the
// turn's slot comes, also if a question follows it: the message keeps its id, and
// what is said is appended. body is the Body of this turn alone; nil: that of the last
// client's request. If there is no answer the response is skipped, without a RequestID.
// Else it is as SaveMessages is, in all ways.
func (r *Ref) ContinueLastTurn(ctx context.Context, body json.RawMessage) (ChatResponse, error) {
	over, err := r.wait(ctx)
	if err != nil {
		return ChatResponse{}, err
	}
	defer over()
	switch {
	case len(body) > 0 && !isObject(body):
		return ChatResponse{}, &Error{Code: BadRequest, Message: "body is no JSON object"}
	case ctx.Err() != nil:
		return ChatResponse{Status: StatusAborted}, nil
	}
	request, fingerprint := r.newRequest()
	return r.run(ctx, ask{request: request, cmd: chat.Continue{Request: request, Fingerprint: fingerprint, Body: body, Readonly: r.readonly(ctx)}})
}

func isObject(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && fields != nil
}

// abortPatience is how long a caller whose context is over waits for the end of the
// turn that it has cancelled.
const abortPatience = 10 * time.Second

// run asks for a turn and waits for its end. The end of ctx cancels the turn; that of a
// caller with options is cancelled by the agent, when no callback runs any more.
func (r *Ref) run(ctx context.Context, m ask) (ChatResponse, error) {
	accepted, end := make(chan error, 2), make(chan ChatResponse, 1)
	m, err := r.checked(m)
	if err != nil {
		return ChatResponse{}, err
	}
	m.watch, m.reply = end, func(err error) {
		select {
		case accepted <- err:
		default:
		}
	}
	r.rt.send(r.addr, m)
	over, settled, late := ctx.Done(), (<-chan struct{})(nil), (<-chan time.Time)(nil)
	for {
		select {
		case err := <-accepted:
			if err != nil {
				return ChatResponse{}, err
			}
		case <-m.caller.listen():
			m.caller.tell()
		case response := <-end:
			m.caller.tell()
			return response.orInterrupted()
		case <-over:
			if interrupted(ctx) {
				r.rt.whisper(r.addr, forget(func(a *shell) { a.unwatch(end) }))
				return ChatResponse{}, ErrInterrupted // nobody has changed their mind
			}
			over, settled = nil, m.caller.settled()
			if m.caller == nil {
				r.rt.send(r.addr, ask{cmd: chat.Cancel{Request: m.request}, reply: func(error) {}})
			}
		case <-settled:
			settled = nil
			timer := time.NewTimer(abortPatience)
			defer timer.Stop()
			late = timer.C
		case <-late:
			return ChatResponse{}, context.Cause(ctx)
		}
	}
}

// store is what SaveMessages makes of a context that is over.
func (r *Ref) store(ctx context.Context, messages []uimessage.Message) (ChatResponse, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
	defer cancel()
	if err := r.PersistMessages(ctx, messages); err != nil {
		return ChatResponse{}, err
	}
	return ChatResponse{Status: StatusAborted}, nil
}

// orInterrupted makes an error of an end that nobody has seen.
func (r ChatResponse) orInterrupted() (ChatResponse, error) {
	if errors.Is(r.Err, ErrInterrupted) {
		return ChatResponse{}, ErrInterrupted
	}
	return r, nil
}

// checked are the messages as they can be stored. Those without an id get one that
// is made of the request's, so that a repeat of the request has the same.
func checked(messages []uimessage.Message, request string) ([]uimessage.Message, error) {
	if err := fits(messages); err != nil {
		return nil, err
	}
	list := make([][]byte, len(messages))
	for i, m := range messages {
		if m.ID == "" {
			m.ID = fmt.Sprintf("%s_%s_%d", m.Role, request, i)
		}
		list[i] = m.AppendJSON(nil)
	}
	out, err := uimessage.ParseMessages(uimessage.AppendList(nil, list))
	if err != nil {
		return nil, &Error{Code: BadRequest, Message: err.Error()}
	}
	return out, nil
}

// makeMessages makes the messages of a turn from the conversation.
type makeMessages func(ctx context.Context, current []uimessage.Message) ([]uimessage.Message, error)

// keepMaker remembers what makes the messages of a request's turn.
func (a *shell) keepMaker(request string, f makeMessages) {
	if t := a.core.State.Turns.Request(request); t != nil && t.Deferred && a.makers[t.ID] == nil {
		a.makers[t.ID] = f
	}
}

// prepareMessages runs the function that makes a turn's messages.
func (a *shell) prepareMessages(e chat.Prepare) func(context.Context) chat.Command {
	f, stored, me, log, class := a.makers[e.Turn], slices.Clone(a.core.State.Transcript.Messages), a.addr, a.log, a.class
	return func(ctx context.Context) chat.Command {
		messages, err := f(inside(ctx, me), parseAll(stored))
		if err == nil {
			messages, err = class.sanitizeAll(messages)
		}
		if err != nil {
			log.Warn("messages of a turn could not be made", "turn", e.Turn, "error", err)
		}
		return chat.Prepared{Turn: e.Turn, Messages: messages, Failed: err != nil}
	}
}
