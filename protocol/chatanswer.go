package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// Answers to calls inside of the list that a client posts: useChat without sockets has
// no other way to tell them.

// listed is a part of a client's list that says how a call went on.
type listed struct {
	part  uimessage.Part
	state string // of the call that waits for that
}

// answersIn finds what the list of s says to calls that wait, oldest first. What it
// says to others is no answer: history is what the node has stored.
func (h *Handler) answersIn(ctx context.Context, a feed.Address, s feed.Submit) (found []listed, err error) {
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if m.Role == uimessage.Assistant && (p.Settled() && !p.Preliminary || p.State == uimessage.ApprovalResponded) {
				found = append(found, listed{part: p})
			}
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	raw, err := h.cfg.Host.Calls(ctx, a)
	if err != nil {
		return nil, err
	}
	var open []struct{ ToolCallID, State string }
	if err := json.Unmarshal(raw, &open); err != nil {
		return nil, err
	}
	states := map[string]string{}
	for _, c := range open {
		states[c.ToolCallID] = c.State
	}
	for i := range found {
		found[i].state = states[found[i].part.ToolCallID]
	}
	return slices.DeleteFunc(found, func(l listed) bool { return l.state == "" }), nil
}

// handIn gives the agent what l says; false if it had been told already.
func (h *Handler) handIn(ctx context.Context, a feed.Address, l listed, as feed.Answer) (bool, error) {
	p := l.part
	decision := p.Approval != nil && p.Approval.Approved != nil
	var err error
	switch {
	case p.State == uimessage.OutputAvailable || p.State == uimessage.OutputError:
		as.Call, as.Output, as.Failed, as.ErrorText = p.ToolCallID, p.Output, p.State == uimessage.OutputError, p.ErrorText
		err = h.cfg.Host.Answer(ctx, a, as)
	case l.state != uimessage.ApprovalRequested || !decision:
		return false, nil
	default:
		err = h.cfg.Host.Approve(ctx, a, feed.Approval{
			Call: p.ToolCallID, Approved: *p.Approval.Approved, Reason: p.Approval.Reason, Continue: as.Continue, By: as.By, Page: as.Page,
		})
	}
	var e *Error
	if errors.As(err, &e) && (e.Code == Conflict || e.Code == NotFound) {
		return false, nil
	}
	return err == nil, err
}

// answerCalls takes the answers in the list of s. If the list ends with them, and the
// agent has taken one, nothing else is asked for: the continuation is what v follows
// then, and the result is true.
func (v *viewer) answerCalls(a feed.Address, s feed.Submit) (continues bool, err error) {
	found, err := v.h.answersIn(v.ctx, a, s)
	if err != nil || len(found) == 0 {
		return false, err
	}
	var c *claim
	as := feed.Answer{ClientTools: s.ClientTools, By: v.seat.id}
	if !s.Regenerate && s.Messages[len(s.Messages)-1].Role == uimessage.Assistant {
		c = v.room.claim(v.seat)
		defer v.room.disclaim(c)
		as.Continue, as.Page = true, v.seat.pk
	}
	for _, l := range found {
		took, err := v.h.handIn(v.h.ctx, a, l, as)
		if err != nil {
			return false, err
		}
		continues = continues || took && as.Continue
	}
	if !continues {
		return false, nil
	}
	return true, v.awaitClaim(c)
}

// awaitClaim returns when v follows the continuation of what it has answered, or has
// been told that none comes. That may take until a turn that runs has ended.
func (v *viewer) awaitClaim(c *claim) error {
	for {
		q, open := v.room.askClaim(c)
		if !open {
			return nil
		}
		if err := v.ask(q); err != nil {
			return err
		}
		select {
		case <-c.again:
		case <-v.seat.wake:
			if v.h.stopping() {
				return errStopping
			}
		case <-v.ctx.Done():
			return errClientGone
		}
	}
}

// claim is a response that waits for a continuation which is not armed yet.
type claim struct {
	seat  *seat         // its page is nobody else's
	again chan struct{} // capacity 1: a turn has ended or was lost, or the claim is settled
}

func (c *claim) rouse() {
	select {
	case c.again <- struct{}{}:
	default:
	}
}

// rouseClaims lets them ask again: what they wait for the end of has ended, or went
// with its incarnation, which tells no end.
func (r *room) rouseClaims() {
	for _, c := range r.claims {
		c.rouse()
	}
}

// claim lets s follow the next continuation that is armed by an answer of its own. It
// is called before the agent hears of that.
func (r *room) claim(s *seat) *claim {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.pk = s.id
	c := &claim{s, make(chan struct{}, 1)}
	r.claims[s.pk] = c
	return c
}

func (r *room) disclaim(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.claims, c.seat.pk)
}

// askClaim registers the question whether anything comes for c; false if that is known.
func (r *room) askClaim(c *claim) (*ask, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claims[c.seat.pk] != c {
		return nil, false
	}
	a := r.newAsk(c.seat, false, probe{})
	a.claim = c
	return a, true
}

// settleClaim is called when all that was decided so far is known here: if nothing runs
// or waits then, nothing comes. What there is instead is a call to be run, perhaps.
func (r *room) settleClaim(c *claim) {
	if r.claims[c.seat.pk] != c || r.stream != nil || len(r.pending) > 0 {
		return
	}
	delete(r.claims, c.seat.pk)
	a := &answer{}
	if r.joinFor(c.seat, a); c.seat.joined {
		r.log.add(entry{to: c.seat, of: a, replay: &replay{frames: r.callsFor(c.seat.pk), tail: terminalFrame(&feed.Ended{}, "", "")}})
	}
	c.rouse()
}

// callsFor takes the tokens of a page that has no socket, and returns them as the
// frames of a stream.
func (r *room) callsFor(page string) [][]byte {
	st := newStream("", false, "")
	for _, t := range r.tokens {
		m, err := uimessage.ParseMessage(t.message)
		if t.page != page || err != nil {
			continue
		}
		m.Parts = slices.DeleteFunc(m.Parts, func(p uimessage.Part) bool { return !p.IsTool() || p.ToolCallID != t.call })
		for i := range m.Parts {
			m.Parts[i].Approval = nil
		}
		for _, c := range uimessage.Unfold(uimessage.Message{ID: m.ID, Parts: m.Parts}) {
			st.push(feed.Chunk{Seq: uint64(len(st.frames)), Body: c.AppendJSON(nil)})
		}
	}
	r.tokens = slices.DeleteFunc(r.tokens, func(t *token) bool { return t.page == page })
	return st.frames
}
