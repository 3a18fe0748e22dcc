// Package node is everything of one process: the journal, the agents and their
// sockets, started in order and stopped in reverse.
//
//	n, err := node.Start(ctx, node.Config{Agents: []*actors.Agent{assistant}})
//	…
//	mux.Handle("/agents/", n.Handler())
//	answer, err := n.Agent(assistant, "room-1").Chat(ctx, "Hello")
//	…
//	err = n.Stop(ctx)
//
// Main does that and serves HTTP, with a command line around it.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/bolt"
	"github.com/holdfast-dev/holdfast/protocol"
)

// JournalFile is the name of the journal within the data folder.
const JournalFile = "journal.db"

// Node is a running node. All methods may be called concurrently.
type Node struct {
	// None of these changes after Start.
	cfg     Config
	log     *slog.Logger
	store   persistence.Store
	runtime *actors.Runtime
	sockets *protocol.Handler
	handler http.Handler

	stopping atomic.Bool
	stop     sync.Once
	stopErr  error // written in stop
}

// Start opens the journal, takes up the turns that a stop or a crash has left,
// and returns when the node serves. It does not listen: see Handler.
//
// Errors are sentences that name what is wrong, a field of cfg or the journal's
// path; they wrap persistence.ErrInUse if another process has the journal, and
// persistence.ErrCorrupt if it is damaged. After an error, or the panic that a
// mistake in an agent is, nothing is left open.
//
// ctx bounds the start only: if it ends before Start returns, its cause is the
// error. A journal that is being opened is opened to the end first, which takes
// about a second per GiB, or what the disk needs to read it.
func Start(ctx context.Context, cfg Config) (_ *Node, err error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h := &host{byKebab: kebabNames(cfg.Agents)}
	pc := cfg.Protocol
	pc.Host, pc.Log = h, cfg.Log
	sockets, err := protocol.New(pc)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, log: cfg.Log, sockets: sockets}
	if err := n.openStore(); err != nil {
		return nil, err
	}
	started := false
	defer func() {
		if !started { // also if the runtime panics about an agent
			err = errors.Join(err, n.closeStore())
		}
	}()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	n.runtime = actors.NewRuntime(actors.RuntimeConfig{
		Store: n.store, Log: cfg.Log, Rooms: sockets, Node: cfg.Name, Agents: cfg.Agents, WakeRate: cfg.WakeRate,
	})
	h.runtime = n.runtime
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", n.health)
	mux.Handle("/", sockets)
	n.handler = mux
	started = true
	return n, nil
}

func (n *Node) openStore() error {
	if n.store = n.cfg.Store; n.store != nil {
		return nil
	}
	if err := os.MkdirAll(n.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be made: %w", err)
	}
	store, err := bolt.Open(bolt.Config{Path: filepath.Join(n.cfg.Data, JournalFile), Logger: n.log})
	if err != nil {
		return plain(err)
	}
	n.store = store
	return nil
}

// closeStore closes the store that openStore has opened.
func (n *Node) closeStore() error {
	if n.cfg.Store != nil {
		return nil
	}
	return n.store.Close()
}

// Agent returns the agent of that class and name. It need not exist yet: the
// first call that needs it brings it into being. It panics if class is not one of
// Config.Agents. name is what clients have in the URL, percent-encoded as it
// stands there: a hook's room "my room" is "my%20room" here.
func (n *Node) Agent(class *actors.Agent, name string) *actors.Ref {
	return n.runtime.Agent(class, name)
}

// Handler serves the sockets and HTTP of all agents, and GET /healthz. It can be
// mounted in any ServeMux that passes the paths on unchanged. After Stop it
// refuses with 503.
func (n *Node) Handler() http.Handler { return n.handler }

// Stop closes the sockets with 1012, which makes clients come back, has every
// agent store what it knows, and closes the journal. Turns that are not finished
// go on at the next start.
//
// It returns nil when all of that is done. If ctx or Config.StopTimeout ends
// first, what is not stored by then is given up as in a crash, which loses
// nothing that was accepted, the journal is closed and the error says so. A second
// call waits for the first and returns what it did.
func (n *Node) Stop(ctx context.Context) error {
	n.stop.Do(func() {
		n.stopping.Store(true)
		ctx, cancel := context.WithTimeout(ctx, n.cfg.StopTimeout)
		defer cancel()
		if err := n.closeSockets(ctx); err != nil {
			n.log.Warn("some sockets were cut off: their clients had not taken what was due to them", "error", err)
		}
		if err := n.runtime.Stop(ctx); err != nil {
			n.stopErr = fmt.Errorf("node: some agents did not stop in time: %w", err)
		}
		n.stopErr = errors.Join(n.stopErr, n.closeStore())
	})
	return n.stopErr
}

// closeSockets leaves most of the time to the agents: a client that has gone
// away without a word would use up all of it.
func (n *Node) closeSockets(ctx context.Context) error {
	patience := n.cfg.StopTimeout
	if end, ok := ctx.Deadline(); ok {
		patience = time.Until(end)
	}
	ctx, cancel := context.WithTimeout(ctx, patience/4)
	defer cancel()
	return n.sockets.Close(ctx)
}
