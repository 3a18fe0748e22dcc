package actors

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// author runs f, a hook or method of the author's that belongs to no turn, on a
// goroutine of its own and returns its error. A panic is an error. f is left
// behind, and why is returned, when ctx ends, limit has passed (0: none) or the
// node stops.
func (rt *Runtime) author(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	if !rt.enter() {
		return errNodeStops
	}
	defer rt.work.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(context.Canceled)
	defer context.AfterFunc(rt.leaving, func() { cancel(errNodeStops) })()
	if limit > 0 {
		timed, stop := context.WithTimeoutCause(ctx, limit, errHookTimeout)
		defer stop()
		ctx = timed
	}
	return rt.cutOff(ctx, func() error { return f(ctx) })
}

var errHookTimeout = errors.New("actors: the hook took longer than HookTimeout")

// enter has Stop wait for what comes from outside, until work.Done. False: it is
// too late.
func (rt *Runtime) enter() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.stopping {
		return false
	}
	rt.work.Add(1)
	return true
}

// cutOff runs f and returns its error, or ctx's cause if that ends first: f may
// ignore ctx. What it does after that has no effect on us.
func (rt *Runtime) cutOff(ctx context.Context, f func() error) error {
	return cutOff(ctx, rt.background, f)
}

func cutOff(ctx context.Context, background func(func()), f func() error) error {
	done := make(chan error, 1)
	background(func() {
		err := errGoexit
		defer func() { done <- err }()
		if p := guard(func() { err = f() }); p != nil {
			err = p
		}
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failed logs what a hook or method could not do, and tells OnError on a
// goroutine of its own. A stop of the node is nobody's fault.
func (r *Ref) failed(ctx context.Context, what string, err error) {
	log := r.rt.cfg.Log.With("agent", r.addr.String())
	if errors.Is(err, errNodeStops) || !r.rt.enter() {
		log.Debug(what+" was cut off", "error", err)
		return
	}
	log.Error(what+" failed", "error", err)
	d, _ := r.desk()
	r.rt.background(func() {
		defer r.rt.work.Done()
		if d == nil || d.class.OnError == nil {
			return
		}
		p := r.rt.author(context.WithoutCancel(ctx), d.class.hookTimeout(), func(ctx context.Context) error {
			d.class.OnError(ctx, r.self(), fmt.Errorf("%s: %w", what, err))
			return nil
		})
		if p != nil {
			log.Error("OnError failed", "error", p)
		}
	})
}

// self is the agent as its hooks get it.
func (r *Ref) self() *Self { return &Self{Ref: &Ref{rt: r.rt, addr: r.addr}} }
