package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// childState is what a parent's journal says of a sub-agent that it has.
type childState int

const (
	registered childState = iota + 1
	removing
)

// sub stands in the path of an agent before the name of a sub-agent.
const sub = "/sub/"

// kid is a sub-agent that somebody talks to, deletes, and talks to anew: each time is
// a generation, and nothing of an older one may come back. (All but mu and what is
// below belongs to its goroutine.)
type kid struct {
	name    string // also of what is asked: NAME-gGENERATION-NUMBER
	witness *witness
	world   *world
	rng     *rand.Rand
	number  int // of requests
	left    int // generations to come when the killing is over
	settled atomic.Bool

	mu       sync.Mutex
	gen      int
	told     map[string]string // requests of this generation, and what has told of them
	deleting bool              // somebody has asked for its end
	gone     int               // generations that are, for sure
	closed   int               // sockets that were told so
}

func (k *kid) agent() string { return board + sub + "HelperAgent/" + k.name }

func (k *kid) prefix(gen int) string { return fmt.Sprintf("%s-g%d-", k.name, gen) }

func (k *kid) run(ctx context.Context) {
	for life := 0; ; {
		var open bool
		if life, open = k.world.gate.next(ctx, life); !open {
			return
		}
		for k.world.gate.isOpen(life) && ctx.Err() == nil && !k.settled.Load() {
			k.visit(ctx, life)
		}
	}
}

// visit is one socket to the child: some questions, and then its end.
func (k *kid) visit(ctx context.Context, life int) {
	socket, err := client.Dial(ctx, client.URL(k.world.addr, k.name, "/agents/"+kebab(k.agent())), nil)
	if err != nil {
		return
	}
	defer socket.Drop()
	gen, deleting := k.now()
	for n := 1 + k.rng.IntN(2); n > 0 && !deleting; n-- { // else it may be another one already
		k.number++
		request := fmt.Sprintf("%s%d", k.prefix(gen), k.number)
		err := socket.Send(ctx, client.Chat(request, []client.Message{client.User("u-"+request, "script:paced "+request)}, map[string]any{
			"word": request, "words": 1 + k.rng.IntN(10), "delayMs": k.rng.IntN(5),
		}))
		if err != nil || !k.listen(ctx, socket, gen, request) {
			return
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- k.listenToTheEnd(ctx, socket, gen) }()
	if k.delete(ctx, gen) {
		k.farewell(<-closed, life, deleting)
		return
	}
	socket.Drop()
	<-closed //nolint:errcheck // this end has closed it
}

func (k *kid) now() (gen int, deleting bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.gen, k.deleting
}

// listen returns when the request has ended, or, sometimes, while it is under way.
func (k *kid) listen(ctx context.Context, socket *client.Socket, gen int, request string) bool {
	for {
		f, err := socket.Read(ctx)
		if err != nil {
			return false
		}
		k.hear(&f, gen)
		if f.Type == client.Response && f.ID == request && (f.Done || f.Seq != nil && k.rng.IntN(12) == 0) {
			return true
		}
	}
}

func (k *kid) listenToTheEnd(ctx context.Context, socket *client.Socket, gen int) error {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	for {
		f, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		k.hear(&f, gen)
	}
}

// hear takes a frame of a socket that was opened in generation gen.
func (k *kid) hear(f *client.Frame, gen int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	strange := func(what string) bool {
		return strings.Contains(what, k.name+"-g") && !strings.Contains(what, k.prefix(gen))
	}
	if f.Type == client.Messages {
		var messages []client.Message
		_ = json.Unmarshal(f.Messages, &messages)
		for _, m := range messages {
			if text := strings.Join(texts(m), " "); strange(text) || strange(m.ID) {
				k.witness.fault("in generation %d it is told of message %s: %q", gen, m.ID, text)
			}
		}
		return
	}
	if strange(f.ID) {
		k.witness.fault("in generation %d it is told of request %s", gen, f.ID)
	}
	if f.Error && f.MessageIDs == nil && f.Seq == nil && !k.deleting {
		k.witness.fault("request %s was refused: %s", f.ID, f.Body)
		return
	}
	refused := f.Error && f.MessageIDs == nil
	if strings.HasPrefix(f.ID, k.prefix(gen)) && gen == k.gen && !refused {
		k.told[f.ID] = f.Type
	}
}

// delete asks the parent to delete the child, once or twice at once, and reports
// whether it says that this is done.
func (k *kid) delete(ctx context.Context, gen int) bool {
	parent, err := client.Dial(ctx, client.URL(k.world.addr, k.name, "/agents/"+kebab(board)), nil)
	if err != nil {
		return false
	}
	defer parent.Drop()
	k.mu.Lock()
	k.deleting = true
	k.mu.Unlock()
	left := 1 + k.rng.IntN(2)
	for n := range left {
		if parent.Send(ctx, client.Call(fmt.Sprintf("delete-%d", n), "deleteHelper", k.name)) != nil {
			return false
		}
	}
	for left > 0 {
		f, err := parent.Read(ctx)
		if err != nil {
			return false
		}
		if f.Type != client.RPC {
			continue
		}
		if !f.Success {
			k.witness.fault("generation %d cannot be deleted: %s", gen, f.Raw)
			return false
		}
		left--
	}
	k.mu.Lock()
	k.gone, k.gen, k.told, k.deleting = gen, gen+1, map[string]string{}, false
	k.mu.Unlock()
	if k.world.calm.Load() {
		if k.left--; k.left == 0 {
			k.settled.Store(true)
		}
	}
	return true
}

// farewell: a socket of a child that is gone was told so, unless the node died first.
// One that came while the child was being deleted may have been told to come again.
func (k *kid) farewell(err error, life int, late bool) {
	var closed websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Code == websocket.StatusGoingAway:
		k.mu.Lock()
		k.closed++
		k.mu.Unlock()
	case late && errors.As(err, &closed) && closed.Code == websocket.StatusTryAgainLater:
	case errors.As(err, &closed):
		k.witness.fault("a socket of what was deleted is closed with %d %q", closed.Code, closed.Reason)
	case k.world.gate.isOpen(life) && !errors.Is(err, context.Canceled):
		k.witness.fault("a socket of what was deleted ends with %v", err)
	}
}

