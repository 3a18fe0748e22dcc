package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// binDir has the binary, as node.
var binDir string

func TestMain(m *testing.M) {
	code, err := 1, build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(binDir)
	os.Exit(code)
}

func build() (err error) {
	if binDir, err = os.MkdirTemp("", "holdfast-cli-"); err != nil {
		return err
	}
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", nodePath(), "github.com/holdfast-dev/holdfast/cmd/node").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func nodePath() string { return filepath.Join(binDir, "node") }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", binDir+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("NODE", nodePath())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "start": start, "stop": stop, "truncate": truncate, "damage": damage,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// exits CODE PROGRAM ARG… runs a program that must end with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// start ARG… starts a node on a port of the system's choice, and sets URL and ADDR.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("a node that must not start is: exits 1 node …")
	}
	n, err := launch(ts.Getenv("WORK"), append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	if err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Defer(n.kill)
	ts.Setenv("URL", n.url)
	ts.Setenv("ADDR", n.addr())
	running.put(ts, n)
}

// stop sends SIGTERM to the node of start, which must end with code 0.
func stop(ts *testscript.TestScript, neg bool, args []string) {
	n := running.take(ts)
	if neg || len(args) > 0 || n == nil {
		ts.Fatalf("usage: stop, after start")
	}
	if err := n.stop(); err != nil {
		ts.Fatalf("the node did not stop well: %v\n%s", err, n.log())
	}
}

// truncate FILE BYTES cuts a file off.
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// damage FILE TEXT turns a bit in each place where a file has this text.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: damage FILE TEXT")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	if flip(data, args[1]) == 0 {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, data, 0o600))
}
