package actors

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"
)

// Method is a function of the author's that clients call by name.
type Method struct {
	// Name is what clients call it: letters, digits, _ and $, as in JavaScript.
	Name string
	// Description tells people and programs what it is for.
	Description string
	// Func is func(ctx context.Context, self *Self, …) error, or with one result
	// before the error. What follows self are the client's arguments by position, each of
	// any type that JSON fits into. A pointer may be null, and missing if nothing
	// but pointers follows; the last may be variadic. Fields of a struct must be there
	// unless marked omitempty or omitzero, and no others may.
	//
	// With *Reply right after self it is a streaming method.
	//
	// ctx ends when the node stops and, once something was sent by a streaming method,
	// with the caller's socket. Methods of one agent run concurrently, also with its turns; see
	// UpdateState. A call is carried out at most once and is not journaled: a crash
	// leaves the caller without a reply.
	//
	// Errors made by Errorf, and *Error, reach the caller with their text. Any other,
	// and a panic, is logged and told as "Unknown error occurred".
	Func any
	// Params are the names of the arguments in errors. None: they are numbered.
	Params []string
	// Timeout cuts a call off, with an error to the caller; 0: never.
	Timeout time.Duration
	// Internal: only Ref.Call may call it; clients are told that it is not callable.
	Internal bool
}

// NewMethod returns a method; Method says what f may be.
func NewMethod(name, description string, f any, params ...string) Method {
	return Method{Name: name, Description: description, Func: f, Params: params}
}

// MethodInfo describes a method to programs.
type MethodInfo struct {
	Name, Description string
	Streaming         bool
}

// Methods returns what clients may call, by name.
func (r *Ref) Methods() []MethodInfo {
	d, err := r.desk()
	if err != nil {
		return nil
	}
	var list []MethodInfo
	for _, m := range d.class.Callable {
		if !m.Internal {
			list = append(list, MethodInfo{m.Name, m.Description, d.methods[m.Name].streams})
		}
	}
	return list
}

// method is a Method made ready.
type method struct {
	Method
	f        reflect.Value
	streams  bool
	results  bool // something before the error
	params   []param
	needed   int  // arguments that must be there
	variadic bool // the last of params may be there any number of times
}

var (
	contextType = reflect.TypeFor[context.Context]()
	selfType    = reflect.TypeFor[*Self]()
	replyType   = reflect.TypeFor[*Reply]()
	errorType   = reflect.TypeFor[error]()
)

var methodName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]{0,99}$`)

// unreachable are properties that JavaScript asks any object for; the clients'
// stub never makes a call of them.
var unreachable = []string{
	"toJSON", "then", "catch", "finally", "valueOf", "toString", "constructor", "prototype", "$$typeof", "asymmetricMatch", "nodeType",
}

// compile returns an error that goes on the sentence "Callable[0] (add) …".
func (m Method) compile() (*method, error) {
	c := &method{Method: m, f: reflect.ValueOf(m.Func)}
	switch {
	case !methodName.MatchString(m.Name):
		return nil, fmt.Errorf("has a name that does not match %s", methodName)
	case slices.Contains(unreachable, m.Name):
		return nil, errors.New("has a name that clients cannot call: JavaScript asks every object for it")
	case m.Timeout < 0:
		return nil, fmt.Errorf("has a negative Timeout: %s", m.Timeout)
	case c.f.Kind() != reflect.Func || c.f.IsNil():
		return nil, fmt.Errorf("needs a function in Func, not %T", m.Func)
	}
	in, err := c.signature()
	if err != nil {
		return nil, err
	}
	if len(m.Params) != 0 && len(m.Params) != len(in) {
		return nil, fmt.Errorf("has %d arguments and %d names in Params", len(in), len(m.Params))
	}
	c.variadic = c.f.Type().IsVariadic()
	for i, t := range in {
		p := param{number: i + 1, shape: shape{typ: t}}
		if len(m.Params) > 0 {
			p.name = m.Params[i]
		}
		last := c.variadic && i == len(in)-1
		if last {
			p.typ = t.Elem()
		}
		if !last && t.Kind() != reflect.Pointer {
			c.needed = i + 1
		}
		if p.schema, err = schemaFor(p.typ); err != nil {
			return nil, fmt.Errorf("has an argument that JSON does not fit into: %s: %w", p, err)
		}
		c.params = append(c.params, p)
	}
	return c, nil
}

// signature checks all but the client's arguments, and returns their types.
func (m *method) signature() ([]reflect.Type, error) {
	t := m.f.Type()
	bad := fmt.Errorf("has Func %s, must be func(context.Context, *actors.Self, …) error, with one result before the error or none", t)
	if t.NumIn() < 2 || t.In(0) != contextType || t.In(1) != selfType {
		return nil, bad
	}
	if n := t.NumOut(); n < 1 || n > 2 || t.Out(n-1) != errorType {
		return nil, bad
	}
	m.results = t.NumOut() == 2
	var in []reflect.Type
	for i := 2; i < t.NumIn(); i++ {
		in = append(in, t.In(i))
	}
	if len(in) > 0 && in[0] == replyType {
		m.streams, in = true, in[1:]
	}
	if slices.Contains(in, replyType) {
		return nil, errors.New("has *actors.Reply in a place that is not right after *actors.Self")
	}
	return in, nil
}
