package actors

import (
	"encoding/json"
	"fmt"
)

// desk is what a class has beside the conversation, made ready at registration.
type desk struct {
	class   *Agent
	initial json.RawMessage // state of an agent that has none; nil: none
	methods map[string]*method
}

// newDesk panics if it cannot work: a mistake of the author's.
func newDesk(a *Agent) *desk {
	fail := func(field string, err error) {
		panic(fmt.Sprintf("actors: agent %q: %s %v", a.Name, field, err))
	}
	d := &desk{class: a, methods: make(map[string]*method)}
	if a.MaxStateBytes < 0 || a.MaxStateBytes > mostStateBytes {
		fail("MaxStateBytes", fmt.Errorf("is %d; 0 to %d are allowed", a.MaxStateBytes, mostStateBytes))
	}
	if a.InitialState != nil {
		var err error
		if d.initial, err = encode(a.InitialState); err != nil {
			fail("InitialState", fmt.Errorf("is no JSON: %w", err))
		}
		if err := d.fits(d.initial); err != nil {
			fail("InitialState", err)
		}
	}
	for i, m := range a.Callable {
		compiled, err := m.compile()
		if err == nil && d.methods[m.Name] != nil {
			err = fmt.Errorf("is there twice")
		}
		if err != nil {
			fail(fmt.Sprintf("Callable[%d] (%s)", i, m.Name), err)
		}
		d.methods[m.Name] = compiled
	}
	return d
}

// desk returns that of the agent's class.
func (r *Ref) desk() (*desk, error) {
	d := r.rt.desks[r.addr.Class]
	if d == nil {
		return nil, &Error{Code: UnknownAgent, Message: fmt.Sprintf("agent class %q is not known here", r.addr.Class)}
	}
	return d, nil
}

// chats refuses the commands of a conversation to an agent that has none.
func (r *Ref) chats() error {
	if class := r.rt.classes[r.addr.Class]; class != nil && !class.Chats() {
		return &Error{Code: BadRequest, Message: fmt.Sprintf("%s is no chat agent: it has neither Model nor OnChatMessage", class.Name)}
	}
	return nil
}
