package chat

import (
	"fmt"

	"github.com/stretchr/testify/require"
)

// Actions of FuzzCore on the family and on the agent's own end.

func (p *player) sub(how int) {
	p.now++ // so that no two of one name are of one time
	p.give(RegisterSub{Class: "Helper", Name: fmt.Sprint("h", how%3), Now: p.now})
}

func (p *player) drop(how int) {
	p.give(RemoveSub{Class: "Helper", Name: fmt.Sprint("h", how%3)})
}

// remove deletes the agent: 0 in any case, else only if it is not used.
func (p *player) remove(how int) {
	unused := p.state().Unused()
	p.give(Delete{Reason: "test", IfUnused: how%2 > 0})
	require.True(p.t, p.state().Family.Deleted || how%2 > 0 && !unused)
}

func (p *player) eraseAll(int) {
	if !p.state().Family.Deleted {
		return
	}
	p.compare()
	p.erase()
	p.outcomes, p.boundaries = nil, nil
	p.due, p.past = map[string]Effect{}, map[string]Effect{}
	p.track()
}
