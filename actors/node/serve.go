package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
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
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	defer listener.Close()
	n, err := Start(p.ctx, Config{Agents: p.agents, Data: c.Data, Name: c.Name, Log: p.log, Protocol: pc})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c.routes(n, p.agents), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	c.greet(p, listener.Addr())
	select {
	case err = <-failed:
	case <-p.ctx.Done():
		p.log.Info("stopping: open answers are stored and go on at the next start")
	}
	ctx := context.WithoutCancel(p.ctx)
	if stopErr := n.Stop(ctx); stopErr != nil {
		p.log.Warn("the node did not stop cleanly; nothing that was accepted is lost", "error", stopErr)
	}
	_ = server.Close() // what is still open is idle
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
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
	_, port, _ := net.SplitHostPort(addr.String())
	fmt.Fprintf(p.out, "Holdfast serves on http://localhost:%s (journal in %s)\n", port, c.Data)
	switch note, name := noteOf(p.agents), modelOf(p.agents); {
	case note != "":
		fmt.Fprintln(p.out, note)
	case name != "":
		fmt.Fprintf(p.out, "The model is %s.\n", name)
	}
}

// noteOf is what people should know of the agents' models.
func noteOf(agents []*actors.Agent) string {
	for _, a := range agents {
		if n, ok := a.Model.(model.Noter); ok && n.Note() != "" {
			return n.Note()
		}
	}
	return ""
}

// modelOf is the name of the first model.
func modelOf(agents []*actors.Agent) string {
	for _, a := range agents {
		if a.Model != nil {
			return a.Model.Name()
		}
	}
	return ""
}

// info is what the page asks for, at GET /holdfast/info.
type info struct {
	Version string      `json:"version"`
	Model   infoModel   `json:"model"`
	Agents  []infoAgent `json:"agents"`
}

type infoModel struct {
	Name     string `json:"name"`
	Note     string `json:"note"`
	Scripted bool   `json:"scripted"`
}

type infoAgent struct {
	Class string `json:"class"`
	Path  string `json:"path"`
}

func infoHandler(agents []*actors.Agent) http.HandlerFunc {
	i := info{Version: version(), Model: infoModel{Name: modelOf(agents), Note: noteOf(agents)}}
	i.Model.Scripted = i.Model.Note != ""
	for _, a := range agents {
		i.Agents = append(i.Agents, infoAgent{Class: a.Name, Path: "/agents/" + protocol.Kebab(a.Name)})
	}
	data, err := json.Marshal(i)
	if err != nil {
		panic(err) // strings only
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(data)
	}
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
