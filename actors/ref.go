package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Ref is a handle on one agent, in memory or not: the first call that needs the
// agent spawns its actor. It costs nothing to hold and never goes stale. All
// methods may be called concurrently.
type Ref struct {
	rt   *Runtime
	addr feed.Address

	inTurn   bool      // a handler has it
	delivery *delivery // a hook of the outbox has it
}

// Address returns the agent's class and name.
func (r *Ref) Address() feed.Address { return r.addr }

// Chat submits text as a user message and waits for the answer. The message is
// durable before anything is asked of a model; the answer is durable when Chat
// returns. Every open socket of the agent sees the turn live.
//
// A turn that ended badly is a response with its Status and Err, not an error.
// If ctx ends first, Chat returns its error and the turn goes on: AbortRequest
// ends it. (SaveMessages ends its turn with its context.) Errors: *Error if the
// message was not accepted (nothing is stored), ErrInterrupted if the agent was lost,
// or its node stopped, while Chat waited (the journal knows more).
//
// ChatOptions bring tools, and somebody who listens, along for this turn; one value at
// most. With them the end of ctx cancels the turn.
//
// A handler or model must not Chat with its own agent, or with one whose turn
// waits for its own: it would wait for ever. With a context that comes from the one
// it was given, this is refused with ErrInsideTurn; with any other it is a deadlock
// until that context ends.
func (r *Ref) Chat(ctx context.Context, text string, options ...ChatOptions) (ChatResponse, error) {
	c, err := newCaller(ctx, options)
	if err != nil {
		return ChatResponse{}, err
	}
	over, err := r.wait(ctx)
	if err != nil {
		return ChatResponse{}, err
	}
	defer over()
	request, fingerprint := r.newRequest()
	m := uimessage.Message{ID: "user_" + request, Role: uimessage.User, Parts: []uimessage.Part{{Type: uimessage.TextPart, Text: valid(text)}}}
	s := chat.Submit{Request: request, Fingerprint: fingerprint, Messages: []uimessage.Message{m}, Programmatic: true, Readonly: r.readonly(ctx), Ids: newIDs()}
	if err := fits(s.Messages); err != nil {
		return ChatResponse{}, err
	}
	if c != nil {
		if ctx.Err() != nil {
			return ChatResponse{}, context.Cause(ctx)
		}
		return r.run(ctx, ask{cmd: s, request: request, caller: c})
	}
	end := make(chan ChatResponse, 1)
	if err := r.ask(ctx, ask{cmd: s, request: request, watch: end}); err != nil {
		return ChatResponse{}, err
	}
	return r.response(ctx, end)
}

// response waits for the end of a turn that is watched.
func (r *Ref) response(ctx context.Context, end chan ChatResponse) (ChatResponse, error) {
	select {
	case response := <-end:
		return response.orInterrupted()
	case <-ctx.Done():
		r.rt.whisper(r.addr, forget(func(a *shell) { a.unwatch(end) }))
		return ChatResponse{}, context.Cause(ctx)
	}
}

// Messages returns the stored conversation as people see it, with what clients have
// put into it in the assistant's name: Turn.Messages is without that. What a running
// turn has written so far is not part of it.
func (r *Ref) Messages(ctx context.Context) ([]uimessage.Message, error) {
	raw, err := r.Transcript(ctx)
	if err != nil {
		return nil, err
	}
	var messages []uimessage.Message
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, fmt.Errorf("actors: stored conversation: %w", err)
	}
	return messages, nil
}

// Transcript is Messages as a JSON array of UI messages.
func (r *Ref) Transcript(ctx context.Context) ([]byte, error) {
	if err := r.chats(); err != nil {
		return nil, err
	}
	var out []byte
	err := r.query(ctx, func(s *chat.State, _ *outflow, _ uint64) { out = s.Transcript.AppendJSON(nil) })
	return out, err
}

// View puts conversation and state, as of this moment, into the agent's feed.
func (r *Ref) View(ctx context.Context, number uint64) error {
	d, err := r.desk()
	if err != nil {
		return err
	}
	return r.query(ctx, func(s *chat.State, out *outflow, version uint64) {
		view := feed.View{Ask: number, State: d.state(s)}
		if d.class.Chats() {
			view.Messages, view.Wiped = s.Transcript.AppendJSON(nil), s.Wiped()
		}
		out.put(output{need: version, item: view})
	})
}

