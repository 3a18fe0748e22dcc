package actors

import (
	"errors"
	"fmt"
)

// Code is the kind of an Error.
type Code string

const (
	// BadRequest: the caller's input is wrong; the message names field, value and limit.
	BadRequest Code = "bad-request"
	// UnknownAgent: no class of that name is registered on this node.
	UnknownAgent Code = "unknown-agent"
	// Conflict: the id of the request has been used for another one, or the tool call
	// cannot take what was said to it (see ErrSettled).
	Conflict Code = "conflict"
	// NotFound: there is no such thing, or the agent does not remember it any more.
	NotFound Code = "not-found"
	// Busy: too much is waiting already. Trying again later is right.
	Busy Code = "busy"
	// Unavailable: the agent cannot be opened or its journal not be written now.
	Unavailable Code = "unavailable"
	// Quarantined: the agent's journal cannot be read by this version of the
	// program. Nothing is lost; an operator must look.
	Quarantined Code = "quarantined"
	// Denied: the caller may not do this.
	Denied Code = "denied"
	// Internal: the author's code, or this program, has failed; the log says how.
	Internal Code = "internal"
	// Stopping: the node is going down. Another node, or this one later, will do it.
	Stopping Code = "stopping"
)

// An Error is a refusal whose text is fit for a visitor. Nothing was stored.
type Error struct {
	Code    Code
	Message string
	Status  int   // HTTP status of a Deny; 0: the code's own
	err     error // for logs
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.err }

// ErrTurnOver is returned by a turn's stream when the turn has been cancelled
// or is over. A handler should return.
var ErrTurnOver = errors.New("actors: the turn is over")

// ErrInsideTurn refuses a wait for a turn of an agent from inside a turn of that
// agent, or of one that it waits for itself: it could never end.
var ErrInsideTurn = errors.New("actors: a turn cannot wait for another turn of its own agent, or of one that waits for it")

// ErrInterrupted is returned to those who wait for an answer in this process
// when the agent's incarnation has ended, by a fault or because the node stops. The
// answer may still come: the agent's journal knows.
var ErrInterrupted = errors.New("actors: the agent was interrupted")

// Errorf returns an error whose text a visitor may read.
func Errorf(format string, args ...any) error {
	return &visible{fmt.Errorf(format, args...)}
}

type visible struct{ error }

func (v *visible) Unwrap() error { return v.error }

const generalFailure = "Something went wrong while answering. Please try again."

// publicText is what a visitor reads of an author's error.
func publicText(err error) string {
	var v *visible
	if errors.As(err, &v) {
		return v.Error()
	}
	return generalFailure
}
