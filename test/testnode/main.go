// Command testnode serves the agents of the conformance kit and of the bench,
// written against the public API alone, as an author would.
//
//	go run ./test/testnode -listen 127.0.0.1:8787 -data DIR
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/node"
	"github.com/holdfast-dev/holdfast/persistence/bolt"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "127.0.0.1:8787", "address to listen on")
	flag.StringVar(&o.data, "data", "data", "data folder")
	flag.BoolVar(&o.sameOrigin, "same-origin", false, "keep the product's default: no web pages of other origins, no CORS")
	flag.DurationVar(&o.writeTimeout, "write-timeout", 0, "time that the network may take for 64 KiB; 0: the product's default")
	flag.DurationVar(&o.early, "early", 0, "be faulty: say that an append is stored this long before it is")
	flag.Var(&o.die, "die", "kill the process at an append: before:N or after:N")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		slog.Error("testnode", "error", err)
		os.Exit(1)
	}
}

type options struct {
	listen, data string
	sameOrigin   bool
	writeTimeout time.Duration
	early        time.Duration
	die          deathPoint
}

func run(ctx context.Context, o options) (err error) {
	cfg := node.Config{Agents: append(agents(), errandAgent(o.data)), Data: o.data, Protocol: protocol.Config{
		CORS: protocol.AnyOrigin(), OriginPatterns: []string{"*"},
		WriteTimeout: o.writeTimeout, Paths: custom, BeforeConnect: deny(protocol.Unauthenticated), BeforeRequest: deny(protocol.Denied),
	}}
	if o.sameOrigin {
		cfg.Protocol.CORS, cfg.Protocol.OriginPatterns = nil, nil
	}
	if o.early > 0 || o.die.n > 0 {
		store, err := bolt.Open(bolt.Config{Path: filepath.Join(o.data, node.JournalFile)})
		if err != nil {
			return err
		}
		cfg.Store = store
		if o.early > 0 {
			cfg.Store = newEarlyStore(store, o.early)
		}
		if o.die.n > 0 {
			cfg.Store = &mortalStore{Store: cfg.Store, at: o.die}
		}
	}
	n, err := node.Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop(context.WithoutCancel(ctx))) }()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	agents := n.Handler()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/release":
			held.ServeHTTP(w, r)
		case "/held":
			reached.ServeHTTP(w, r)
		default:
			agents.ServeHTTP(w, r)
		}
	})}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	slog.Info("testnode serves", "address", l.Addr().String())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func agents() []*actors.Agent {
	helper := &actors.Agent{Name: "HelperAgent", OnChatMessage: script, BeforeSubAgent: helperGate}
	return []*actors.Agent{
		{Name: "ChatAgent", OnChatMessage: script, Recovery: actors.Recovery{Off: true}, Callable: []actors.Method{
			actors.NewMethod("triggerServerTurn", "Begins a turn.", triggerServerTurn, "text"),
		}, BeforeSubAgent: helperGate},
		{Name: "RecoverAgent", OnChatMessage: script},
		overlapping("LatestAgent", actors.Concurrency{Strategy: actors.ConcurrencyLatest}),
		overlapping("DropAgent", actors.Concurrency{Strategy: actors.ConcurrencyDrop}),
		overlapping("MergeAgent", actors.Concurrency{Strategy: actors.ConcurrencyMerge}),
		overlapping("DebounceAgent", actors.Concurrency{Strategy: actors.ConcurrencyDebounce, Debounce: 300 * time.Millisecond}),
		helper,
		stateAgent(helper),
		followAgent(),
		{Name: "BareAgent"},
		{Name: "QuietAgent", InitialState: map[string]int{"q": 1}, NoIdentity: true},
		{Name: "BenchAgent", OnChatMessage: bench},
		{Name: "BenchHelper", OnChatMessage: bench},
	}
}

// overlapping is a ChatAgent that treats overlapping messages in its way.
func overlapping(name string, c actors.Concurrency) *actors.Agent {
	return &actors.Agent{Name: name, OnChatMessage: script, Recovery: actors.Recovery{Off: true}, MessageConcurrency: c}
}

// helperGate lets HelperAgents in. StateAgent refuses two names.
func helperGate(_ context.Context, self *actors.Self, _ *http.Request, child actors.ChildAddress) error {
	switch {
	case child.Class != "HelperAgent":
		return actors.Deny(http.StatusNotFound, "Not Found")
	case self.Address().Class == "StateAgent" && child.Name == "forbidden":
		return actors.Deny(http.StatusForbidden, "no")
	case self.Address().Class == "StateAgent" && child.Name == "boom":
		return actors.Deny(http.StatusInternalServerError, "oops")
	}
	return nil
}

// custom maps /custom/… to the agent that a session would have chosen, which ?as= names.
func custom(r *http.Request) (a feed.Address, rest string, ok bool) {
	rest, ok = strings.CutPrefix(r.URL.Path, "/custom/")
	return feed.Address{Class: "ChatAgent", Name: cmp.Or(r.URL.Query().Get("as"), "from-session")}, rest, ok
}

// deny refuses requests that ask for it: in the query, a header, or a cookie.
func deny(code protocol.Code) protocol.Gate {
	return func(r *http.Request, _ feed.Address) (*http.Request, error) {
		cookie, err := r.Cookie("deny")
		if r.URL.Query().Get("deny") == "1" || r.Header.Get("X-Deny") == "1" || err == nil && cookie.Value == "1" {
			return nil, &protocol.Error{Code: code, Message: "denied"}
		}
		return r, nil
	}
}
