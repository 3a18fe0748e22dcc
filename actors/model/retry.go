package model

import (
	"context"
	"hash/maphash"
	"iter"
	"slices"
	"time"
)

// passing are the classes of failures that may be gone the next time.
var passing = []Class{RateLimit, Overload, Network}

// A Retry asks a model again when it has failed before the first part of its
// answer: later nobody could tell the two answers apart. An agent's own model needs
// none, since a turn is tried again by the runtime, which keeps a record of it; a
// model behind [Fallback], in a tool or in [Object] may want one. Set its fields
// before first use.
type Retry struct {
	Model Model
	// Attempts is how often it is asked in all. 0 means 3.
	Attempts int
	// Delay is the time before the second attempt; it doubles with each one, and
	// up to half of it is left out at random. 0 means 1 s.
	Delay time.Duration
	// MaxDelay bounds the time before an attempt. A provider that wants more is not
	// asked again. 0 means 30 s.
	MaxDelay time.Duration
	// On are the classes of failures to try again after. nil means RateLimit,
	// Overload and Network. A failure whose Cause is not Transient never is.
	On []Class
}

var _ Prefiller = (*Retry)(nil)

// Name implements [Model].
func (t *Retry) Name() string { return t.Model.Name() }

// Prefill implements [Prefiller].
func (t *Retry) Prefill() bool { return Prefills(t.Model) }

// Stream implements [Model].
func (t *Retry) Stream(ctx context.Context, r Request) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		attempts := t.Attempts
		if attempts <= 0 {
			attempts = 3
		}
		for n := 1; ; n++ {
			failed, over := untilFirst(t.Model.Stream(ctx, r), yield)
			if over {
				return
			}
			wait, again := t.delay(n, failed)
			if n >= attempts || !again || ctx.Err() != nil || !pause(ctx, wait) {
				yield(nil, ended(ctx, failed))
				return
			}
		}
	}
}

// untilFirst hands an answer over. It returns the error of one that failed before
// its first part; otherwise the answer is over.
func untilFirst(answer iter.Seq2[Part, error], yield func(Part, error) bool) (failed error, over bool) {
	begun := false
	for p, err := range answer {
		if err != nil && !begun {
			return err, false
		}
		begun = true
		if !yield(p, err) || err != nil {
			return nil, true
		}
	}
	return nil, true
}

// ended is the error of a call that gives up: the end of ctx, if that is why.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (t *Retry) delay(attempt int, err error) (d time.Duration, again bool) {
	on := t.On
	if on == nil {
		on = passing
	}
	if CauseOf(err) != Transient || !slices.Contains(on, ClassOf(err)) {
		return 0, false
	}
	longest, d := orDefault(t.MaxDelay, 30*time.Second), orDefault(t.Delay, time.Second)
	for range attempt - 1 {
		d = min(2*d, longest)
	}
	d = min(d, longest)
	// A new seed is random: turns that have failed together do not come back together.
	if half := uint64(d / 2); half > 0 {
		d -= time.Duration(maphash.String(maphash.MakeSeed(), "") % half)
	}
	if wish := retryAfter(err); wish > 0 {
		return max(d, wish), wish <= longest
	}
	return d, true
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// pause waits. It returns false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
