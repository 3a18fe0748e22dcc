package modelsuite

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/test/providerwire"
)

func (p Provider) endings(t *testing.T) {
	for name, breakOff := range map[string]func(*providerwire.Writer){
		"the stream ends without its marker": (*providerwire.Writer).Cut,
		"the connection is reset":            (*providerwire.Writer).Reset,
		"an event is no JSON": func(w *providerwire.Writer) {
			w.Raw("event: content_block_delta\ndata: {\"type\":\n\n")
			w.Cut()
		},
		"an event ends in the middle": func(w *providerwire.Writer) {
			w.Raw("event: message_stop\ndata: {\"type\":\"message_st")
			w.Cut()
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
				w.Text("half an ")
				breakOff(w)
			})
			e, parts := p.mustFail(t, m)
			if e.Cause != model.Transient || Text(parts) != "half an " {
				t.Errorf("%v after %q", e, Text(parts))
			}
		})
	}
	t.Run("a stream that ends in a tool call does not run it", func(t *testing.T) {
		_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
			w.Call("call_1", "look", `{"at":1}`)
			w.Cut()
		})
		e, parts := p.mustFail(t, m)
		for _, part := range parts {
			if c, ok := part.(model.ToolCall); ok || e.Cause != model.Transient {
				t.Errorf("%+v, %v", c, e)
			}
		}
	})
	t.Run("an empty stream", func(t *testing.T) {
		_, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) { w.Cut() })
		if e, _ := p.mustFail(t, m); e.Cause != model.Transient {
			t.Errorf("%v", e)
		}
	})
	t.Run("cancel hangs up", p.cancel)
	t.Run("breaking off hangs up", p.breakOff)
	t.Run("cancel before the first byte hangs up", p.cancelEarly)
	t.Run("a cancelled call asks nobody", func(t *testing.T) {
		s, m := p.serve(t, func(*providerwire.Request, *providerwire.Writer) {})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStop)
		if _, err := Collect(t, ctx, m, Ask("hi")); !errors.Is(err, errStop) {
			t.Errorf("%v", err)
		}
		if n := len(s.Records()); n > 0 {
			t.Errorf("%d requests", n)
		}
	})
}

var errStop = errors.New("visitor pressed stop")

// hungUp waits until the server has seen that the client is gone.
func hungUp(t *testing.T, s *providerwire.Server) {
	t.Helper()
	records, err := s.Await(t.Context(), func(r []providerwire.Record) bool { return len(r) == 1 && r[0].Done })
	if err != nil || !records[0].Cut {
		t.Errorf("%v, records %+v", err, records)
	}
}

// untilGone says a word and then waits for the client to leave.
func untilGone(_ *providerwire.Request, w *providerwire.Writer) {
	w.Text("word")
	<-w.Gone()
}

func (p Provider) cancel(t *testing.T) {
	s, m := p.serve(t, untilGone)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for part, err := range m.Stream(ctx, Ask("hi")) {
		if _, ok := part.(model.TextDelta); ok {
			cancel(errStop)
		}
		last = err
	}
	var e *model.Error
	if !errors.Is(last, errStop) || errors.As(last, &e) {
		t.Errorf("ended with %v", last)
	}
	hungUp(t, s)
}

func (p Provider) breakOff(t *testing.T) {
	s, m := p.serve(t, untilGone)
	for part, err := range m.Stream(t.Context(), Ask("hi")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := part.(model.TextDelta); ok {
			break
		}
	}
	hungUp(t, s)
}

func (p Provider) cancelEarly(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s, m := p.serve(t, func(_ *providerwire.Request, w *providerwire.Writer) {
		cancel(errStop)
		<-w.Gone()
	})
	if parts, err := Collect(t, ctx, m, Ask("hi")); !errors.Is(err, errStop) || len(parts) > 0 {
		t.Errorf("%v after %#v", err, parts)
	}
	hungUp(t, s)
}
