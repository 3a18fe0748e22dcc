package actors

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-dev/holdfast/actors/internal/chat"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// Rooms are where agents let out what happens. All methods may be called
// concurrently and must not block.
type Rooms interface {
	// Room returns the sink of an agent whose incarnation begins.
	Room(a feed.Address) feed.Sink
	// Gone: the incarnation has left memory in peace; sockets stay.
	Gone(a feed.Address)
	// Lost: the incarnation has ended by a fault; sockets must resume.
	Lost(a feed.Address)
	// Occupied reports whether the agent has sockets.
	Occupied(a feed.Address) bool
}

// RuntimeConfig is what a Runtime needs.
type RuntimeConfig struct {
	Store  persistence.Store // required; outlives the runtime
	Log    *slog.Logger      // default: slog.Default()
	Rooms  Rooms             // default: nobody listens
	Node   string            // name of this node, for journals and logs; default "node"
	Agents []*Agent          // the classes; at least one
	// WakeRate is how many agents with work of their own are brought into memory
	// per second at start. Default 200.
	WakeRate int
}

// Runtime runs the agents of one process. It is the wiring that package node
// uses; authors use node. All methods may be called concurrently.
type Runtime struct {
	cfg     RuntimeConfig
	classes map[string]*Agent
	desks   map[string]*desk // by class
	lobbies lobbies
	system  *actor.ActorSystem
	root    *actor.RootContext
	grid    *grid
	waker   *waker
	waits   waits

	ctx     context.Context // ends when Stop has drained the agents
	cancel  context.CancelCauseFunc
	leaving context.Context // ends when Stop begins: see author
	leave   context.CancelCauseFunc
	work    sync.WaitGroup // actors, and goroutines of background
	down    sync.Once      // shuts system down

	mu        sync.Mutex
	forgeries chat.Forgeries // since the start, see Forgeries
	slots     map[feed.Address]*slot
	stopping  bool
}

// errStopping is the cause with which effects end when the node stops.
var errStopping = errors.New("actors: the node is stopping")

// errNodeStops is what callers are told then.
var errNodeStops = &Error{Code: Stopping, Message: "the node is stopping"}

// NewRuntime checks the agents (a mistake of the author's panics with the
// agent's and the field's name) and begins to wake those that have work.
func NewRuntime(cfg RuntimeConfig) *Runtime {
	cfg.check()
	cfg.Log = orLogger(cfg.Log)
	if cfg.Rooms == nil {
		cfg.Rooms = nobody{}
	}
	if cfg.Node == "" {
		cfg.Node = "node"
	}
	if cfg.WakeRate == 0 {
		cfg.WakeRate = 200
	}
	rt := &Runtime{cfg: cfg, classes: make(map[string]*Agent), desks: make(map[string]*desk), slots: make(map[feed.Address]*slot)}
	for _, a := range cfg.Agents {
		a.check()
		if rt.classes[a.Name] != nil {
			panic(fmt.Sprintf("actors: agent %q: Name is registered twice", a.Name))
		}
		rt.classes[a.Name], rt.desks[a.Name] = a, newDesk(a)
	}
	rt.ctx, rt.cancel = context.WithCancelCause(context.Background())
	rt.leaving, rt.leave = context.WithCancelCause(rt.ctx)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil)) // protoactor's own log repeats what ours says
	rt.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	rt.root = rt.system.Root
	rt.grid = newGrid()
	rt.waker = newWaker(rt)
	return rt
}

// check panics if the configuration cannot work.
func (cfg *RuntimeConfig) check() {
	switch {
	case cfg.Store == nil:
		panic("actors: RuntimeConfig.Store is missing")
	case cfg.WakeRate < 0:
		panic(fmt.Sprintf("actors: RuntimeConfig.WakeRate is negative: %d", cfg.WakeRate))
	case len(cfg.Agents) == 0:
		panic("actors: RuntimeConfig.Agents is empty: no agent is registered")
	case slices.Contains(cfg.Agents, nil):
		panic("actors: RuntimeConfig.Agents has a nil agent")
	}
}

// Class returns the registered agent of that name.
func (rt *Runtime) Class(name string) (*Agent, bool) {
	a, ok := rt.classes[name]
	return a, ok
}

// Agent returns the agent of that class and name, which need not exist yet. The
// class must be one that the runtime was given.
func (rt *Runtime) Agent(class *Agent, name string) *Ref {
	rt.mustKnow(class)
	return &Ref{rt: rt, addr: feed.Address{Class: class.Name, Name: name}}
}

// Ref returns the agent of an address, root or sub-agent. If its class is not
// known here, what is asked of it is refused.
func (rt *Runtime) Ref(a feed.Address) *Ref { return &Ref{rt: rt, addr: a} }

func (rt *Runtime) mustKnow(class *Agent) {
	if rt.classes[class.Name] != class {
		panic(fmt.Sprintf("actors: agent %q is not registered", class.Name))
	}
}

