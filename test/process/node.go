package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience is how long the tests wait for what should take milliseconds. It
// bounds failures only.
const Patience = 20 * time.Second

// Options of a node.
type Options struct {
	Data string   // data folder; default a new one that goes with the test
	Args []string // further arguments
	User uint32   // runs as that user; 0: as the tests do
}

// Node is a node that may be running. Its methods are for one goroutine at a
// time, but Addr, Log and WaitLog may be used by any.
type Node struct {
	Addr string // host:port, the same after a restart
	Data string

	t      testing.TB
	opts   Options
	cmd    *exec.Cmd
	log    *logbook
	exited chan struct{} // closed when the process is gone
	err    error         // of Wait; valid after exited
}

// New prepares a node and starts nothing. A process that is left at the test's
// end is killed; the log is shown if the test has failed.
func New(t testing.TB, o Options) *Node {
	t.Helper()
	if o.Data == "" {
		o.Data = filepath.Join(t.TempDir(), "data")
	}
	n := &Node{Addr: freeAddr(t), Data: o.Data, t: t, opts: o, log: newLogbook()}
	t.Cleanup(func() {
		n.Kill()
		if strings.Contains(n.Log(), "DATA RACE") {
			t.Errorf("the node has a data race:\n%s", n.Log())
		}
		if t.Failed() {
			t.Logf("log of the node at %s:\n%s", n.Addr, n.log.tail(60))
		}
	})
	return n
}

// Start is New and Up.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	n := New(t, o)
	n.Up()
	return n
}

// Launch starts the process and returns at once.
func (n *Node) Launch() {
	n.t.Helper()
	b, err := built()
	if err != nil {
		n.t.Fatal(err)
	}
	n.cmd = exec.CommandContext(context.Background(), b.path, append([]string{"-listen", n.Addr, "-data", n.Data}, n.opts.Args...)...)
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	n.cmd.SysProcAttr = attributes(n.opts.User)
	if err := n.cmd.Start(); err != nil {
		n.t.Fatalf("start of the node: %v", err)
	}
	cmd, exited := n.cmd, make(chan struct{})
	n.exited = exited
	go func() {
		n.err = cmd.Wait()
		close(exited)
	}()
}

// Up launches the process and returns when it takes connections.
func (n *Node) Up() {
	n.t.Helper()
	n.Launch()
	if err := n.Ready(); err != nil {
		n.t.Fatalf("%v; its log:\n%s", err, n.log.tail(30))
	}
}

// Ready returns when the node takes connections, or why it will not.
func (n *Node) Ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	try := time.NewTicker(2 * time.Millisecond)
	defer try.Stop()
	for {
		var d net.Dialer
		if conn, err := d.DialContext(ctx, "tcp", n.Addr); err == nil {
			return conn.Close()
		}
		select {
		case <-n.exited:
			return fmt.Errorf("the node has ended: %w", n.ExitError())
		case <-ctx.Done():
			return errors.New("the node takes no connections")
		case <-try.C:
		}
	}
}

// Kill ends the process as a power cut would (kill -9) and waits until it is gone.
func (n *Node) Kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill() // may be gone already
	<-n.exited
}

// Stop asks the process to stop (SIGTERM) and returns its exit code, see Exit.
func (n *Node) Stop() int {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatalf("SIGTERM: %v", err)
	}
	return n.Exit()
}

// Exit waits until the process has ended by itself and returns its exit code; -1
// if a signal has ended it.
func (n *Node) Exit() int {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(Patience):
		n.t.Fatalf("the node does not end; its log:\n%s", n.log.tail(30))
	}
	return n.cmd.ProcessState.ExitCode()
}

// ExitError says how the process has ended; it must have.
func (n *Node) ExitError() error {
	<-n.exited
	if n.err == nil {
		return errors.New("exit code 0")
	}
	return n.err
}

// PID is the process.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// Log is what the node has written so far, over all its starts.
func (n *Node) Log() string { return n.log.tail(0) }

// WaitLog returns the first line of the log that contains all parts, and fails
// the test if none comes.
func (n *Node) WaitLog(parts ...string) string {
	n.t.Helper()
	line, ok := n.log.wait(parts)
	if !ok {
		n.t.Fatalf("no line with %q in the node's log:\n%s", parts, n.log.tail(60))
	}
	return line
}

// freeAddr finds a port that nobody listens on. It is none that the system gives
// to outgoing connections: a client must not get it while the node is down.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return addr
	}
	t.Fatal("no free port between 20000 and 30000")
	return ""
}
