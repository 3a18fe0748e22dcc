package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds what should take milliseconds.
const patience = 30 * time.Second

// running are the nodes that scripts have started. Each script has its own key
// and is one goroutine.
var running = runningNodes{}

// process is a running program whose output can be waited for.
type process struct {
	cmd   *exec.Cmd
	url   string        // of a node
	ended chan struct{} // closed when it is gone
	err   error         // of Wait; valid after ended

	mu    sync.Mutex
	out   bytes.Buffer
	moved chan struct{} // closed and replaced with each write
}

func spawn(dir string, stdin *bytes.Buffer, args ...string) (*process, error) {
	p := &process{ended: make(chan struct{}), moved: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), nodePath(), args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, p, p
	p.cmd.Env = []string{"HOME=" + dir} // no keys of models
	if stdin != nil {
		p.cmd.Stdin = stdin
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// launch starts a node and returns when it serves.
func launch(dir string, args ...string) (*process, error) {
	p, err := spawn(dir, nil, append([]string{"serve"}, args...)...)
	if err != nil {
		return nil, err
	}
	greeting, err := p.await(`Holdfast serves on (http://\S+)`)
	if err != nil {
		p.kill()
		return nil, err
	}
	p.url = greeting[1]
	return p, nil
}

func (p *process) addr() string {
	return strings.Replace(strings.TrimPrefix(p.url, "http://"), "localhost", "127.0.0.1", 1)
}

// Write implements io.Writer.
func (p *process) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.moved)
	p.moved = make(chan struct{})
	return p.out.Write(data)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// await waits for output that matches, and returns the match.
func (p *process) await(pattern string) ([]string, error) {
	re := regexp.MustCompile(pattern)
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		p.mu.Lock()
		match, moved := re.FindStringSubmatch(p.out.String()), p.moved
		p.mu.Unlock()
		if match != nil {
			return match, nil
		}
		select {
		case <-moved:
		case <-p.ended:
			if match = re.FindStringSubmatch(p.log()); match != nil {
				return match, nil
			}
			return nil, fmt.Errorf("it has ended (%w) without %q:\n%s", p.err, pattern, p.log())
		case <-limit.C:
			return nil, fmt.Errorf("%q does not come:\n%s", pattern, p.log())
		}
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // may be gone already
	<-p.ended
}

// stop sends SIGTERM and returns how the process ends.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.wait()
}

func (p *process) wait() error {
	select {
	case <-p.ended:
		return p.err
	case <-time.After(patience):
		return errors.New("it does not end")
	}
}

// flip turns a bit of the first byte of each text in data and returns how many.
func flip(data []byte, text string) (n int) {
	for at := 0; ; n++ {
		i := bytes.Index(data[at:], []byte(text))
		if i < 0 {
			return n
		}
		data[at+i] ^= 1
		at += i + len(text)
	}
}

type runningNodes struct {
	mu    sync.Mutex
	nodes map[*testscript.TestScript]*process
}

func (r *runningNodes) put(ts *testscript.TestScript, p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodes == nil {
		r.nodes = map[*testscript.TestScript]*process{}
	}
	r.nodes[ts] = p
}

// take returns the node of a script, which has none afterwards.
func (r *runningNodes) take(ts *testscript.TestScript) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.nodes[ts]
	delete(r.nodes, ts)
	return p
}
