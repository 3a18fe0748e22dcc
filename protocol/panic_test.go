package protocol_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// panicking panics in the method of that name.
type panicking struct {
	*peer
	method string
}

func (p *panicking) at(method string) {
	if p.method == method {
		panic("secret")
	}
}

func (p *panicking) Terms() feed.Terms {
	p.at("Terms")
	return p.peer.Terms()
}

func (p *panicking) Opened(ctx context.Context) {
	p.at("Opened")
	p.peer.Opened(ctx)
}

func (p *panicking) Message(ctx context.Context, data []byte, binary bool) {
	p.at("Message")
	p.peer.Message(ctx, data, binary)
}

func (p *panicking) Closed(code int, reason string) {
	p.peer.Closed(code, reason)
	p.at("Closed")
}

func (p *panicking) SetState(ctx context.Context, state json.RawMessage) error {
	p.at("SetState")
	return p.peer.SetState(ctx, state)
}

func (p *panicking) Call(ctx context.Context, method string, args []json.RawMessage, send func(json.RawMessage) error) (json.RawMessage, error) {
	p.at("Call")
	return p.peer.Call(ctx, method, args, send)
}

// A panic behind a socket is the end of that socket, and of nothing else.
func TestAPanicBehindASocketEndsIt(t *testing.T) {
	n := newNode(t, protocol.Config{})
	for method, do := range map[string]func(*client){
		"Connect":  func(*client) {},
		"Terms":    func(*client) {},
		"Opened":   func(*client) {},
		"Message":  func(c *client) { c.send("hello") },
		"SetState": func(c *client) { c.send(`{"type":"cf_agent_state","state":1}`) },
		"Submit":   func(c *client) { c.send(chat("r1", "hi")) },
	} {
		t.Run(method, func(t *testing.T) {
			met := make(chan *panicking, 1)
			n.connect = func(_ context.Context, s feed.Socket, _ *http.Request) (protocol.Peer, error) {
				p := &panicking{newPeer(s), method}
				p.at("Connect")
				met <- p
				return p, nil
			}
			n.submit = func(context.Context, feed.Submit) error { panic("secret") }
			c := n.dial("")
			do(c)
			ce := c.closed()
			require.Equal(t, websocket.StatusInternalError, ce.Code)
			require.Equal(t, "internal error", ce.Reason)
			if method == "Connect" {
				return
			}
			for heard := range (<-met).heard { // to the end: it is told
				if heard != "opened" {
					require.Equal(t, "closed 1011 internal error", heard)
				}
			}
		})
	}
}

func TestAPanicInACallIsItsFailure(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.connect = func(_ context.Context, s feed.Socket, _ *http.Request) (protocol.Peer, error) {
		return &panicking{newPeer(s), "Call"}, nil
	}
	c := n.dial("").greeted()
	for range 100 { // and is under way no longer
		c.send(rpc("1", "m"))
		require.Equal(t, `{"error":"Unknown error occurred","id":"1","success":false,"type":"rpc"}`, c.read())
	}
}

func TestAPanicInAGoodbyeIsNobodysLoss(t *testing.T) {
	n := newNode(t, protocol.Config{})
	met := make(chan *panicking, 1)
	n.connect = func(_ context.Context, s feed.Socket, _ *http.Request) (protocol.Peer, error) {
		p := &panicking{newPeer(s), "Closed"}
		met <- p
		return p, nil
	}
	n.dial("").greeted().CloseNow()
	p := <-met
	require.Equal(t, "opened", <-p.heard)
	require.Equal(t, "closed 1006", <-p.heard)
	require.NoError(t, n.h.Close(t.Context()))
}