// check looks at the child's own journal: all of its generation is there, or nothing.
func (k *kid) check(ctx context.Context, store persistence.Store, parent *history) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	info, _, err := store.Find(ctx, k.agent(), persistence.Batch{})
	if err != nil {
		return err
	}
	listed := parent.family["HelperAgent/"+k.name]
	if info.Head == 0 || info.Deleted {
		for request, by := range k.told {
			if !k.deleting {
				k.witness.fault("request %s is not in the journal, and %s has told of it: all of the agent is gone", request, by)
			}
		}
		return nil
	}
	life, err := readLife(ctx, store, k.agent())
	if err != nil {
		return err
	}
	for _, fault := range life.faults {
		k.witness.fault("%s", fault)
	}
	for request := range life.accepted {
		if !strings.HasPrefix(request, k.prefix(k.gen)) && strings.HasPrefix(request, k.name) {
			k.witness.fault("request %s is in the journal, in generation %d", request, k.gen)
		}
	}
	for request, by := range k.told {
		if !life.accepted[request] {
			k.witness.fault("request %s is not in the journal, and %s has told of it", request, by)
		}
	}
	switch {
	case listed == 0:
		k.witness.fault("is there, and its parent does not know it")
	case life.deleted && listed != removing:
		k.witness.fault("is deleted in its journal, and its parent does not say so")
	case life.deleted && !k.deleting:
		k.witness.fault("is deleted in its journal, and nobody has asked for it")
	}
	return nil
}

// aLife is what a journal holds from the creation of its agent on.
type aLife struct {
	accepted map[string]bool
	deleted  bool
	faults   []string
}

func readLife(ctx context.Context, store persistence.Store, stream string) (l aLife, err error) {
	l.accepted = map[string]bool{}
	created, next := 0, uint64(0)
	for r, err := range store.Read(ctx, stream, 1) {
		if err != nil {
			return l, err
		}
		var rec journalv1.Record
		if err := proto.Unmarshal(r.Data, &rec); err != nil {
			return l, err
		}
		if next != 0 && r.Seq != next {
			l.faults = append(l.faults, fmt.Sprintf("record %d follows %d", r.Seq, next-1))
		}
		next = r.Seq + 1
		switch e := rec.GetEvent().GetKind().(type) {
		case *journalv1.Event_AgentCreated:
			created++
		case *journalv1.Event_TurnAccepted:
			l.accepted[e.TurnAccepted.GetRequestId()] = true
		case *journalv1.Event_AgentDeleted:
			l.deleted = true
		case *journalv1.Event_Base:
			created++
			for _, key := range e.Base.GetAccepted() {
				l.accepted[strings.TrimPrefix(key.GetKey(), "request/")] = true
			}
		}
	}
	if created != 1 {
		l.faults = append(l.faults, fmt.Sprintf("its journal has %d beginnings", created))
	}
	return l, nil
}
