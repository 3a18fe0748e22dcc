package chat

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

// FuzzCore plays any series of commands, outcomes, crashes and planned stops, in
// order or late, and checks the invariants after each. The first byte chooses
// the policy; then each action takes two bytes, what and how.
func FuzzCore(f *testing.F) {
	for flags := range byte(80) {
		for _, words := range callScripts {
			f.Add(script(flags, words...))
		}
		f.Add(script(flags, "ask", "write:6", "succeed", "ask:4", "write:0", "write:6", "die:1", "write:6", "die", "succeed", "shorten", "ask"))
		f.Add(script(flags, "ask", "ask:3", "fail", "stop", "sleep", "write:6", "fail", "cancel", "late", "sleep", "late"))
		f.Add(script(flags, "ask", "write:6", "fail", "clear:1", "late", "ask", "ask again", "clear:1", "ask again"))
		f.Add(script(flags, "ask", "set state:1", "set state:2", "die", "die", "clear", "set state:2", "set state:7", "ask", "shorten", "die", "ask", "handler ends:3", "fail:2", "sleep", "fail:2", "sleep", "fail:2"))
		f.Add(script(flags, "ask", "write:6", "edit:5", "succeed", "regenerate:1", "set state:3", "ask:2", "more positions", "stop", "cancel:1", "shorten", "stop"))
		f.Add(script(flags, "ask", "die", "die", "die", "ask", "handler ends:3", "fail:2", "sleep", "fail:2", "sleep", "fail:2"))
		f.Add(script(flags, "ask", "save", "ask:1", "ask:2", "succeed", "succeed", "ask:5", "sleep", "ask", "reset", "ask", "ask", "die", "sleep", "late"))
		f.Add(script(flags, "ask", "write:6", "ask", "ask", "continue", "succeed", "save", "interrupt", "write:6", "die", "save", "die", "ask:6", "shorten"))
		f.Add(script(flags, "ask", "write:7", "persist:3", "cancel", "edit:9", "succeed", "persist:12", "shorten", "ask:5", "write:6", "succeed", "forge:7", "die"))
		f.Add(script(flags, "sub", "sub:1", "ask", "drop", "die", "drop:1", "stop", "succeed:1", "sub", "shorten", "succeed:1", "drop:1"))
		f.Add(script(flags, "ask", "write:6", "ask", "reset", "ask", "late", "sub", "delete", "ask", "die", "late", "erase", "ask", "late"))
		f.Add(script(flags, "ask", "forge:7", "persist", "forge:9", "continue", "write:6", "succeed", "succeed", "continue", "persist", "forge:3"))
		f.Add(script(flags, "ask", "delete", "reset", "set state:1", "continue", "save", "interrupt", "persist"))
		f.Add(script(flags, "delete:1", "erase", "sub:1", "ask", "die", "delete:1", "fail", "sleep", "delete", "stop", "erase", "ask again"))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) == 0 || len(script) > 200 {
			return
		}
		p := newPlayer(t, script[0])
		for rest := script[1:]; len(rest) >= 2; rest = rest[2:] {
			actions[int(rest[0])%len(actions)].do(p, int(rest[1]))
		}
		boundaries, as := p.boundaries, *p.rig
		p.end()                                                       // may erase the journal
		for i := 0; i < len(boundaries); i += 1 + len(boundaries)/8 { // all would take too long
			(&player{rig: &as}).crashedAt(boundaries[i], i%3).end()
		}
	})
}

// player is a rig that remembers what it did, to do it again later.
type player struct {
	*rig
	submits    []Submit
	outcomes   []Command         // given before; each must change nothing any more
	due        map[string]Effect // due after the last command
	past       map[string]Effect // due once, and no longer
	boundaries []int             // lengths of the journal between steps
	loops      uint32            // that handlers have asked for
}

