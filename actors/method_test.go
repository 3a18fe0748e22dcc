package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/persistence/memory"
)

type self = *actors.Self

type query struct {
	Name  string   `json:"name"`
	Limit int8     `json:"limit,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// grade is a type with a way of its own to be written.
type grade int

func (g *grade) UnmarshalJSON(data []byte) error {
	if string(data) == `"A"` {
		*g = 1
		return nil
	}
	return errors.New("secret of the decoder's")
}

type tree struct {
	Below []tree `json:"below,omitempty"`
}

// desk is an agent with methods of all shapes.
func desk() *actors.Agent {
	return &actors.Agent{Name: "Desk", Callable: []actors.Method{
		actors.NewMethod("add", "Adds.", func(_ context.Context, _ self, a float64, b *float64) (*float64, error) {
			if b == nil {
				return nil, nil
			}
			sum := a + *b
			return &sum, nil
		}, "a", "b"),
		actors.NewMethod("join", "", func(_ context.Context, _ self, sep string, words ...string) (string, error) {
			return strings.Join(words, sep), nil
		}),
		actors.NewMethod("find", "", func(_ context.Context, _ self, q query) (query, error) { return q, nil }, "query"),
		actors.NewMethod("when", "", func(_ context.Context, _ self, t time.Time, data []byte, raw json.RawMessage, any any) (string, error) {
			return fmt.Sprintf("%d %s %s %v", t.Year(), data, raw, any), nil
		}),
		actors.NewMethod("grade", "", func(_ context.Context, _ self, g grade, deep tree) (int, error) { return int(g) + len(deep.Below), nil }),
		actors.NewMethod("nothing", "", func(context.Context, self) error { return nil }),
		actors.NewMethod("tells", "", func(context.Context, self) error { return actors.Errorf("not on a %s", "Sunday") }),
		actors.NewMethod("fails", "", func(context.Context, self) error { return errors.New("secret") }),
		actors.NewMethod("panics", "", func(context.Context, self) error { panic("secret") }),
		actors.NewMethod("exits", "", func(context.Context, self) error { runtime.Goexit(); return nil }),
		actors.NewMethod("unwritable", "", func(context.Context, self) (any, error) { return func() {}, nil }),
		actors.NewMethod("count", "", func(_ context.Context, _ self, reply *actors.Reply, n int) (int, error) {
			for i := range n {
				if err := reply.Send(i); err != nil {
					return 0, err
				}
			}
			return n, actors.Errorf("end of %d", n)
		}),
		{Name: "inside", Internal: true, Func: func(context.Context, self) (string, error) { return "secret", nil }},
	}}
}

func TestCallsOfAClient(t *testing.T) {
	agent := desk()
	h := actorstest.New(t, agent)
	s, err := h.Connect(h.Agent(agent, "room"), "")
	require.NoError(t, err)
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, c := range []struct {
		method string
		args   []any
		want   string // a result, or an error
	}{
		{"add", []any{2, 3.5}, `5.5`},
		{"add", []any{1}, `null`},
		{"add", []any{1, nil}, `null`},
		{"add", nil, `Method add: argument 1 (a) is missing`},
		{"add", []any{1, 2, 3}, `Method add: has 3 arguments, takes 2`},
		{"add", []any{1, "x"}, `Method add: argument 2 (b): type: x has type "string", want one of "null, number"`},
		{"add", []any{nil}, `Method add: argument 1 (a): type: null has type "null", want "number"`},
		{"join", []any{", "}, `""`},
		{"join", []any{"<", "a", "b", "c"}, `"a<b<c"`},
		{"join", []any{", ", "a", 2}, `Method join: argument 3: type: 2 has type "integer", want "string"`},
		{"find", []any{raw(`{"name":"x","limit":7}`)}, `{"name":"x","limit":7}`},
		{"find", []any{raw(`{"limit":7}`)}, `Method find: argument 1 (query): required: missing properties: ["name"]`},
		{"find", []any{raw(`{"name":"x","Name":"y"}`)}, `Method find: argument 1 (query): unexpected additional properties ["Name"]`},
		{"find", []any{raw(`{"name":"x","tags":["a",1]}`)}, `Method find: argument 1 (query): tags[]: type: 1 has type "integer", want "string"`},
		{"find", []any{raw(`{"name":"x","limit":300}`)}, `Method find: argument 1 (query): limit: maximum: 300 is greater than 127`},
		{"when", []any{"2024-02-03T00:00:00Z", "aGk=", raw(`{"a":[1]}`), true}, `"2024 hi {\"a\":[1]} true"`},
		{"when", []any{"yesterday", "aGk=", 1, nil}, `Method when: argument 1: does not fit`},
		{"grade", []any{"A", raw(`{"below":[{},{}]}`)}, `3`},
		{"grade", []any{"B", raw(`{}`)}, `Method grade: argument 1: does not fit`},
		{"grade", []any{"A", raw(`{"below":3}`)}, `Method grade: argument 2: below number does not fit`},
		{"nothing", nil, ``},
		{"tells", nil, `not on a Sunday`},
		{"fails", nil, `Unknown error occurred`},
		{"panics", nil, `Unknown error occurred`},
		{"exits", nil, `Unknown error occurred`},
		{"unwritable", nil, `Unknown error occurred`},
		{"missing", nil, `Method missing does not exist`},
		{"toString", nil, `Method toString does not exist`},
		{strings.Repeat("x", 1000), nil, `Method ` + strings.Repeat("x", 66) + `…` + strings.Repeat("x", 33) + ` does not exist`},
		{"inside", nil, `Method inside is not callable`},
	} {
		got, _, err := s.Call(t.Context(), c.method, c.args...)
		if err != nil {
			var e *actors.Error
			require.ErrorAs(t, err, &e, "a client may read it")
			got = e.Message
		}
		require.Equal(t, c.want, got, "%s%v", c.method, c.args)
	}
	long := strings.Repeat("x", 1<<20)
	_, _, err = s.Call(t.Context(), "add", 1, long)
	require.Less(t, len(err.Error()), 500, "what is told back is short")
	require.ErrorContains(t, err, `want one of "null, number"`)
}

func TestAStreamingMethodSaysPiecesAndThenEnds(t *testing.T) {
	agent := desk()
	h := actorstest.New(t, agent)
	s, err := h.Connect(h.Agent(agent, "room"), "")
	require.NoError(t, err)
	result, said, err := s.Call(t.Context(), "count", 3)
	require.EqualError(t, err, "end of 3")
	require.Empty(t, result)
	require.Equal(t, []string{"0", "1", "2"}, said)
	s.Close(1000, "")
	_, said, err = s.Call(t.Context(), "count", 3)
	require.EqualError(t, err, "Unknown error occurred")
	require.Empty(t, said)
}

func TestWhatAClientIsNotToldIsToldToOnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := desk()
		heard := make(chan string, 10)
		agent.OnError = func(ctx context.Context, _ *actors.Self, err error) {
			heard <- actors.ConnectionFrom(ctx).Key() + " " + strings.SplitN(err.Error(), "\n", 2)[0]
			panic("again")
		}
		h := actorstest.New(t, agent)
		s, err := h.Connect(h.Agent(agent, "room"), "?_pk=page")
		require.NoError(t, err)
		for _, name := range []string{"fails", "panics", "tells", "missing"} {
			_, _, err = s.Call(t.Context(), name)
			require.Error(t, err)
			synctest.Wait()
		}
		require.Len(t, heard, 2)
		require.Equal(t, "page method fails: secret", <-heard)
		require.Equal(t, "page method panics: panic: secret", <-heard)
	})
}

func TestAMethodIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		let, causes := make(chan struct{}), make(chan error, 1)
		agent := &actors.Agent{Name: "Desk", Callable: []actors.Method{
			{Name: "deaf", Timeout: time.Second, Func: func(context.Context, self) error { <-let; return nil }},
			{Name: "slow", Func: func(ctx context.Context, _ self) error {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return ctx.Err()
			}},
		}}
		h := actorstest.New(t, agent)
		s, err := h.Connect(h.Agent(agent, "room"), "")
		require.NoError(t, err)
		_, _, err = s.Call(t.Context(), "deaf")
		require.EqualError(t, err, "Method deaf took longer than 1s")
		close(let)

		ctx, leave := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		call := func() { _, _, err := s.Call(ctx, "slow"); done <- err }
		go call()
		synctest.Wait()
		leave(errCable)
		require.ErrorIs(t, <-causes, errCable, "the caller has gone")
		require.Error(t, <-done)

		ctx = t.Context()
		go call()
		synctest.Wait()
		require.NoError(t, h.Stop(t.Context()))
		require.EqualError(t, <-causes, "the node is stopping")
		require.EqualError(t, <-done, "the node is stopping")
		_, _, err = s.Call(t.Context(), "slow")
		require.EqualError(t, err, "the node is stopping")
	})
}

// Calls neither wait for each other, nor for a turn.
func TestCallsRunConcurrently(t *testing.T) {
	bubble(t, func(t *testing.T) {
		meet := make(chan struct{})
		agent := handler(func(context.Context, *actors.Turn) error { meet <- struct{}{}; return nil })
		agent.Callable = []actors.Method{
			actors.NewMethod("give", "", func(context.Context, self) error { meet <- struct{}{}; return nil }),
			actors.NewMethod("take", "", func(_ context.Context, self self) error { <-meet; <-meet; return nil }),
		}
		h := actorstest.New(t, agent)
		r := h.Agent(agent, "room")
		require.NoError(t, r.Submit(t.Context(), submit("r1", "hi")))
		go func() { _ = r.Call(context.Background(), "give", nil) }()
		require.NoError(t, r.Call(t.Context(), "take", nil))
	})
}

func TestMethodsFromGo(t *testing.T) {
	agent := desk()
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	var sum float64
	require.NoError(t, r.Call(t.Context(), "add", &sum, 1, 2))
	require.Equal(t, 3.0, sum)
	require.NoError(t, r.Call(t.Context(), "nothing", &sum))
	require.Equal(t, 3.0, sum, "no result leaves it alone")
	var word string
	require.NoError(t, r.Call(t.Context(), "inside", &word))
	require.Equal(t, "secret", word)
	require.EqualError(t, r.Call(t.Context(), "fails", nil), "secret")
	require.EqualError(t, r.Call(t.Context(), "count", nil, 1), "end of 1")
	require.ErrorContains(t, r.Call(t.Context(), "add", &word, 1, 2), "result of add")
	require.ErrorContains(t, r.Call(t.Context(), "add", nil, 1, func() {}), "argument 2 of add")
	require.EqualError(t, r.Call(t.Context(), "gone", nil), "Method gone does not exist")
	list := r.Methods()
	require.Equal(t, actors.MethodInfo{Name: "add", Description: "Adds."}, list[0])
	require.Equal(t, actors.MethodInfo{Name: "count", Streaming: true}, list[len(list)-1])
}

func TestAMistakeInAMethodPanicsAtRegistration(t *testing.T) {
	good := func(context.Context, self) error { return nil }
	one := func(name string, f any, params ...string) []actors.Method {
		return []actors.Method{actors.NewMethod(name, "", f, params...)}
	}
	for text, methods := range map[string][]actors.Method{
		`Callable[0] () has a name that does not match`:          one("", good),
		`Callable[0] (a b) has a name that does not match`:       one("a b", good),
		`Callable[0] (then) has a name that clients cannot call`: one("then", good),
		`Callable[1] (x) is there twice`:                         append(one("x", good), one("x", good)...),
		`Callable[0] (x) needs a function in Func, not <nil>`:    one("x", nil),
		`Callable[0] (x) needs a function in Func, not string`:   one("x", "good"),
		`Callable[0] (x) has Func func() error, must be`:         one("x", func() error { return nil }),
		`Callable[0] (x) has Func func(context.Context, *actor`:  one("x", func(context.Context, self) {}),
		`Callable[0] (x) has Func func(context.Context, *acto`:   one("x", func(context.Context, self) int { return 0 }),
		`Callable[0] (x) has *actors.Reply in a place`:           one("x", func(context.Context, self, int, *actors.Reply) error { return nil }),
		`Callable[0] (x) has 1 arguments and 2 names in Params`:  one("x", func(context.Context, self, int) error { return nil }, "a", "b"),
		`does not fit into: argument 1 (a): type func()`:         one("x", func(context.Context, self, func()) error { return nil }, "a"),
		`does not fit into: argument 1: type chan int`:           one("x", func(context.Context, self, []struct{ C chan int }) error { return nil }),
		`does not fit into: argument 1: interface error`:         one("x", func(context.Context, self, error) error { return nil }),
		`has a negative Timeout: -1ns`:                           {{Name: "x", Func: good, Timeout: -1}},
	} {
		t.Run(text, func(t *testing.T) {
			defer func() { require.Contains(t, fmt.Sprint(recover()), text) }()
			agent := &actors.Agent{Name: "A", Callable: methods}
			actors.NewRuntime(actors.RuntimeConfig{Store: memory.Open(memory.Config{}), Agents: []*actors.Agent{agent}})
		})
	}
}