// Submit asks for a turn as a client does and returns when it is durably
// accepted. The same request id again changes nothing; with another fingerprint it
// is refused with an Error of code Conflict.
func (r *Ref) Submit(ctx context.Context, s feed.Submit) error {
	if s.Request == "" || len(s.Request) > maxRequestID {
		return &Error{Code: BadRequest, Message: fmt.Sprintf("request id has %d bytes; 1 to %d are allowed", len(s.Request), maxRequestID)}
	}
	if strings.HasPrefix(s.Request, hookRequest) {
		return &Error{Code: BadRequest, Message: fmt.Sprintf("request id %.100q must not begin with %q", s.Request, hookRequest)}
	}
	if err := fits(s.Messages); err != nil {
		return err
	}
	return r.ask(ctx, ask{asker: s.By, cmd: chat.Submit{
		Request: s.Request, Fingerprint: s.Fingerprint, Messages: s.Messages, Regenerate: s.Regenerate, Append: s.Append, Readonly: s.Readonly, Now: nowMS(),
		Body: s.Body, ClientTools: s.ClientTools, Ids: newIDs(),
	}})
}

// maxRequestID bounds a request id, in bytes.
const maxRequestID = 256

// AbortRequest ends the turn of that request, running or queued; what it has
// said is kept. An unknown or ended request is no error. Durable on return.
func (r *Ref) AbortRequest(ctx context.Context, request string) error {
	return r.ask(ctx, ask{cmd: chat.Cancel{Request: request}})
}

// ClearMessages wipes the conversation and ends all its turns. Durable on return.
func (r *Ref) ClearMessages(ctx context.Context) error { return r.Clear(ctx, "", "") }

// Clear is ClearMessages for a socket: by is not told, a repeat with the same
// non-empty key does nothing.
func (r *Ref) Clear(ctx context.Context, by, key string) error {
	return r.ask(ctx, ask{cmd: chat.Clear{Key: key}, by: by})
}

// maxMessages bounds the messages of one command, in bytes: what is new in them
// goes into one record of the journal.
const maxMessages = 12 << 20

func fits(messages []uimessage.Message) error {
	size := 0
	var buf []byte
	for _, m := range messages {
		buf = m.AppendJSON(buf[:0])
		size += len(buf)
	}
	if size > maxMessages {
		return &Error{Code: BadRequest, Message: fmt.Sprintf("messages have %d bytes; the limit is %d", size, maxMessages)}
	}
	return nil
}

// ask gives a command of the conversation.
func (r *Ref) ask(ctx context.Context, m ask) error {
	m, err := r.checked(m)
	if err != nil {
		return err
	}
	return r.await(ctx, func(reply func(error)) any { m.reply = reply; return m })
}

// checked is m with its messages as they are to be stored.
func (r *Ref) checked(m ask) (ask, error) {
	if err := r.chats(); err != nil {
		return m, err
	}
	cmd, err := r.sanitized(m.cmd)
	m.cmd = cmd
	return m, err
}

func (r *Ref) query(ctx context.Context, read func(*chat.State, *outflow, uint64)) error {
	return r.visit(ctx, func(a *shell) error {
		read(&a.core.State, a.out, a.version())
		return nil
	})
}

// visit has do run on the actor's goroutine, and not after visit has returned: the
// variables of a caller that has given up are its own.
func (r *Ref) visit(ctx context.Context, do func(*shell) error) error {
	var mu sync.Mutex
	left := false
	err := r.await(ctx, func(reply func(error)) any {
		return visit{reply: reply, do: func(a *shell) error {
			mu.Lock()
			defer mu.Unlock()
			if left {
				return nil
			}
			return do(a)
		}}
	})
	mu.Lock()
	defer mu.Unlock()
	left = true
	return err
}

func (r *Ref) await(ctx context.Context, message func(reply func(error)) any) error {
	if ctx.Err() != nil { // what a handler says after its turn is not for whoever comes next
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	r.rt.send(r.addr, message(func(err error) {
		select {
		case done <- err:
		default: // a fault of ours has ended what was answered already
		}
	}))
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
