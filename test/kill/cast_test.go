package kill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/persistence"
)

// chats are the agents that tabs talk to.
var chats = []struct {
	agent  string
	manner manner
}{
	{"ChatAgent/off-1", manner{}},
	{"ChatAgent/off-2", manner{}},
	{"RecoverAgent/on-1", manner{}},
	{"RecoverAgent/on-2", manner{}},
	{"LatestAgent/some", manner{overlaps: true}},
	{"DropAgent/some", manner{overlaps: true, drops: true}},
	{"MergeAgent/some", manner{overlaps: true, keeps: true}},
	{"DebounceAgent/some", manner{overlaps: true}},
	{"FollowAgent/some", manner{follows: true}},
	{board + sub + "HelperAgent/stays", manner{}},
}

// keyed are the agents that programs talk to.
var keyed = []string{"ChatAgent/keys", "RecoverAgent/keys"}

// cast is who else there is besides tabs.
type cast struct {
	scorers  []*scorer
	programs []*program
	kids     []*kid
	at       map[string]*spot // of all agents
}

// spot adds an agent.
func (r *run) spot(agent string) *spot {
	s := &spot{agent: agent, witness: newWitness(agent), history: newHistory(agent)}
	r.spots = append(r.spots, s)
	if r.cast.at == nil {
		r.cast.at = map[string]*spot{}
	}
	r.cast.at[agent] = s
	return s
}

// enter lets all clients begin.
func (r *run) enter(ctx context.Context) {
	streams := uint64(0)
	random := func() *rand.Rand {
		streams++
		return rand.New(rand.NewPCG(r.seed, streams))
	}
	for i, chat := range chats {
		s := r.spot(chat.agent)
		names := []string{fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)}
		last := &agenda{order: []string{names[0], names[0], names[1], names[1]}}
		for j, name := range names {
			tab := &tab{
				name: name, path: "/agents/" + kebab(s.agent), witness: s.witness, world: r.world,
				rng: random(), lead: j == 0, manner: chat.manner, agenda: last, doubt: map[string]bool{},
			}
			s.tabs = append(s.tabs, tab)
			r.clients.Go(func() { tab.run(ctx) })
		}
	}
	for i, agent := range keyed {
		s := r.spot(agent)
		p := &program{
			name: fmt.Sprintf("p%d", i), agent: agent, witness: s.witness, world: r.world, rng: random(),
			bodies: map[string]string{}, answers: map[string]reply{},
		}
		r.cast.programs = append(r.cast.programs, p)
		r.clients.Go(func() { p.run(ctx) })
	}
	r.board = r.spot(board)
	busy := new(atomic.Int32)
	for i := range 3 {
		sc := &scorer{name: fmt.Sprintf("s%d", i), witness: r.board.witness, world: r.world, rng: random(), busy: busy, values: map[int]bool{}}
		busy.Add(1)
		r.cast.scorers = append(r.cast.scorers, sc)
		r.clients.Go(func() { sc.run(ctx) })
	}
	for i := range 2 {
		k := &kid{name: fmt.Sprintf("kid%d", i), world: r.world, rng: random(), gen: 1, left: 2, told: map[string]string{}}
		k.witness = newWitness(k.agent())
		r.cast.kids = append(r.cast.kids, k)
		r.clients.Go(func() { k.run(ctx) })
	}
}

// check compares what they know with the journal.
func (c *cast) check(ctx context.Context, store persistence.Store, parent *history) (faults []string) {
	for _, s := range c.scorers {
		s.check(parent)
	}
	for _, p := range c.programs {
		p.check(c.at[p.agent].history)
	}
	for _, k := range c.kids {
		if err := k.check(ctx, store, parent); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", k.agent(), err))
		}
		faults = append(faults, k.witness.takeFaults()...)
	}
	return faults
}

// atRest is what must be true of them when nothing happens any more.
func (c *cast) atRest(parent *history) (faults []string) {
	for _, s := range c.scorers {
		faults = append(faults, s.differs(parent)...)
	}
	for _, k := range c.kids {
		if parent.family["HelperAgent/"+k.name] != 0 {
			faults = append(faults, fmt.Sprintf("%s: was deleted, and its parent still knows it", k.agent()))
		}
	}
	return faults
}

func (c *cast) settled() bool {
	for _, s := range c.scorers {
		if !s.settled.Load() {
			return false
		}
	}
	for _, p := range c.programs {
		if !p.settled.Load() {
			return false
		}
	}
	for _, k := range c.kids {
		if !k.settled.Load() {
			return false
		}
	}
	return true
}

// counts are what has been done, for people.
func (r *run) counts() string {
	keys, posts, refused, gone, closed, skipped, follows := 0, 0, 0, 0, 0, 0, 0
	for _, p := range r.cast.programs {
		p.mu.Lock()
		keys, posts, refused = keys+len(p.answers), posts+p.posts, refused+p.refused
		p.mu.Unlock()
	}
	for _, k := range r.cast.kids {
		k.mu.Lock()
		gone, closed = gone+k.gone, closed+k.closed
		k.mu.Unlock()
	}
	for _, s := range r.spots {
		follows += len(s.history.follows.asked)
		for _, ends := range s.history.ends {
			if outcomes[ends[0].outcome] == "skipped" {
				skipped++
			}
		}
	}
	return fmt.Sprintf("%d keys in %d posts (%d refused), %d increments, %d children deleted (%d sockets told), %d skipped, %d followed up",
		keys, posts, refused, r.board.history.tally.Count, gone, closed, skipped, follows)
}

// kebab is the path of an agent of these classes.
func kebab(agent string) string {
	hops := strings.Split(agent, sub)
	for i, hop := range hops {
		class, name, _ := strings.Cut(hop, "/")
		hops[i] = strings.ToLower(strings.TrimSuffix(class, "Agent")) + "-agent/" + name
	}
	return strings.Join(hops, sub)
}