func newPlayer(t testing.TB, flags byte) *player {
	p := Policy{
		Handler: flags&1 > 0, NoRecovery: flags&2 > 0, Hook: flags&4 > 0,
		MaxCrashes: 3, MaxFailures: 3, MaxDeliveries: 3, MaxQueuedTurns: 4,
		Overlap: Overlap(flags / 16 % 5), Debounce: 750,
	}
	if flags&16 > 0 {
		p.MaxMessages, p.MaxBytes, p.Sanitizes = 5, 400, true
	}
	if flags&8 > 0 {
		p.MaxQueuedTurns = 40 // more than are remembered when they have ended
	}
	return &player{rig: newRig(t, p), due: map[string]Effect{}, past: map[string]Effect{}}
}

// crashedAt is another run whose process died when n records were stored, of
// which the last few that are streamed may be lost. An append is whole, so a crash
// is always between steps.
func (p *player) crashedAt(n, lose int) *player {
	other := &player{rig: &rig{
		t: p.t, policy: p.policy, now: p.now, incarnation: 1000, fresh: 1000,
		journal: slices.Clone(p.journal[:n]), tombstone: p.tombstone, shown: map[string]uint64{}, room: newAudience(), blobs: maps.Clone(p.blobs),
	}, due: map[string]Effect{}, past: map[string]Effect{}}
	other.crash(lose)
	return other
}

// give steps cmd, and once more: it must change nothing then. Reserve asks for
// more each time; a Clear without a key wipes what there is.
func (p *player) give(cmd Command) {
	_, _, err := p.step(cmd)
	p.track()
	if err != nil {
		return
	}
	switch cmd := cmd.(type) {
	case Reserve, Interrupt, Reset: // ask for it once more
	case Persist, SetMessages: // what the first one has pushed out comes again
		if p.policy.MaxMessages == 0 {
			p.changesNothing(cmd)
		}
	case Clear:
		if cmd.Key != "" {
			p.changesNothing(cmd)
		}
	default:
		p.changesNothing(cmd)
	}
}

func (p *player) changesNothing(cmd Command) {
	events, _, _ := p.step(cmd)
	require.Empty(p.t, events, "%T%+v comes again or late and changes something", cmd, cmd)
}

// track follows the effects: a key that is no longer due never comes back.
func (p *player) track() {
	work, _ := p.state().Outstanding()
	now := make(map[string]Effect, len(work))
	for _, e := range work {
		require.NotContains(p.t, p.past, e.Key(), "a key is used twice")
		now[e.Key()] = e
	}
	for key, e := range p.due {
		if now[key] == nil {
			p.past[key] = e
		}
	}
	p.due = now
	p.boundaries = append(p.boundaries, len(p.journal))
}

// end lets everything end, and looks back at the whole journal.
func (p *player) end() {
	p.compare()
	p.finish()
	p.compare()
	p.checkJournal()
	accepted, ended := map[uint64]int{}, map[uint64]int{}
	first := map[string]uint64{}
	overlap, newest := map[uint64]uint64{}, uint64(0)
	for _, rec := range p.journal {
		e := p.decode(rec)
		switch {
		case e.GetTurnAccepted() != nil:
			a := e.GetTurnAccepted()
			accepted[a.GetTurn()]++
			overlap[a.GetTurn()] = a.GetOverlapSeq()
			newest = max(newest, a.GetOverlapSeq())
		case e.GetTurnEnded() != nil:
			ended[e.GetTurnEnded().GetTurn()]++
		case e.GetTurnStarted() != nil:
			s := e.GetTurnStarted()
			turn := fmt.Sprint(s.GetTurn())
			require.True(p.t, s.GetAttempt() > 1 || overlap[s.GetTurn()] == 0 || overlap[s.GetTurn()] == newest, "turn %s is superseded and runs", turn)
			require.GreaterOrEqual(p.t, s.GetFirst(), first[turn], "positions of turn %s are used twice", turn)
			first[turn] = s.GetReserved()
		case e.GetPositionsReserved() != nil:
			first[fmt.Sprint(e.GetPositionsReserved().GetTurn())] = e.GetPositionsReserved().GetReserved()
		case e.GetBase() != nil:
			return // what was before is gone
		}
	}
	require.Equal(p.t, accepted, ended, "each accepted turn ends once")
	for _, n := range accepted {
		require.Equal(p.t, 1, n)
	}
}