// whisper tells the agent m if it is in memory, and does not bring it there.
func (rt *Runtime) whisper(a feed.Address, m any) {
	rt.mu.Lock()
	s := rt.slots[a]
	rt.mu.Unlock()
	if s != nil {
		s.whisper(m)
	}
}

// maxName bounds an agent's name, in bytes.
const maxName = 512

// send hands m to the agent's slot.
func (rt *Runtime) send(a feed.Address, m any) {
	for {
		s, err := rt.slot(a)
		if err != nil {
			refuse(m, err)
			return
		}
		if s.send(m) {
			return
		}
	}
}

func (rt *Runtime) slot(a feed.Address) (*slot, error) {
	if err := rt.checkAddress(a); err != nil {
		return nil, err
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.stopping {
		return nil, errNodeStops
	}
	s := rt.slots[a]
	if s == nil {
		s = &slot{rt: rt, addr: a, class: rt.classes[a.Class], stream: a.Path()}
		rt.slots[a] = s
	}
	return s, nil
}

// checkAddress refuses what cannot be the address of an agent of this node.
func (rt *Runtime) checkAddress(a feed.Address) error {
	switch path := a.Path(); {
	case rt.classes[a.Class] == nil:
		return errUnknown(a.Class)
	case a.Name == "" || len(a.Name) > maxName:
		return &Error{Code: BadRequest, Message: fmt.Sprintf("agent name has %d bytes; 1 to %d are allowed", len(a.Name), maxName)}
	case a.Parent == "" && strings.Contains(a.Name, "/"):
		return &Error{Code: BadRequest, Message: fmt.Sprintf("agent name %q has a slash: write %%2F, as clients do", a.Name)}
	case !utf8.ValidString(a.Name) || strings.ContainsRune(a.Name, 0):
		return &Error{Code: BadRequest, Message: fmt.Sprintf("agent name %q is not UTF-8, or has a NUL", a.Name)}
	case len(path) > persistence.MaxStreamName:
		return &Error{Code: BadRequest, Message: fmt.Sprintf("path of the sub-agent has %d bytes; the limit is %d", len(path), persistence.MaxStreamName)}
	}
	return checkDepth(a)
}

func errUnknown(class string) error {
	return &Error{Code: UnknownAgent, Message: fmt.Sprintf("agent class %q is not known here", class)}
}

// passivated forgets the slot of an agent that has left memory, if nobody uses
// it, and has the waker look when the agent's next work is due, if it has any.
func (rt *Runtime) passivated(s *slot, due bool) {
	rt.mu.Lock()
	if s.retire() && rt.slots[s.addr] == s {
		delete(rt.slots, s.addr)
	}
	rt.mu.Unlock()
	if due {
		rt.waker.look()
	}
}

// background runs f on a goroutine that Stop waits for. It may be called by
// actors and by what runs in the background: Stop waits for those, too.
func (rt *Runtime) background(f func()) { rt.work.Go(f) }

// Stop has every agent store what it knows and say goodbye, and returns when
// all are gone and what they had started has ended. Turns that were running go
// on at the next start. If ctx ends first, what has not been stored is given up,
// as in a crash, and Stop returns the context's error: an author's handler that
// ignores its context may then still run. Safe to call twice, and concurrently.
func (rt *Runtime) Stop(ctx context.Context) error {
	slots := rt.close()
	rt.waker.stop()
	for _, s := range slots {
		s.shut()
	}
	ended := make(chan struct{})
	go func() { rt.work.Wait(); close(ended) }()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		for _, s := range slots {
			s.abandon()
		}
	}
	rt.cancel(errStopping)
	rt.grid.stop()
	if err == nil {
		rt.down.Do(rt.system.Shutdown)
	}
	return err
}

// close refuses new slots and returns those there are.
func (rt *Runtime) close() []*slot {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.stopping = true
	rt.leave(errNodeStops)
	return slices.Collect(maps.Values(rt.slots))
}

// newIncarnation is unique among all nodes and rises with time, so that journals
// read well; nothing rests on its order.
func (rt *Runtime) newIncarnation() uint64 {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return uint64(time.Now().UnixMilli())<<22 | uint64(binary.BigEndian.Uint32(b[:]))>>10
}

func newIDs() chat.Ids { return chat.Ids{Request: rand.Text(), Message: "assistant_" + rand.Text()} }

func nowMS() int64 { return time.Now().UnixMilli() }

func orLogger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.Default()
	}
	return l
}

// nobody is Rooms without sockets.
type nobody struct{}

func (nobody) Room(feed.Address) feed.Sink { return nobody{} }
func (nobody) Gone(feed.Address)           {}
func (nobody) Lost(feed.Address)           {}
func (nobody) Occupied(feed.Address) bool  { return false }
func (nobody) Put(feed.Item)               {}
