package main

import (
	"context"
	"net/http"
	"sync"
)

// holds are where answers and calls wait until a client lets them go on:
// GET /release?hold=NAME, once and for good. GET /held?hold=NAME returns when somebody
// waits there.
type holds struct {
	mu    sync.Mutex
	gates map[string]chan struct{}
}

var held, reached = holds{gates: map[string]chan struct{}{}}, holds{gates: map[string]chan struct{}{}}

func (h *holds) gate(name string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gates[name] == nil {
		h.gates[name] = make(chan struct{})
	}
	return h.gates[name]
}

func (h *holds) wait(ctx context.Context, name string) error {
	if h == &held {
		reached.open(name)
	}
	select {
	case <-h.gate(name):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *holds) open(name string) {
	gate := h.gate(name)
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-gate:
	default:
		close(gate)
	}
}

// ServeHTTP implements http.Handler.
func (h *holds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("hold")
	if h == &held {
		h.open(name)
	} else if h.wait(r.Context(), name) != nil {
		return
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.WriteHeader(http.StatusNoContent)
}
