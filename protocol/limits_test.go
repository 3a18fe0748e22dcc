package protocol_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// logText collects log lines.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logText) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// C19: a client that stops reading is closed with 1013 and can come back; the
// others get everything.
func TestSlowReaderIsClosed(t *testing.T) {
	var log logText
	n := newNode(t, protocol.Config{LagBytes: 1 << 20, Log: log.logger()})
	slow, fast := n.dial("").greeted(), n.dial("").greeted()
	n.put(roomOne, feed.Accepted{Request: "r1"}, feed.Opened{Request: "r1"})
	text := strings.Repeat("x", 30<<10)
	for i := range 500 {
		n.put(roomOne, delta(i, text))
		require.Contains(t, fast.read(), "text-delta")
	}
	require.Equal(t, websocket.StatusTryAgainLater, slow.closed().Code)
	require.Contains(t, log.String(), "lag_bytes=1048576")
	require.Contains(t, log.String(), "LagBytes")
	again := n.dial("")
	require.Contains(t, again.read(), "cf_agent_stream_resuming")
}

// C20: the official hook sends the whole conversation in one frame.
func TestLargeFramesOfClients(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("").greeted()
	for _, size := range []int{40 << 10, 300 << 10, 5 << 20} {
		a.send(chat("r1", strings.Repeat("x", size)))
		require.Greater(t, len((<-n.asked).(feed.Submit).Messages[0].AppendJSON(nil)), size)
	}
}

func TestLargeTranscriptReachesClient(t *testing.T) {
	n := newNode(t, protocol.Config{LagBytes: 1 << 20})
	n.messages = `[{"id":"` + strings.Repeat("x", 5<<20) + `"}]`
	a := n.dial("").greeted()
	require.Greater(t, len(a.read()), 5<<20)
	n.put(roomOne, feed.Transcript{Messages: []byte(n.messages)})
	require.Greater(t, len(a.read()), 5<<20)
}

func TestFrameOverTheLimitClosesWith1009(t *testing.T) {
	var log logText
	n := newNode(t, protocol.Config{MaxFrameBytes: 1 << 20, Log: log.logger()})
	a := n.dial("").greeted()
	a.send(chat("r1", strings.Repeat("x", 1<<20)))
	ce := a.closed()
	require.Equal(t, websocket.StatusMessageTooBig, ce.Code)
	require.Equal(t, "frame is over the limit of 1 MiB", ce.Reason)
	require.Contains(t, log.String(), "limit=1048576 setting=MaxFrameBytes")
	require.Empty(t, n.asked)

	// The agent stays usable.
	b := n.dial("").greeted()
	b.send(chat("r2", "hi"))
	require.Equal(t, "r2", (<-n.asked).(feed.Submit).Request)
}

// A client that sends faster than its agent takes is held back, not dropped.
func TestFloodIsHeldBack(t *testing.T) {
	n := newNode(t, protocol.Config{MaxFrameBytes: 4 << 10})
	a := n.dial("").greeted()
	const requests = 600
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range requests {
			a.send(chat("r1", strings.Repeat("x", 2<<10)))
		}
	}()
	for range requests {
		<-n.asked
	}
	<-sent
}

func TestConfigIsChecked(t *testing.T) {
	host := &scriptedHost{}
	for field, cfg := range map[string]protocol.Config{
		"Host":           {},
		"PingEvery":      {Host: host, PingEvery: -1},
		"MaxFrameBytes":  {Host: host, MaxFrameBytes: -1},
		"OriginPatterns": {Host: host, OriginPatterns: []string{"[a"}},
	} {
		_, err := protocol.New(cfg)
		require.ErrorContains(t, err, field)
	}
}
