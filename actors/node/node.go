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
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/bolt"
	"github.com/holdfast-dev/holdfast/protocol"
)

// JournalFile is the name of the journal within the data folder.
const JournalFile = "journal.db"

// Node is a running node. All methods may be called concurrently.
type Node struct {
	cfg     Config
	log     *slog.Logger
	store   persistence.Store
	runtime *actors.Runtime
	sockets *protocol.Handler
	handler http.Handler

	stop    sync.Once
	stopErr error
}

// Start opens the journal, takes up the turns that a stop or a crash has left,
// and returns when the node serves. It does not listen: see Handler. Errors name
// what is wrong and leave everything as it was. ctx bounds the start only.
func Start(_ context.Context, cfg Config) (*Node, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, log: cfg.Log}
	if err := n.openStore(); err != nil {
		return nil, err
	}
	h := &host{byKebab: kebabNames(cfg.Agents)}
	pc := cfg.Protocol
	pc.Host, pc.Log = h, cfg.Log
	sockets, err := protocol.New(pc)
	if err != nil {
		n.closeStore()
		return nil, err
	}
	n.sockets = sockets
	n.runtime = actors.NewRuntime(actors.RuntimeConfig{
		Store: n.store, Log: cfg.Log, Rooms: sockets, Node: orName(cfg.Name), Agents: cfg.Agents, WakeRate: cfg.WakeRate,
	})
	h.runtime = n.runtime
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", n.health)
	mux.Handle("/", sockets)
	n.handler = mux
	return n, nil
}

func (n *Node) openStore() error {
	if n.store = n.cfg.Store; n.store != nil {
		return nil
	}
	if err := os.MkdirAll(n.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("node: data folder: %w", err)
	}
	store, err := bolt.Open(bolt.Config{Path: filepath.Join(n.cfg.Data, JournalFile), Logger: n.log})
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	n.store = store
	return nil
}

func (n *Node) closeStore() {
	if n.cfg.Store == nil {
		if err := n.store.Close(); err != nil {
			n.log.Error("the journal did not close", "error", err)
		}
	}
}

// Agent returns the agent of that class and name. It need not exist yet: the
// first call that needs it brings it into being. class must be one of
// Config.Agents.
func (n *Node) Agent(class *actors.Agent, name string) *actors.Ref {
	return n.runtime.Agent(class, name)
}

// Handler serves the sockets and HTTP of all agents, and GET /healthz. It can be
// mounted in any ServeMux that passes the paths on unchanged.
func (n *Node) Handler() http.Handler { return n.handler }

// Stop closes the sockets in a way that makes clients come back, has every agent
// store what it knows, and closes the journal. Turns that are not finished go on
// at the next start. It returns when all is done, or ctx or Config.StopTimeout
// ends. Safe to call twice.
func (n *Node) Stop(ctx context.Context) error {
	n.stop.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, n.cfg.StopTimeout)
		defer cancel()
		if err := n.sockets.Close(ctx); err != nil {
			n.log.Warn("not every socket has closed in time", "error", err)
		}
		n.stopErr = n.runtime.Stop(ctx)
		n.closeStore()
	})
	return n.stopErr
}

func orName(name string) string {
	if name == "" {
		return "node"
	}
	return name
}