// compare replays the journal in three ways.
func (p *player) compare() {
	s := p.state()
	replayed := p.replay(func(record) bool { return true })
	require.Equal(p.t, picture(s), picture(replayed), "live and replayed differ")
	if !p.calls() { // outcomes change what was streamed before them, and is there then
		sparse := p.replay(func(r record) bool { return !r.streamed })
		require.Equal(p.t, lasting(s), lasting(sparse), "without streamed records something else has happened")
	}
	if s.CanRebase() {
		require.Equal(p.t, picture(s), picture(based(s)), "a base forgets something")
	}
}

type action struct {
	name string
	do   func(p *player, how int)
}

var actions = []action{
	{"ask", (*player).ask}, {"regenerate", (*player).regenerate}, {"ask again", (*player).askAgain},
	{"cancel", (*player).cancel}, {"clear", (*player).clear}, {"edit", (*player).edit},
	{"persist", (*player).persist}, {"forge", (*player).forge},
	{"write", (*player).write}, {"more positions", (*player).more},
	{"succeed", (*player).succeed}, {"fail", (*player).fails}, {"handler ends", (*player).handlerEnds},
	{"sleep", (*player).sleep}, {"die", (*player).die}, {"stop", (*player).stop}, {"late", (*player).late},
	{"shorten", (*player).shorten}, {"set state", (*player).setState},
	{"save", (*player).save}, {"continue", (*player).goOn},
	{"interrupt", (*player).interrupt}, {"reset", (*player).reset},
	{"sub", (*player).sub}, {"drop", (*player).drop},
	{"call", (*player).call}, {"answer step", (*player).answerStep}, {"run tool", (*player).runTool},
	{"answer", (*player).answerCall}, {"approve", (*player).approve}, {"loop", (*player).loop}, {"overflow", (*player).overflow},
	{"delete", (*player).remove}, {"erase", (*player).eraseAll},
}

// script is a fuzz input in words: actions, each with a digit that says how.
func script(flags byte, words ...string) []byte {
	out := []byte{flags}
	for _, word := range words {
		name, how, _ := strings.Cut(word, ":")
		i := slices.IndexFunc(actions, func(a action) bool { return a.name == name })
		if i < 0 {
			panic("no action is called " + name)
		}
		n, _ := strconv.Atoi(how) // none: 0
		out = append(out, byte(i), byte(n))
	}
	return out
}

func (p *player) ask(how int) {
	cmd := submit(fmt.Sprintf("r%d", len(p.submits)), append(p.list(how), user(fmt.Sprintf("u%d", len(p.submits))))...)
	cmd.Now = p.now
	switch how % 7 {
	case 1:
		cmd.Messages, cmd.Programmatic = cmd.Messages[len(cmd.Messages)-1:], true
	case 2:
		cmd.Messages = append(cmd.Messages, user(fmt.Sprintf("x%d", how)))
	case 3: // a tab that knows an answer under another id
		for i, m := range cmd.Messages {
			if m.Role == uimessage.Assistant {
				cmd.Messages[i].ID = "other-" + m.ID
			}
		}
	case 4:
		cmd.Body = []byte(`{"n":1}`)
	case 5:
		cmd.Messages, cmd.Append, cmd.Fingerprint = cmd.Messages[len(cmd.Messages)-1:], true, []byte{byte(how)}
	case 6: // a tab that has missed a merge
		for _, id := range slices.Sorted(maps.Keys(p.state().Transcript.Aliases)) {
			cmd.Messages = append([]uimessage.Message{user(id)}, cmd.Messages...)
		}
	}
	p.submits = append(p.submits, cmd)
	p.give(cmd)
}

func (p *player) cancel(how int) {
	requests := slices.Sorted(maps.Keys(p.room.known))
	if len(requests) > 0 {
		p.give(Cancel{Request: requests[how%len(requests)]})
	}
}

