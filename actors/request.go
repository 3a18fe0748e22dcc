package actors

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
)

// Serve answers a plain request to the agent by OnRequest; false: the class has
// none, and nothing was written. rest is the path below the agent's.
func (r *Ref) Serve(w http.ResponseWriter, req *http.Request, rest string) (ours bool) {
	d, err := r.desk()
	if err != nil || d.class.OnRequest == nil {
		return false
	}
	if !r.rt.enter() {
		http.Error(w, errNodeStops.Error(), http.StatusServiceUnavailable)
		return true
	}
	defer r.rt.work.Done()
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(context.Canceled)
	defer context.AfterFunc(r.rt.leaving, func() { cancel(errNodeStops) })()
	req = req.WithContext(ctx)
	req.SetPathValue("rest", "/"+strings.TrimPrefix(rest, "/"))
	answer := &answer{ResponseWriter: w}
	defer func() {
		ours = true
		if p := recover(); p != nil {
			r.crashedRequest(ctx, answer, p)
		}
	}()
	d.class.OnRequest(answer, req, r.self())
	return true
}

// crashedRequest ends a request whose hook has panicked: with a status if none
// was sent, else by cutting the response off.
func (r *Ref) crashedRequest(ctx context.Context, w *answer, p any) {
	if p == http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
		panic(p)
	}
	r.failed(ctx, "OnRequest", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "internal error", http.StatusInternalServerError)
}

// answer knows whether something was written.
type answer struct {
	http.ResponseWriter
	begun bool
}

func (a *answer) WriteHeader(status int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(data []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(data)
}

// Flush implements http.Flusher.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
