package model

import (
	"errors"
	"fmt"
	"time"
)

// Cause says what a failure means for the turn.
type Cause string

const (
	// Transient: trying again may help (overload, network, 5xx, 408, 409, 429).
	Transient Cause = "transient"
	// Refused: the same request will fail again (bad request, no such model).
	Refused Cause = "refused"
	// Unauthorised: the key is missing, wrong or out of credit.
	Unauthorised Cause = "unauthorised"
	// TooLong: the conversation does not fit into the model's context.
	TooLong Cause = "context-overflow"
)

// Class says what has gone wrong, for logs, metrics and for who decides whether
// another model could do better.
type Class string

const (
	RateLimit       Class = "rate-limit"       // too many requests or tokens in a time
	Overload        Class = "overload"         // the provider is out of capacity or out of order
	Network         Class = "network"          // no connection, a broken one, or what is no answer
	ContextOverflow Class = "context-overflow" // the request is too long
	Auth            Class = "auth"             // the key is missing, wrong, not allowed, or out of credit
	Filtered        Class = "content-filter"   // the provider refuses the content
	BadRequest      Class = "bad-request"      // the provider does not understand the request, or has no such model
	UnknownClass    Class = ""                 // an error that nobody has classed
)

// hints are what an operator can do.
var hints = map[Class]string{
	RateLimit:       "The provider limits how much this key may ask. It is tried again; if it happens often, ask the provider for a higher limit, or list another model as a fallback.",
	Overload:        "The provider has no capacity or is out of order. It is tried again; if it lasts, look at the provider's status page, or list another model as a fallback.",
	Network:         "The provider could not be reached, or the connection broke. Check the base URL, DNS, proxies and firewalls between this node and it.",
	ContextOverflow: "The conversation is longer than the model can read. Let the agent compact or prune its messages, or use a model with a larger context.",
	Auth:            "The provider does not accept the key, or its account has no credit or no access to the model. Check the key and the account.",
	Filtered:        "The provider's filter has refused the content. Nothing is wrong with the node.",
	BadRequest:      "The provider does not accept the request. Check the model's name, the base URL and the options that the agent sends.",
}

// Hint says in plain words what an operator can do about errors of the class; ""
// for UnknownClass. It has nothing of the provider's answer in it.
func (c Class) Hint() string { return hints[c] }

// An Error is a provider's failure. Public is fit for a visitor's eyes: it says
// what happened without the provider's text. The rest is for logs.
type Error struct {
	Cause      Cause
	Class      Class
	Public     string
	Status     int           // HTTP status; 0 if there was none
	RetryAfter time.Duration // the provider's wish; 0 if none
	Err        error
}

func (e *Error) Error() string {
	what := string(e.Cause)
	if e.Class != UnknownClass && string(e.Class) != what {
		what += ", " + string(e.Class)
	}
	if e.Status > 0 {
		return fmt.Sprintf("model: %s (HTTP %d): %v", what, e.Status, e.Err)
	}
	return fmt.Sprintf("model: %s: %v", what, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// CauseOf returns the cause of an error that a Model has yielded. An error that
// is no *Error counts as Refused: nobody knows that trying again is safe.
func CauseOf(err error) Cause {
	var e *Error
	if errors.As(err, &e) {
		return e.Cause
	}
	return Refused
}

// ClassOf returns the class of an error that a Model has yielded, or UnknownClass.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return UnknownClass
}

// retryAfter is the provider's wish, or 0.
func retryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}