func (p *player) clear(how int) {
	cmd := Clear{}
	if how%2 > 0 {
		cmd.Key = fmt.Sprint(how)
	}
	if _, known := p.state().Ledger.Keys.Turn(clearKey(cmd.Key)); known || p.state().Family.Deleted {
		p.changesNothing(cmd)
		return
	}
	generation := p.state().Ledger.Generation
	p.give(cmd)
	require.Empty(p.t, p.state().Transcript.Messages)
	require.Empty(p.t, p.state().Turns.Queue)
	require.Greater(p.t, p.state().Ledger.Generation, generation)
}

func (p *player) write(how int) {
	if p.state().Turns.Running() == nil || p.state().Steps.RetryAt > 0 {
		return
	}
	switch how % 8 {
	case 0:
		p.keep(uimessage.Chunk{Type: "start", MessageID: fmt.Sprintf("own%d", how)})
	case 1:
		p.keep(uimessage.Chunk{Type: "data-x", Data: []byte("1"), Transient: true})
	case 2:
		p.keep(uimessage.Chunk{Type: "tool-input-available", ToolCallID: fmt.Sprint("c", how), ToolName: "t", Input: []byte("{}")})
	case 3:
		p.keep(uimessage.Chunk{Type: "finish-step"}, uimessage.Chunk{Type: "finish", MessageMetadata: []byte(`{"finishReason":"stop"}`)})
	case 4:
		p.keep()
	case 5:
		p.keep(uimessage.Chunk{Type: "start-step"})
	default:
		p.say("word ")
	}
	p.track()
}

func (p *player) one(how int) Effect {
	work, _ := p.state().Outstanding()
	if len(work) == 0 || work[0] == (Erase{}) { // which has an action of its own
		return nil
	}
	return work[how%len(work)]
}

func (p *player) succeed(how int) {
	if e := p.one(how); e != nil {
		p.outcome(answer(e))
	}
}

func (p *player) fails(how int) {
	if e := p.one(how / 2); e != nil {
		p.outcome(p.fail(e, how%2 == 0))
	}
}

func (p *player) handlerEnds(how int) {
	if e, ok := p.one(0).(Handle); ok {
		p.outcome(HandlerEnded{Turn: e.Turn, Attempt: e.Attempt, Result: HandlerResult(how % 6), Text: "text"})
	}
}

func (p *player) outcome(cmd Command) {
	p.outcomes = append(p.outcomes, cmd)
	p.give(cmd)
}

func (p *player) sleep(how int) {
	if _, waits := p.state().Outstanding(); len(waits) > 0 {
		w := waits[how%len(waits)]
		if w.Until > p.now {
			p.changesNothing(TimerFired{Key: w.Key, Now: p.now})
		}
		p.now = max(p.now, w.Until)
		p.outcome(TimerFired{Key: w.Key, Now: p.now})
	}
}

func (p *player) die(how int) {
	p.compare()
	events := p.crash(how % 4)
	kept := len(p.journal) - len(events) // what was lost had boundaries, too
	p.boundaries = slices.DeleteFunc(p.boundaries, func(n int) bool { return n > kept })
	p.track()
}

func (p *player) stop(int) {
	p.give(Rest{})
	p.crash(0)
	p.track()
}

// late gives outcomes that decide nothing: given before, or of work that is over.
func (p *player) late(how int) {
	if n := len(p.outcomes); n > 0 {
		p.changesNothing(p.outcomes[how%n])
	}
	if keys := slices.Sorted(maps.Keys(p.past)); len(keys) > 0 {
		e := p.past[keys[how%len(keys)]]
		if (e == Erase{}) {
			return // there is nobody left to be late for
		}
		p.changesNothing(p.fail(e, how%2 == 0))
		if _, hook := e.(Deliver); !hook { // a hook that has run has run, whichever attempt it was
			p.changesNothing(answer(e))
		}
	}
	p.changesNothing(TimerFired{Now: p.now})
	p.changesNothing(Activate{Incarnation: p.incarnation})
}

func (p *player) shorten(int) {
	if p.state().CanRebase() {
		p.compare()
		p.rebase()
		p.boundaries = nil
		p.track()
	}
}

func (p *player) more(int) {
	if t := p.state().Turns.Running(); t != nil {
		p.give(Reserve{Turn: t.ID, Attempt: t.Attempt})
	}
}
