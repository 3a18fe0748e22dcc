package actors

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Turn is one request for an answer, as an OnChatMessage handler gets it.
type Turn struct {
	// RequestID names the turn: the client's own id, or one made here.
	RequestID string
	// Question is what the turn is asked: the user messages at the end of its
	// request. Empty for a request that ends with an answer.
	Question []uimessage.Message
	// Messages is the stored conversation when the turn began, in stored order,
	// without what a client has put into it in the assistant's name. Questions that
	// wait for turns of their own are in it, too, and an answer that came meanwhile
	// stands behind them. A model is shown it otherwise: without what waits, and with
	// the turn's own question last.
	Messages []uimessage.Message
	// Body holds the request's custom fields as one JSON object; nil if there are none.
	Body json.RawMessage
	// ClientTools are the schemas that the client has sent; nil if there are none.
	ClientTools json.RawMessage
	// Continuation: the turn goes on with Partial, the assistant message that is
	// in Messages already. What is written is appended to it.
	Continuation bool
	Partial      uimessage.Message
	// Attempt counts runs of this turn from 1; more than 1 after a crash.
	Attempt int
	// Stream takes the answer.
	Stream *Stream
	// Self is the agent.
	Self *Self

	looping atomic.Bool // Generate runs
	loops   uint32      // that have begun
}

// openStream asks for the stream of a running attempt.
type openStream struct {
	turn    uint64
	attempt uint32
	reply   func(*livestream, error)
}

// openStream opens the stream in the journal's eyes and hands it to its producer.
func (a *shell) openStream(m openStream) {
	if l := a.live; l != nil && l.turn == m.turn && l.attempt == m.attempt {
		m.reply(l, nil)
		return
	}
	if err := a.decide(chat.OpenStream{Turn: m.turn, Attempt: m.attempt}, "", a.core.Step); err != nil {
		m.reply(nil, ErrTurnOver)
		return
	}
	st, t := &a.core.State.Stream, a.core.State.Turns.Running()
	if t == nil || !st.Open {
		m.reply(nil, ErrTurnOver)
		return
	}
	a.live = newLivestream(m, a.out, st.Message(), t.Continues, st)
	a.live.flush = func() { a.tell(flushStream{}) }
	a.live.reserve = func() { a.tell(reserveMore{}) }
	a.tap(a.live, t.Request)
	a.rt.grid.join(a, a.live)
	m.reply(a.live, nil)
	a.settle()
}

// prepareHandler runs the author's handler.
func (a *shell) prepareHandler(e chat.Handle) func(context.Context) chat.Command {
	s := &a.core.State
	t := s.Turns.Running()
	turn := &Turn{
		RequestID: t.Request, Body: t.Body, ClientTools: t.ClientTools,
		Continuation: t.Continues, Attempt: int(t.Attempt),
	}
	stored, asked, partial := s.Transcript.Vouched(), s.Asked(t), t.MessageID
	class, log, me := a.class, a.log.With("request", t.Request), a.addr
	turn.Stream = newStream(a, t.ID, e.Attempt, t.Request)
	turn.Self = &Self{&Ref{rt: a.rt, addr: me, inTurn: true}}
	return func(ctx context.Context) chat.Command {
		ctx = inside(ctx, me)
		turn.Messages = parseAll(stored)
		turn.find(asked, partial)
		err := a.watched(ctx, turn.Stream, func(ctx context.Context) error { return class.OnChatMessage(ctx, turn) })
		ended := chat.HandlerEnded{Turn: e.Turn, Attempt: e.Attempt}
		turn.Stream.result(&ended, err)
		if cleaned, serr := turn.Stream.cleaned(ctx); serr != nil {
			err, ended.Result, ended.Text, ended.Cleaned = serr, chat.Failed, generalFailure, cleaned
		} else {
			ended.Cleaned = cleaned
		}
		if ended.Result == chat.Failed && ctx.Err() == nil && !errors.Is(err, ErrTurnOver) {
			log.Warn("handler failed", "error", err)
		}
		return ended
	}
}

// find fills in what is asked and what is there of the answer.
func (t *Turn) find(asked map[string]bool, partial string) {
	for _, m := range t.Messages {
		if asked[m.ID] {
			t.Question = append(t.Question, m)
		}
		if t.Continuation && m.ID == partial {
			t.Partial = m
		}
	}
}

// inside marks a context as that of a turn of the agent: see ErrInsideTurn.
func inside(ctx context.Context, a feed.Address) context.Context {
	return context.WithValue(ctx, insideKey{}, a)
}

type insideKey struct{}

// wait begins a wait for a turn of the agent; over ends it. ErrInsideTurn: it would
// never end.
func (r *Ref) wait(ctx context.Context) (over func(), err error) {
	if r.inTurn {
		return nil, ErrInsideTurn
	}
	return r.rt.waits.begin(ctx, r.addr)
}

func parseAll(stored []chat.Message) []uimessage.Message {
	messages := make([]uimessage.Message, 0, len(stored))
	for _, s := range stored {
		if m, err := uimessage.ParseMessage(s.JSON); err == nil {
			messages = append(messages, m)
		}
	}
	return messages
}
