package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/holdfast-dev/holdfast/actors"
)

// Main is a whole program around agents: `serve` (the default) starts a node
// with a chat page, `chat` talks to a running one from a terminal, `check`,
// `dump` and `compact` look after the journal. It reads os.Args, ends with the
// process's exit code and returns only if that is 0.
func Main(agents ...*actors.Agent) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := Run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr, agents...); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		os.Exit(1)
	}
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
	LogLevel slog.Level `help:"Least level that is logged: debug, info, warn or error." default:"info"`
	LogJSON  bool       `help:"Log JSON instead of text." name:"log-json"`

	Serve   serveCommand   `cmd:"" default:"withargs" help:"Start a node with a chat page (the default)."`
	Chat    chatCommand    `cmd:"" help:"Talk to an agent of a running node."`
	Check   checkCommand   `cmd:"" help:"Look for damage in a journal that no node has open."`
	Dump    dumpCommand    `cmd:"" help:"Print the agents of a journal, or the events of one agent."`
	Compact compactCommand `cmd:"" help:"Give the space of deleted records back to the disk."`
}

// errUsage: the command line was wrong, and has been told so.
var errUsage = errors.New("see --help")

// Run is Main without the process: it ends when the command has, or ctx does.
// args[0] is the program's name. Errors are sentences for the one who called.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, agents ...*actors.Agent) error {
	var cli commands
	exited := false
	parser, err := kong.New(&cli, kong.Name("node"), kong.Description("Durable chat agents on your own machine."),
		kong.Writers(out, errOut), kong.Exit(func(int) { exited = true }), kong.UsageOnError())
	if err != nil {
		return err
	}
	chosen, err := parser.Parse(args[1:])
	if exited { // --help has been printed
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", err, errUsage)
	}
	opts := &slog.HandlerOptions{Level: cli.LogLevel}
	var handler slog.Handler = slog.NewTextHandler(errOut, opts)
	if cli.LogJSON {
		handler = slog.NewJSONHandler(errOut, opts)
	}
	return chosen.Run(&program{ctx: ctx, agents: agents, in: in, out: out, log: slog.New(handler)})
}
