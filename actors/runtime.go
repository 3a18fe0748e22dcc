package actors

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

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
	system  *actor.ActorSystem
	root    *actor.RootContext
	grid    *grid
	waker   *waker

	ctx    context.Context // ends when Stop has drained the agents
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // goroutines of background

	mu       sync.Mutex
	slots    map[feed.Address]*slot
	stopping bool
}

// errStopping is the cause with which effects end when the node stops.
var errStopping = errors.New("actors: the node is stopping")

// NewRuntime checks the agents (a mistake of the author's panics with the
// agent's and the field's name) and begins to wake those that have work.
func NewRuntime(cfg RuntimeConfig) *Runtime {
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
	rt := &Runtime{cfg: cfg, classes: make(map[string]*Agent), slots: make(map[feed.Address]*slot)}
	if len(cfg.Agents) == 0 {
		panic("actors: no agent is registered")
	}
	for _, a := range cfg.Agents {
		a.check()
		if rt.classes[a.Name] != nil {
			panic(fmt.Sprintf("actors: agent %q: Name is registered twice", a.Name))
		}
		rt.classes[a.Name] = a
	}
	rt.ctx, rt.cancel = context.WithCancelCause(context.Background())
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil)) // protoactor's own log repeats what ours says
	rt.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	rt.root = rt.system.Root
	rt.grid = newGrid()
	rt.waker = newWaker(rt)
	return rt
}

// Class returns the registered agent of that name.
func (rt *Runtime) Class(name string) (*Agent, bool) {
	a, ok := rt.classes[name]
	return a, ok
}

// Agent returns the agent of that class and name, which need not exist yet. The
// class must be one that the runtime was given.
func (rt *Runtime) Agent(class *Agent, name string) *Ref {
	if rt.classes[class.Name] != class {
		panic(fmt.Sprintf("actors: agent %q is not registered", class.Name))
	}
	return &Ref{rt: rt, addr: feed.Address{Class: class.Name, Name: name}}
}

// maxName bounds an agent's name, in bytes.
const maxName = 512

// send hands m to the agent's slot.
func (rt *Runtime) send(a feed.Address, m any) {
	s, err := rt.slot(a)
	if err != nil {
		refuse(m, err)
		return
	}
	s.send(m)
}

func (rt *Runtime) slot(a feed.Address) (*slot, error) {
	class, ok := rt.classes[a.Class]
	switch {
	case !ok:
		return nil, &Error{Code: UnknownAgent, Message: fmt.Sprintf("agent class %q is not known here", a.Class)}
	case a.Name == "" || len(a.Name) > maxName:
		return nil, &Error{Code: BadRequest, Message: fmt.Sprintf("agent name has %d bytes; 1 to %d are allowed", len(a.Name), maxName)}
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.stopping {
		return nil, &Error{Code: Stopping, Message: "the node is stopping"}
	}
	s := rt.slots[a]
	if s == nil {
		s = &slot{rt: rt, addr: a, class: class, stream: streamName(a)}
		rt.slots[a] = s
	}
	return s, nil
}

// streamName is the journal's name of an agent: its class, which has no slash, and its name.
func streamName(a feed.Address) string { return a.Class + "/" + a.Name }

// passivated forgets a slot that nobody uses, and has the waker look when its
// agent's next work is due.
func (rt *Runtime) passivated(s *slot, unused bool) {
	rt.mu.Lock()
	if unused && rt.slots[s.addr] == s && !s.inMemory() {
		delete(rt.slots, s.addr)
	}
	rt.mu.Unlock()
	rt.waker.look()
}

// background runs f on a goroutine that Stop waits for.
func (rt *Runtime) background(f func()) { rt.work.Go(f) }

// Stop has every agent store what it knows and say goodbye, and returns when
// all are gone or ctx ends. Turns that were running go on at the next start.
// Safe to call twice.
func (rt *Runtime) Stop(ctx context.Context) error {
	rt.mu.Lock()
	rt.stopping = true
	slots := make([]*slot, 0, len(rt.slots))
	for _, s := range rt.slots {
		slots = append(slots, s)
	}
	rt.mu.Unlock()
	rt.waker.stop()
	var err error
	for _, s := range slots {
		if gone := s.shut(); gone != nil {
			select {
			case <-gone:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
	}
	rt.grid.stop()
	ended := make(chan struct{})
	go func() { rt.work.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	rt.cancel(errStopping)
	rt.system.Shutdown()
	return err
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
func (nobody) Put(feed.Item)               {}
