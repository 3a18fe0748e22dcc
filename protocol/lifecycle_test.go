package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestCloseDrains(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a, b := n.dial("").greeted(), n.dial("").greeted()
	n.put(roomOne, feed.Accepted{Request: "r1"}, feed.Opened{Request: "r1"}, delta(0, "last words"))
	closed := make(chan error, 2)
	go func() { closed <- n.h.Close(t.Context()) }()
	go func() { closed <- n.h.Close(t.Context()) }()
	require.Contains(t, a.read(), "last words")
	for _, c := range []*client{a, b} {
		ce := c.closed()
		require.Equal(t, websocket.StatusServiceRestart, ce.Code)
		require.Equal(t, "node is stopping, reconnect", ce.Reason)
	}
	require.NoError(t, <-closed)
	require.NoError(t, <-closed)
	require.NoError(t, n.h.Close(t.Context()), "safe again")

	_, resp, err := websocket.Dial(t.Context(), n.url(), nil)
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
}

// stuckHost never wakes an agent, and comes back only when its context ends.
type stuckHost struct {
	*scriptedHost
	entered chan struct{}
}

func (s stuckHost) View(ctx context.Context, _ feed.Address, _ uint64) error {
	close(s.entered)
	<-ctx.Done()
	return ctx.Err()
}

func TestCloseCutsOffWhatHangs(t *testing.T) {
	n := newNode(t, protocol.Config{})
	entered := make(chan struct{})
	n.submit = func(ctx context.Context, _ feed.Submit) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}
	n.dial("").greeted().send(chat("r1", "hi"))
	<-entered
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, n.h.Close(over), context.Canceled)
	require.NoError(t, n.h.Close(t.Context()))
}

func TestLostClosesSockets(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("").greeted()
	n.put(roomOne, feed.Accepted{Request: "r1"}, feed.Opened{Request: "r1"}, delta(0, "x"))
	n.lose(roomOne)
	ce := a.closed()
	require.Equal(t, websocket.StatusServiceRestart, ce.Code)

	// The next incarnation tells its own picture.
	n.put(roomOne, feed.Accepted{Request: "r2"})
	require.Contains(t, n.dial("").read(), `{"id":"r2","type":"cf_agent_stream_pending"}`)
}

func (s *scriptedHost) lose(a feed.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseLocked(a)
}

func (s *scriptedHost) loseLocked(a feed.Address) {
	delete(s.loaded, a)
	s.h.Lost(a)
}

func TestSocketsOutlivePassivation(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a := n.dial("").greeted()
	n.mu.Lock()
	delete(n.loaded, roomOne)
	n.h.Gone(roomOne)
	n.mu.Unlock()
	a.send(`{"type":"cf_agent_stream_resume_request"}`)
	require.Contains(t, a.read(), `"reason":"idle"`)
	n.put(roomOne, feed.Recovery{On: true})
	require.Contains(t, a.read(), "recovering")
}

func TestAgentThatCannotWake(t *testing.T) {
	n := newNode(t, protocol.Config{ConnectTimeout: time.Minute})
	for _, c := range []struct {
		err    error
		code   websocket.StatusCode
		reason string
	}{
		{errors.New("open /var/lib/secret: no such file"), websocket.StatusInternalError, "internal error"},
		{&protocol.Error{Code: protocol.Quarantined, Message: "record 7 of this agent cannot be read"}, websocket.StatusInternalError, "record 7 of this agent cannot be read"},
		{&protocol.Error{Code: protocol.Unavailable, Message: "store is down"}, websocket.StatusTryAgainLater, "store is down"},
	} {
		n.mu.Lock()
		n.fail = c.err
		n.mu.Unlock()
		_, _, err := n.dial("").Read(t.Context())
		var ce websocket.CloseError
		require.ErrorAs(t, err, &ce, "no frame before the close")
		require.Equal(t, c.code, ce.Code)
		require.Equal(t, c.reason, ce.Reason)
	}
}

// While an agent wakes, its new socket is alive but sees nothing; then the
// client's first frames are answered behind the connect sequence.
func TestConnectingSocketAnswersPings(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.mu.Lock() // View waits
	a := n.dial("")
	a.send(`{"type":"cf_agent_stream_resume_request","probeId":"p1"}`)
	frames := make(chan string)
	go func() {
		for range 3 {
			frames <- a.read()
		}
	}()
	require.NoError(t, a.Ping(t.Context()))
	n.mu.Unlock()
	require.Contains(t, <-frames, "cf_agent_identity")
	require.Contains(t, <-frames, "cf_agent_mcp_servers")
	require.Contains(t, <-frames, `"probeId":"p1"`)
}

func TestConnectTimeout(t *testing.T) {
	n := newNode(t, protocol.Config{Host: stuckHost{scriptedHost: &scriptedHost{}, entered: make(chan struct{})}, ConnectTimeout: time.Millisecond})
	require.Equal(t, websocket.StatusTryAgainLater, n.dial("").closed().Code)
}

// A client that does not answer pings is cut off.
func TestDeadSocketIsNoticed(t *testing.T) {
	n := newNode(t, protocol.Config{PingEvery: time.Millisecond, PingTimeout: 20 * time.Millisecond})
	conn := rawDial(t, n)
	defer conn.Close()
	got, _ := io.ReadAll(conn) // ends when the node closes
	require.Contains(t, string(got), "cf_agent_identity")
}

// A client in the middle of a long upload over a slow line cannot answer pings,
// but it is alive: here it sends ten bytes of a frame for each ping it gets.
func TestSlowUploadIsAlive(t *testing.T) {
	n := newNode(t, protocol.Config{PingEvery: time.Millisecond, PingTimeout: 100 * time.Millisecond})
	conn := rawDial(t, n)
	defer conn.Close()
	payload := `{"type":"cf_agent_stream_resume_request","probeId":"p"}`
	frame := append([]byte{0x81, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...) // mask of zeros
	buf := make([]byte, 4096)
	var got []byte
	for !bytes.Contains(got, []byte("resume_none")) {
		k, err := conn.Read(buf)
		require.NoError(t, err)
		got = append(got, buf[:k]...)
		piece := frame[:min(10, len(frame))]
		frame = frame[len(piece):]
		_, err = conn.Write(piece)
		require.NoError(t, err)
	}
}

func TestLiveSocketIsKept(t *testing.T) {
	n := newNode(t, protocol.Config{PingEvery: time.Millisecond})
	pings := make(chan struct{}, 5)
	conn, _, err := websocket.Dial(t.Context(), n.url(), &websocket.DialOptions{
		OnPingReceived: func(context.Context, []byte) bool {
			select {
			case pings <- struct{}{}:
			default:
			}
			return true
		},
	})
	require.NoError(t, err)
	defer conn.CloseNow()
	a := (&client{conn, t}).greeted()
	frame := make(chan string)
	go func() { frame <- a.read() }()
	for range cap(pings) {
		<-pings
	}
	n.put(roomOne, feed.Recovery{On: true})
	require.Contains(t, <-frame, "recovering")
}
