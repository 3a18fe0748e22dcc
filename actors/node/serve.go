package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/web"
)

type serveCommand struct {
	Listen string   `help:"Address of the page, the sockets and HTTP." default:"127.0.0.1:8787"`
	Data   string   `help:"Folder of the journal; made if it does not exist." default:"data" type:"path"`
	Name   string   `help:"Name of this node in journals and logs." default:"node"`
	Origin []string `help:"Web origins, besides this host, whose pages may use the agents, such as https://app.example.com. Repeatable." placeholder:"PATTERN"`
	CORS   bool     `help:"Let pages of every origin read HTTP responses." name:"cors"`
	NoPage bool     `help:"Serve agents only, without the chat page."`
}

func (c *serveCommand) Run(p *program) error {
	pc := protocol.Config{OriginPatterns: c.Origin}
	if c.CORS {
		pc.CORS = protocol.AnyOrigin()
	}
	// Before the journal, so that a port in use is told at once; who connects
	// while a large journal is opened waits instead of being refused.
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen (choose another address with --listen): %w", err)
	}
	defer listener.Close()
	n, err := Start(p.ctx, Config{Agents: p.agents, Data: c.Data, Name: c.Name, Log: p.log, Protocol: pc})
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           c.routes(n, p.agents),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute, // until a request has been read
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	c.greet(p, listener.Addr())
	select {
	case err = <-failed:
		err = fmt.Errorf("no more connections can be taken: %w", err)
	case <-p.ctx.Done():
		p.log.Info("stopping: answers under way are stored and go on at the next start")
	}
	return errors.Join(err, halt(context.WithoutCancel(p.ctx), server, n))
}

// lastResponses is how long plain responses may go on when all else has stopped.
const lastResponses = time.Second

// halt takes no new connections, stops the node and then the server.
func halt(ctx context.Context, server *http.Server, n *Node) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := make(chan error, 1)
	go func() { quiet <- server.Shutdown(ctx) }()
	err := n.Stop(ctx)
	defer time.AfterFunc(lastResponses, cancel).Stop()
	if <-quiet != nil {
		_ = server.Close() // a response that nobody takes
	}
	return err
}

func (c *serveCommand) routes(n *Node, agents []*actors.Agent) http.Handler {
	if c.NoPage {
		return n.Handler()
	}
	mux := http.NewServeMux()
	mux.Handle("/", web.Handler())
	mux.Handle("/agents/", n.Handler())
	mux.Handle("/healthz", n.Handler())
	mux.Handle("GET /holdfast/info", infoHandler(agents))
	return mux
}

// greet says where the node is and what answers.
func (c *serveCommand) greet(p *program, addr net.Addr) {
	url, public := address(addr)
	fmt.Fprintf(p.out, "Holdfast serves on %s (journal in %s)\n", url, c.Data)
	switch note, name := noteOf(p.agents), modelOf(p.agents); {
	case note != "":
		fmt.Fprintln(p.out, note)
	case name != "":
		fmt.Fprintf(p.out, "The model is %s.\n", name)
	}
	if public {
		p.log.Warn("other machines may reach this address, and nobody is asked who they are: put a proxy that knows your users in front", "listen", c.Listen)
	}
}

// address is the URL to open on this machine; public tells whether others may
// reach it.
func address(a net.Addr) (url string, public bool) {
	host, port, _ := net.SplitHostPort(a.String())
	ip := net.ParseIP(host)
	public = ip == nil || !ip.IsLoopback()
	if ip == nil || ip.IsLoopback() || ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port), public
}
