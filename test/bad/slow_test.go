package bad

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// A page that has stopped reading (a laptop that sleeps, a phone that is frozen)
// costs the node a bounded queue and then its socket; others do not notice.
func TestAClientThatDoesNotReadLosesItsSocketAlone(t *testing.T) {
	const path, rounds, wakes, size = "/agents/chat-agent/slow", 100, 24, 1 << 20
	n := process.Start(t, process.Options{})
	writer, reader := client.Open(t, n.Addr, "w", path).Greeted(), client.Open(t, n.Addr, "r", path).Greeted()
	dozing, frozen := dialGreeted(t, n, path), dialGreeted(t, n, path)
	before := heap(t, n)
	highest := before
	for i := 1; i <= rounds; i++ {
		// The same message again and again: what is kept of it is one.
		text := fmt.Sprintf("%d %s", i, strings.Repeat("x", size))
		writer.Send(map[string]any{"type": client.Messages, "messages": []any{client.User("u", text)}})
		reader.WaitN(i, "each transcript", client.OfType(client.Messages))
		reader.Forget()
		highest = max(highest, heap(t, n))
		if i == wakes { // more than the network and the node hold for it
			require.Equal(t, websocket.StatusTryAgainLater, readToEnd(t, dozing), "and its client comes back and resumes")
			n.WaitLog("reads too slowly", "LagBytes")
		}
	}
	t.Logf("memory: %d MiB at first, %d MiB at most; %d MiB were sent to each client", before>>20, highest>>20, rounds*size>>20)
	require.Less(t, highest-before, int64(rounds*size), "less than one stalled client would have queued")
	n.WaitLog("does not read", "setting=WriteTimeout") // no code can be told to one that never reads
	frozen.Drop()
	require.Nil(t, reader.Closed())
	require.Nil(t, writer.Closed())
	answers(t, n, path)
}

// dialGreeted is a socket that has been greeted and then stops reading.
func dialGreeted(t *testing.T, n *process.Node, path string) *client.Socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	s, err := client.Dial(ctx, client.URL(n.Addr, "slow", path), nil)
	require.NoError(t, err)
	t.Cleanup(s.Drop)
	for {
		f, err := s.Read(ctx)
		require.NoError(t, err)
		if f.Type == client.MCP {
			return s
		}
	}
}

// readToEnd wakes up, reads what is there, and returns how the node has closed it.
func readToEnd(t *testing.T, s *client.Socket) websocket.StatusCode {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	for {
		_, err := s.Read(ctx)
		var closed websocket.CloseError
		if errors.As(err, &closed) {
			return closed.Code
		}
		require.NoError(t, err, "the socket ends with a code")
	}
}

// heap is the memory that the process has for itself: not its files.
func heap(t *testing.T, n *process.Node) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the memory of a process is read from /proc, which this system does not have")
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			return kib << 10
		}
	}
	t.Fatalf("no RssAnon in\n%s", status)
	return 0
}
