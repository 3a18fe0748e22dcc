package protocol

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/coder/websocket"
)

// Code is the kind of a failure that a client may be told of.
type Code string

// The closed list of codes. Their statuses are in one table, below.
const (
	Invalid         Code = "invalid"         // the request is malformed or breaks a limit
	Unauthenticated Code = "unauthenticated" // nobody knows who is asking
	Denied          Code = "denied"          // the asker may not do this
	NotFound        Code = "not_found"       // no such thing
	Conflict        Code = "conflict"        // what is asked contradicts what is stored
	TooLarge        Code = "too_large"       // over a size limit
	Unavailable     Code = "unavailable"     // not now; trying again later may help
	Quarantined     Code = "quarantined"     // this agent cannot be run until somebody looks at it
	Internal        Code = "internal"        // our fault; the message tells nothing of it
)

// statuses gives each code its HTTP status and its WebSocket close code. 1008
// and 4000-4999 are final: the clients do not reconnect after them. All others
// they retry.
var statuses = map[Code]struct {
	http  int
	close websocket.StatusCode
}{
	Invalid:         {http.StatusBadRequest, websocket.StatusPolicyViolation},
	Unauthenticated: {http.StatusUnauthorized, 4401},
	Denied:          {http.StatusForbidden, 4403},
	NotFound:        {http.StatusNotFound, 4404},
	Conflict:        {http.StatusConflict, 4409},
	TooLarge:        {http.StatusRequestEntityTooLarge, websocket.StatusMessageTooBig},
	Unavailable:     {http.StatusServiceUnavailable, websocket.StatusTryAgainLater},
	Quarantined:     {http.StatusServiceUnavailable, websocket.StatusInternalError},
	Internal:        {http.StatusInternalServerError, websocket.StatusInternalError},
}

// An Error is a failure whose text a client may read. A Host and the hooks of a
// Config return it; any other error is told as "internal error" and logged.
type Error struct {
	Code    Code
	Message string // for people; names the field, the value and the limit if there is one

	// Status and Header, if set, are those of the HTTP response, instead of the
	// code's status and besides the usual header. Sockets know nothing of them.
	Status int
	Header http.Header
}

// httpStatus is that of a response; a status that says that all is well, or that
// there is none, is a mistake of the author's.
func (e *Error) httpStatus() int {
	if e.Status >= 300 && e.Status <= 999 {
		return e.Status
	}
	return statuses[e.Code].http
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

var errStopping = &Error{Code: Unavailable, Message: "node is stopping"}

func invalid(message string) *Error { return &Error{Code: Invalid, Message: message} }

// public is what a client may know of err: err itself if it is an *Error, else
// "internal error". The second result tells whether err has to be logged.
func public(err error) (e *Error, hidden bool) {
	if errors.As(err, &e) {
		if _, known := statuses[e.Code]; known {
			return e, false
		}
	}
	return &Error{Code: Internal, Message: "internal error"}, true
}

// guard runs what the author may have written. A panic in it is an error, which is
// hidden from clients.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
