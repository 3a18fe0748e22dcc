package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// deltas of each answer, one each delay milliseconds: all answers are under way
// while the last sockets still come.
const (
	deltas = 60
	delay  = 100
	size   = 40
)

func sockets(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("HOLDFAST_SOCKETS"))
	if os.Getenv("HOLDFAST_SOCKETS") == "" {
		return 500
	}
	require.NoError(t, err, "HOLDFAST_SOCKETS")
	return n
}

// Every socket gets every frame of its agent's answer, though one page among them
// has stopped reading while it is sent more than the node keeps for anybody.
func TestEverySocketGetsEveryFrame(t *testing.T) {
	n := process.Start(t, process.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	stalled := stall(ctx, t, n)
	var shouting sync.WaitGroup
	shouting.Go(func() { shout(ctx, t, n.Addr) })

	count := sockets(t)
	faults := make(chan error, count)
	dialing := make(chan struct{}, 64) // at once; a page load is no SYN flood
	var tabs sync.WaitGroup
	for i := range count {
		tabs.Go(func() {
			if err := tab(ctx, n.Addr, i, dialing); err != nil {
				faults <- fmt.Errorf("tab %d: %w", i, err)
			}
		})
	}
	tabs.Wait()
	shouting.Wait()
	close(faults)
	failed := 0
	for err := range faults {
		if failed++; failed <= 5 {
			t.Error(err)
		}
	}
	require.Zero(t, failed, "tabs that missed something, of %d", count)
	code := readToEnd(ctx, stalled) // told to come again, or cut off if it read nothing for the write timeout
	require.NoError(t, ctx.Err(), "the page that does not read still has its socket")
	require.Contains(t, []websocket.StatusCode{websocket.StatusTryAgainLater, -1}, code)
}

const hall = "/agents/bench-agent/stalled"

// stall opens a page that does not read.
func stall(ctx context.Context, t *testing.T, n *process.Node) *client.Socket {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return conn, err
	}}
	s, err := client.DialThrough(ctx, client.URL(n.Addr, "stalled", hall), transport)
	require.NoError(t, err)
	t.Cleanup(s.Drop)
	require.NoError(t, greeted(ctx, s))
	return s
}

// shout sends 30 MiB to everybody in the hall of the stalled page.
func shout(ctx context.Context, t *testing.T, addr string) {
	s, err := client.Dial(ctx, client.URL(addr, "shouter", hall), http.Header{})
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Drop()
	for i := range 30 {
		text := fmt.Sprintf("%d %s", i, strings.Repeat("x", 1<<20))
		err := s.Send(ctx, map[string]any{"type": client.Messages, "messages": []any{client.User("u", text)}})
		if err == nil { // each is done before the next: a probe is answered behind it
			err = s.Send(ctx, client.Probe(strconv.Itoa(i)))
		}
		for err == nil {
			var f client.Frame
			if f, err = s.Read(ctx); f.Type == client.None && f.ProbeID == strconv.Itoa(i) {
				break
			}
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func readToEnd(ctx context.Context, s *client.Socket) websocket.StatusCode {
	for {
		if _, err := s.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// tab asks its own agent and wants the whole answer.
func tab(ctx context.Context, addr string, i int, dialing chan struct{}) error {
	name := fmt.Sprintf("load-%d", i)
	dialing <- struct{}{}
	s, err := client.Dial(ctx, client.URL(addr, name, "/agents/bench-agent/"+name), http.Header{})
	if err == nil {
		defer s.Drop()
		err = greeted(ctx, s)
	}
	<-dialing
	if err != nil {
		return err
	}
	ask := fmt.Sprintf(`{"deltas":%d,"size":%d,"delayMs":%d}`, deltas, size, delay)
	if err := s.Send(ctx, client.Chat(name, []any{client.User("u", ask)}, nil)); err != nil {
		return err
	}
	return whole(ctx, s, name)
}

func greeted(ctx context.Context, s *client.Socket) error {
	for {
		f, err := s.Read(ctx)
		if err != nil || f.Type == client.MCP {
			return err
		}
	}
}

// whole reads the answer to a request: positions without a gap, as many deltas as
// were asked for, and one end.
func whole(ctx context.Context, s *client.Socket, request string) error {
	next, said := uint64(0), 0
	for {
		f, err := s.Read(ctx)
		if err != nil {
			return err
		}
		if f.Type != client.Response || f.ID != request {
			continue
		}
		if f.Done {
			if f.Error || said != deltas {
				return fmt.Errorf("ended with %d of %d deltas: %s", said, deltas, f.Raw)
			}
			return nil
		}
		if f.Seq == nil || *f.Seq != next {
			return fmt.Errorf("wanted position %d, got %s", next, f.Raw)
		}
		next++
		if c, ok := f.Content(); ok && c.Type == "text-delta" {
			if len(c.Delta) != size || !strings.Contains(c.Delta, "x") {
				return errors.New("a delta is not as it was asked for: " + c.Delta)
			}
			said++
		}
	}
}
