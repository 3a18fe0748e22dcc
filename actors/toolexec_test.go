package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
)

type nothing = struct{}

// works is a tool of a function without input.
func works(f func(ctx context.Context) (any, error), options ...actors.ToolOption) actors.Tool {
	return actors.NewTool("work", "Works.", func(ctx context.Context, _ nothing) (any, error) { return f(ctx) }, options...)
}

func TestWhatAToolMayReturn(t *testing.T) {
	refused := &model.Error{Cause: model.Refused, Public: "The model has refused.", Err: errors.New("secret")}
	for name, c := range map[string]struct {
		output any
		err    error
		want   string
	}{
		"nothing":            {nil, nil, `null`},
		"what HTML escapes":  {"<b>&", nil, `"<b>&"`},
		"raw JSON":           {json.RawMessage(`{"a": 1}`), nil, `{"a":1}`},
		"broken JSON":        {json.RawMessage(`{"a`), nil, `The tool's result is not JSON: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input`},
		"no number":          {math.NaN(), nil, `The tool's result is not JSON: json: unsupported value: NaN`},
		"no UTF-8":           {json.RawMessage("\"a\xffb\""), nil, "\"a\uFFFDb\""},
		"a function":         {func() {}, nil, `The tool's result is not JSON: json: unsupported type: func()`},
		"an error":           {nil, errors.New("no such city"), `no such city`},
		"an error and more":  {1, errors.New("no such city"), `no such city`},
		"a refusal":          {nil, &actors.Error{Code: actors.Busy, Message: "Try later."}, `Try later.`},
		"an error of nobody": {nil, errors.New(""), `The tool has failed.`},
		"a model's failure":  {nil, fmt.Errorf("inside: %w", refused), `The model has refused.`},
	} {
		got, err := actors.Execute(t.Context(), works(func(context.Context) (any, error) { return c.output, c.err }), &actors.ToolCall{}, `{}`)
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		require.Equal(t, c.want, string(got), name)
	}
	_, err := actors.Execute(t.Context(), works(func(context.Context) (any, error) {
		return nil, errors.New(string(make([]byte, 1<<20)))
	}), &actors.ToolCall{}, `{}`)
	require.Less(t, len(err.Error()), 10_000, "an error is told in short")
}

func TestOfAFunctionThatDiesNothingElseIsTold(t *testing.T) {
	for name, die := range map[string]func(){"a panic": func() { panic("secret") }, "Goexit": runtime.Goexit} {
		_, err := actors.Execute(t.Context(), works(func(context.Context) (any, error) { die(); return 1, nil }), &actors.ToolCall{}, `{}`)
		require.EqualError(t, err, "The tool has failed.", name)
	}
}

func TestATimeoutCutsAFunctionOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, left := make(chan struct{}), make(chan error)
		deaf := works(func(ctx context.Context) (any, error) {
			<-late
			left <- actors.ToolCallFrom(ctx).Update(1)
			return 1, nil
		}, actors.Timeout(time.Minute))
		shown := 0
		call := &actors.ToolCall{}
		actors.Shows(call, func(json.RawMessage) error { shown++; return nil })
		begun := time.Now()
		_, err := actors.Execute(t.Context(), deaf, call, `{}`)
		require.EqualError(t, err, "The tool took longer than 1m0s.")
		require.Equal(t, time.Minute, time.Since(begun))
		close(late)
		require.ErrorIs(t, <-left, actors.ErrTurnOver)
		require.Zero(t, shown, "nothing is shown of a call that is over")
	})
}

func TestACallThatIsCancelledHasAnUnknownOutcome(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	for name, f := range map[string]func(ctx context.Context) (any, error){
		"one that listens":  func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
		"one that does not": func(context.Context) (any, error) { <-end; return nil, nil },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(0, cancel)
		_, err := actors.Execute(ctx, works(f), &actors.ToolCall{}, `{}`)
		require.EqualError(t, err, "The call was interrupted; its outcome is unknown.", name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, err := actors.Execute(ctx, works(func(context.Context) (any, error) { return 1, nil }), &actors.ToolCall{}, `{}`)
	cancel()
	require.NoError(t, err)
	require.Equal(t, `1`, string(out))
}

func TestPreliminaryResultsComeInTheirOrder(t *testing.T) {
	var shown []string
	call := &actors.ToolCall{}
	actors.Shows(call, func(v json.RawMessage) error { shown = append(shown, string(v)); return nil })
	_, err := actors.Execute(t.Context(), works(func(ctx context.Context) (any, error) {
		c := actors.ToolCallFrom(ctx)
		for i := range 3 {
			require.NoError(t, c.Update(i))
		}
		return nil, c.Update(math.NaN())
	}), call, `{}`)
	require.EqualError(t, err, "actors: a preliminary result has no JSON form: json: unsupported value: NaN")
	require.Equal(t, []string{"0", "1", "2"}, shown)
	require.ErrorIs(t, call.Update(3), actors.ErrTurnOver)
	require.NoError(t, actors.ToolCallFrom(t.Context()).Update(1), "a function that is tested alone may report, too")
}
