package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/holdfast-dev/holdfast/actors"
)

// Main is a whole program around agents: `serve` (the default) starts a node
// with a chat page, `chat` talks to a running one from a terminal, `check`,
// `dump`, `delete` and `compact` look after the journal of a stopped one.
//
// It reads os.Args. SIGINT and SIGTERM stop what runs in order; a second one ends
// the process at once. On success Main returns; otherwise it writes one line to
// standard error and exits with 2 if the command line was wrong, else with 1.
func Main(agents ...*actors.Agent) {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		stop()
		<-signals
		os.Exit(1)
	}()
	err := Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr, agents...)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "holdfast:", err)
	if errors.Is(err, ErrUsage) {
		os.Exit(2)
	}
	os.Exit(1)
}

// program is what its commands work on.
type program struct {
	ctx    context.Context
	agents []*actors.Agent
	in     io.Reader
	out    io.Writer
	log    *slog.Logger
}

type commands struct {
	LogLevel string `help:"Least level that is logged: debug, info, warn or error." enum:"debug,info,warn,error" default:"info"`
	LogJSON  bool   `help:"Log JSON instead of text." name:"log-json"`

	Serve   serveCommand   `cmd:"" default:"withargs" help:"Start a node with a chat page (the default)."`
	Chat    chatCommand    `cmd:"" help:"Talk to an agent of a running node."`
	Check   checkCommand   `cmd:"" help:"Look for damage in the journal of a stopped node; exits with 1 if there is any."`
	Dump    dumpCommand    `cmd:"" help:"Print the agents in the journal of a stopped node, or the events of one agent."`
	Delete  deleteCommand  `cmd:"" help:"Delete an agent, and all agents below it, from the journal of a stopped node for good."`
	Compact compactCommand `cmd:"" help:"Give the space of deleted records in the journal of a stopped node back to the disk."`
}

// ErrUsage is wrapped by the errors of Run that a wrong command line causes.
var ErrUsage = errors.New("see --help")

// Run is Main without the process: args[0] is the program's name, and it ends
// when the command has, or in order when ctx does. Logs go to errOut, all else to
// out. Errors are sentences for the one who called.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, agents ...*actors.Agent) error {
	var cli commands
	exited := false
	parser, err := kong.New(&cli, kong.Name(filepath.Base(args[0])), kong.Description("Durable chat agents on your own machine."),
		kong.Writers(out, errOut), kong.Exit(func(int) { exited = true }))
	if err != nil {
		return err
	}
	chosen, err := parser.Parse(args[1:])
	if exited { // --help has been printed
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; %w", err, ErrUsage)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cli.LogLevel)); err != nil {
		return err
	}
	opts := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(errOut, opts)
	if cli.LogJSON {
		handler = slog.NewJSONHandler(errOut, opts)
	}
	return chosen.Run(&program{ctx: ctx, agents: agents, in: in, out: out, log: slog.New(handler)})
}
