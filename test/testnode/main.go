// Command testnode serves the agents of the conformance kit and of the bench,
// written against the public API alone, as an author would.
//
//	go run ./test/testnode -listen 127.0.0.1:8787 -data DIR
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/node"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8787", "address to listen on")
	data := flag.String("data", "data", "data folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen, *data); err != nil {
		slog.Error("testnode", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen, data string) error {
	n, err := node.Start(ctx, node.Config{Agents: agents(), Data: data, Protocol: protocol.Config{
		CORS: protocol.AnyOrigin(), OriginPatterns: []string{"*"},
		Paths: custom, BeforeConnect: deny(protocol.Unauthenticated), BeforeRequest: deny(protocol.Denied),
	}})
	if err != nil {
		return err
	}
	defer n.Stop(context.WithoutCancel(ctx))
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: n.Handler()}
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
	return []*actors.Agent{
		{Name: "ChatAgent", OnChatMessage: script, Recovery: actors.Recovery{Off: true}},
		{Name: "RecoverAgent", OnChatMessage: script},
		{Name: "HelperAgent", OnChatMessage: script},
		{Name: "BenchAgent", OnChatMessage: bench},
		{Name: "BenchHelper", OnChatMessage: bench},
	}
}

// custom maps /custom/… to the agent that a session would have chosen.
func custom(r *http.Request) (a feed.Address, rest string, ok bool) {
	rest, ok = strings.CutPrefix(r.URL.Path, "/custom/")
	return feed.Address{Class: "ChatAgent", Name: "from-session"}, rest, ok
}

// deny refuses requests with ?deny=1.
func deny(code protocol.Code) protocol.Gate {
	return func(r *http.Request, _ feed.Address) (*http.Request, error) {
		if r.URL.Query().Get("deny") == "1" {
			return nil, &protocol.Error{Code: code, Message: "denied"}
		}
		return r, nil
	}
}
