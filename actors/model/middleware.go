package model

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"maps"
	"time"
)

// A Middleware changes what a model is asked, or what it answers.
type Middleware func(Model) Model

// Wrap puts m into middlewares: Wrap(m, first, second) is first(second(m)), so
// first sees the request first and the answer last.
func Wrap(m Model, middlewares ...Middleware) Model {
	for i := len(middlewares) - 1; i >= 0; i-- {
		m = middlewares[i](m)
	}
	return m
}

// Around makes a middleware of a function that gets each request, and the model to
// ask. The wrapped model keeps the name, the note and the ability to prefill of
// the one inside.
func Around(stream func(ctx context.Context, r Request, next Model) iter.Seq2[Part, error]) Middleware {
	return func(m Model) Model { return &around{m, stream} }
}

type around struct {
	Model
	stream func(context.Context, Request, Model) iter.Seq2[Part, error]
}

func (a *around) Stream(ctx context.Context, r Request) iter.Seq2[Part, error] {
	return a.stream(ctx, r, a.Model)
}

func (a *around) Prefill() bool { return Prefills(a.Model) }

func (a *around) Note() string {
	if n, ok := a.Model.(Noter); ok {
		return n.Note()
	}
	return ""
}

// Defaults gives a request what it leaves open. Headers and ProviderOptions are
// joined: those of the request win, a provider's options field by field.
func Defaults(d Request) Middleware {
	return Around(func(ctx context.Context, r Request, next Model) iter.Seq2[Part, error] {
		r.Instructions = cmp.Or(r.Instructions, d.Instructions)
		r.ToolChoice = cmp.Or(r.ToolChoice, d.ToolChoice)
		r.MaxOutputTokens = cmp.Or(r.MaxOutputTokens, d.MaxOutputTokens)
		r.Temperature = cmp.Or(r.Temperature, d.Temperature)
		r.TopP = cmp.Or(r.TopP, d.TopP)
		r.Seed = cmp.Or(r.Seed, d.Seed)
		if r.Tools == nil {
			r.Tools = d.Tools
		}
		if r.StopSequences == nil {
			r.StopSequences = d.StopSequences
		}
		if r.Schema == nil {
			r.Schema = d.Schema
		}
		r.Headers = joined(d.Headers, r.Headers)
		r.ProviderOptions = joinedOptions(d.ProviderOptions, r.ProviderOptions)
		return next.Stream(ctx, r)
	})
}

func joined[V any](base, over map[string]V) map[string]V {
	if len(base) == 0 {
		return over
	}
	out := maps.Clone(base)
	maps.Copy(out, over)
	return out
}

func joinedOptions(base, over map[string]json.RawMessage) map[string]json.RawMessage {
	out := joined(base, over)
	for provider, raw := range over {
		var b, o map[string]json.RawMessage
		if json.Unmarshal(base[provider], &b) != nil || json.Unmarshal(raw, &o) != nil {
			continue // the provider refuses what is no object
		}
		if both, err := json.Marshal(joined(b, o)); err == nil {
			out[provider] = both
		}
	}
	return out
}

// Logged logs each answer: at debug level, or as a warning if it failed, with the
// hint for operators. What was asked and said is not logged.
func Logged(log *slog.Logger) Middleware {
	return Around(func(ctx context.Context, r Request, next Model) iter.Seq2[Part, error] {
		return func(yield func(Part, error) bool) {
			began := time.Now()
			var first time.Duration
			attrs := func(more ...slog.Attr) []slog.Attr {
				return append([]slog.Attr{
					slog.String("model", next.Name()), slog.String("key", r.Key),
					slog.Duration("first_part", first), slog.Duration("took", time.Since(began)),
				}, more...)
			}
			for p, err := range next.Stream(ctx, r) {
				if first == 0 {
					first = time.Since(began)
				}
				switch f, finished := p.(FinishPart); {
				case err != nil && ctx.Err() != nil: // the caller's own wish
				case err != nil:
					log.LogAttrs(ctx, slog.LevelWarn, "model failed", attrs(
						slog.String("class", string(ClassOf(err))), slog.Any("error", err), slog.String("hint", ClassOf(err).Hint()))...)
				case finished:
					log.LogAttrs(ctx, slog.LevelDebug, "model answered", attrs(
						slog.String("reason", string(f.Reason)), slog.Int64("input_tokens", f.Usage.Input), slog.Int64("output_tokens", f.Usage.Output))...)
				}
				if !yield(p, err) {
					return
				}
			}
		}
	})
}
