package node_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/node"
)

func TestMain(m *testing.M) {
	// Counts messages to actors that have ended, and ends by itself after a while.
	deadLetters := goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1")
	goleak.VerifyTestMain(m, deadLetters)
}

// patience bounds what should take milliseconds.
const patience = 20 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// echo answers with what it was told.
func echo() *actors.Agent {
	return &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		said := turn.Question[len(turn.Question)-1]
		return turn.Stream.Text("you said " + said.Parts[0].Text)
	}}
}

// start starts a node that is stopped with the test.
func start(t *testing.T, cfg node.Config) *node.Node {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = quiet
	}
	if cfg.Data == "" {
		cfg.Data = t.TempDir()
	}
	n, err := node.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = n.Stop(context.Background()) })
	return n
}

// server serves a handler that can be exchanged while it runs.
type server struct {
	URL string

	mu      sync.Mutex
	handler http.Handler
}

func serve(t *testing.T, h http.Handler) *server {
	t.Helper()
	s := &server{handler: h}
	hs := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		hs.Close()
	})
	s.URL = hs.URL
	return s
}

func (s *server) swap(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.handler
	s.mu.Unlock()
	h.ServeHTTP(w, r)
}

// get returns status and body.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

// command is Run on a goroutine, with a person who types and reads.
type command struct {
	t     *testing.T
	stdin *io.PipeWriter
	stop  context.CancelFunc
	ended chan struct{}
	err   error // of Run; valid after ended

	mu    sync.Mutex
	out   strings.Builder
	moved chan struct{} // closed and replaced with each write
}

func run(t *testing.T, agents []*actors.Agent, args ...string) *command {
	t.Helper()
	in, stdin := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	c := &command{t: t, stdin: stdin, stop: stop, ended: make(chan struct{}), moved: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = node.Run(ctx, append([]string{"node"}, args...), in, c, io.Discard, agents...)
	}()
	t.Cleanup(func() {
		stop()
		_ = stdin.Close()
		<-c.ended
	})
	return c
}

func chatWith(t *testing.T, s *server, more ...string) *command {
	t.Helper()
	return run(t, []*actors.Agent{echo()}, append([]string{"chat", "--url", s.URL}, more...)...)
}

// Write implements io.Writer.
func (c *command) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Write(p)
	close(c.moved)
	c.moved = make(chan struct{})
	return len(p), nil
}

func (c *command) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// sees waits until text is on the screen.
func (c *command) sees(text string) {
	c.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		c.mu.Lock()
		screen, moved := c.out.String(), c.moved
		c.mu.Unlock()
		if strings.Contains(screen, text) {
			return
		}
		select {
		case <-moved:
		case <-c.ended:
			if !strings.Contains(c.screen(), text) {
				c.t.Fatalf("it has ended (%v) without %q:\n%s", c.err, text, screen)
			}
			return
		case <-limit.C:
			c.t.Fatalf("%q does not come:\n%s", text, screen)
		}
	}
}

func (c *command) types(line string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.stdin, line)
	require.NoError(c.t, err)
}

// ends closes the input and returns what the command does then.
func (c *command) ends() error {
	c.t.Helper()
	_ = c.stdin.Close()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("it does not end:\n%s", c.screen())
	}
	return c.err
}

// conversation is what the screen has after the greeting.
func (c *command) conversation() string {
	_, rest, _ := strings.Cut(c.screen(), "/quit leaves.\n")
	return rest
}
