package protocol_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// C19: a client that has stopped reading, and does not even read a goodbye, is cut
// off with all that ran for it. The others get everything, as it comes.
func TestNothingRunsForAStalledReader(t *testing.T) {
	n := newNode(t, protocol.Config{LagBytes: 1 << 20, WriteTimeout: 200 * time.Millisecond})
	other := n.dial("").greeted()
	existing := goleak.IgnoreCurrent()
	sent := make(chan error)
	stalled, p := n.meet("", func(p *peer) {
		p.call = func(ctx context.Context, _ string, _ []json.RawMessage, send func(json.RawMessage) error) (json.RawMessage, error) {
			for send([]byte(`"`+strings.Repeat("x", 50<<10)+`"`)) == nil {
			}
			<-ctx.Done()
			sent <- ctx.Err()
			return nil, nil
		}
	})
	stalled.greeted()
	stalled.send(rpc("1", "stream"))
	for i := range 100 { // more than the network holds
		n.put(roomOne, feed.Cast{Data: fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", 100<<10))})
		require.Contains(t, other.read(), fmt.Sprint(i))
	}
	require.ErrorIs(t, <-sent, context.Canceled)
	require.Equal(t, "opened", <-p.heard)
	require.Contains(t, []string{"closed 1006", "closed 1013 too far behind, reconnect"}, <-p.heard)
	require.False(t, p.Send([]byte("x"), false))
	stalled.CloseNow()
	goleak.VerifyNone(t, existing)
	n.put(roomOne, feed.Cast{Data: []byte("on")})
	require.Equal(t, "on", other.read())
}

// What the author sends counts, even before the greeting.
func TestTheAuthorFloodsASocket(t *testing.T) {
	n := newNode(t, protocol.Config{LagFrames: 10})
	n.mu.Lock() // View waits
	a, p := n.meet("", nil)
	for i := range 10 {
		require.True(t, p.Send(fmt.Append(nil, i), false))
	}
	require.False(t, p.Send([]byte("too much"), false))
	n.mu.Unlock()
	ce := a.closed()
	require.Equal(t, "too far behind, reconnect", ce.Reason)
}

// What the author hands over is theirs again at once, and text is UTF-8 whatever
// it was.
func TestFramesFromTheAuthorAreTheirOwn(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.mu.Lock() // View waits
	a, p := n.meet("", nil)
	data := []byte("first")
	require.True(t, p.Send(data, false))
	copy(data, "other")
	require.True(t, p.Send([]byte("\xff!"), false))
	require.True(t, p.Send([]byte("\xff!"), true))
	require.True(t, p.Send(nil, false))
	n.mu.Unlock()
	a.greeted()
	for _, want := range []string{"first", "\ufffd!", "\xff!", ""} {
		require.Equal(t, want, a.read())
	}
}

// Close waits for what runs for its sockets, and cuts it off when it must.
func TestCloseWaitsForAuthors(t *testing.T) {
	for name, hang := range map[string]func(*peer, func(context.Context)){
		"opened": func(p *peer, wait func(context.Context)) { p.opened = wait },
		"state": func(p *peer, wait func(context.Context)) {
			p.state = func(string) error { wait(p.ctx); return nil }
		},
		"call": func(p *peer, wait func(context.Context)) {
			p.call = func(ctx context.Context, _ string, _ []json.RawMessage, _ func(json.RawMessage) error) (json.RawMessage, error) {
				wait(ctx)
				return nil, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, protocol.Config{})
			entered, let := make(chan struct{}), make(chan struct{})
			a, p := n.meet("", func(p *peer) {
				hang(p, func(ctx context.Context) {
					close(entered)
					select {
					case <-let:
					case <-ctx.Done():
					}
				})
			})
			a.greeted()
			a.send(`{"type":"cf_agent_state","state":1}`)
			a.send(rpc("1", "m"))
			<-entered
			closed := make(chan error)
			go func() { closed <- n.h.Close(t.Context()) }()
			_ = a.closed()
			require.Empty(t, closed)
			over, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, n.h.Close(over), context.Canceled)
			require.NoError(t, <-closed, "what hung has been cut off")
			require.Equal(t, "opened", <-p.heard)
			require.Contains(t, <-p.heard, "closed 1012")
		})
	}
}
