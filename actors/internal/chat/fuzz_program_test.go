package chat

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
)

// What the author's program may ask for in FuzzCore.

// save asks for a turn whose messages are made when its slot comes.
func (p *player) save(int) {
	cmd := submit(fmt.Sprintf("r%d", len(p.submits)))
	cmd.Programmatic, cmd.Deferred = true, true
	p.submits = append(p.submits, cmd)
	p.give(cmd)
}

func (p *player) goOn(how int) {
	p.fresh++
	p.give(Continue{Request: fmt.Sprintf("c%d", p.fresh), Fingerprint: []byte{byte(how)}})
}

func (p *player) interrupt(int) { p.give(Interrupt{}) }

func (p *player) reset(int) {
	before, generation := p.listed(), p.state().Ledger.Generation
	p.give(Reset{})
	if p.state().Family.Deleted {
		return // was refused
	}
	if p.policy.MaxMessages == 0 { // else the partial answer may push out the oldest
		require.True(p.t, strings.HasPrefix(p.listed(), before), "a reset keeps the conversation")
	}
	require.Empty(p.t, p.state().Turns.Queue)
	require.Greater(p.t, p.state().Ledger.Generation, generation)
}

// setState sets one of a few states, or swaps one that may be another by now.
func (p *player) setState(how int) {
	cmd := SetState{JSON: fmt.Appendf(nil, `{"n":%d}`, how%3)}
	if how%4 == 3 {
		cmd.Swap, cmd.Was = true, fmt.Appendf(nil, `{"n":%d}`, how%2)
	}
	before := p.state().Desk.State
	_, _, err := p.step(cmd)
	p.track()
	if p.state().Family.Deleted {
		require.ErrorIs(p.t, err, ErrDeleted)
		return
	}
	swapped := !cmd.Swap || same(before, cmd.Was)
	require.Equal(p.t, swapped, err == nil)
	want := before
	if swapped {
		want = cmd.JSON
		p.changesNothing(SetState{JSON: cmd.JSON})
	}
	require.Equal(p.t, string(want), string(p.state().Desk.State))
}
