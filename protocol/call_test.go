package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func rpc(id, method string, args ...any) string {
	if args == nil {
		args = []any{}
	}
	frame, _ := json.Marshal(map[string]any{"type": "rpc", "id": id, "method": method, "args": args})
	return string(frame)
}

type sender = func(json.RawMessage) error

// methods makes a peer that has these.
func methods(m map[string]func(context.Context, []json.RawMessage, sender) (string, error)) func(*peer) {
	return func(p *peer) {
		p.call = func(ctx context.Context, method string, args []json.RawMessage, send func(json.RawMessage) error) (json.RawMessage, error) {
			f := m[method]
			if f == nil {
				return nil, &protocol.Error{Code: protocol.NotFound, Message: "Method " + method + " does not exist"}
			}
			result, err := f(ctx, args, send)
			if result == "" || err != nil {
				return nil, err
			}
			return json.RawMessage(result), nil
		}
	}
}

// As recorded in 25-rpc.
func TestCalls(t *testing.T) {
	n := newNode(t, protocol.Config{})
	a, _ := n.meet("", methods(map[string]func(context.Context, []json.RawMessage, sender) (string, error){
		"echo": func(_ context.Context, args []json.RawMessage, _ sender) (string, error) {
			list, err := json.Marshal(args)
			return string(list), err
		},
		"nothing": func(context.Context, []json.RawMessage, sender) (string, error) { return "", nil },
		"null":    func(context.Context, []json.RawMessage, sender) (string, error) { return "null", nil },
		"fail": func(context.Context, []json.RawMessage, sender) (string, error) {
			return "", &protocol.Error{Code: protocol.Internal, Message: "nope"}
		},
		"bug": func(context.Context, []json.RawMessage, sender) (string, error) { return "", errors.New("secret") },
		"count": func(_ context.Context, _ []json.RawMessage, send sender) (string, error) {
			for i := range 3 {
				if err := send(fmt.Appendf(nil, `{"i":%d}`, i)); err != nil {
					return "", err
				}
			}
			return `{"total":3}`, nil
		},
		"countErr": func(_ context.Context, _ []json.RawMessage, send sender) (string, error) {
			return "", errors.Join(send([]byte("1")), &protocol.Error{Code: protocol.Internal, Message: "stream failed"})
		},
	}))
	a.greeted()
	for _, c := range []struct {
		call string
		want []string
	}{
		{rpc("1", "echo", 1, "two", map[string]any{"a": nil}, nil), []string{`{"done":true,"id":"1","result":[1,"two",{"a":null},null],"success":true,"type":"rpc"}`}},
		{rpc("2", "echo"), []string{`{"done":true,"id":"2","result":null,"success":true,"type":"rpc"}`}},
		{rpc("3", "nothing"), []string{`{"done":true,"id":"3","success":true,"type":"rpc"}`}},
		{rpc("4", "null"), []string{`{"done":true,"id":"4","result":null,"success":true,"type":"rpc"}`}},
		{rpc("5", "missing"), []string{`{"error":"Method missing does not exist","id":"5","success":false,"type":"rpc"}`}},
		{rpc("6", "fail"), []string{`{"error":"nope","id":"6","success":false,"type":"rpc"}`}},
		{rpc("7", "bug"), []string{`{"error":"Unknown error occurred","id":"7","success":false,"type":"rpc"}`}},
		{rpc("8", "count"), []string{
			`{"done":false,"id":"8","result":{"i":0},"success":true,"type":"rpc"}`, `{"done":false,"id":"8","result":{"i":1},"success":true,"type":"rpc"}`,
			`{"done":false,"id":"8","result":{"i":2},"success":true,"type":"rpc"}`, `{"done":true,"id":"8","result":{"total":3},"success":true,"type":"rpc"}`,
		}},
		{rpc("9", "countErr"), []string{
			`{"done":false,"id":"9","result":1,"success":true,"type":"rpc"}`, `{"error":"stream failed","id":"9","success":false,"type":"rpc"}`,
		}},
		{rpc("", "null"), []string{`{"done":true,"id":"","result":null,"success":true,"type":"rpc"}`}},
		{rpc(strings.Repeat("i", 300), "null"), []string{`{"error":"id has 300 bytes, the limit is 256","id":"` + strings.Repeat("i", 256) + `","success":false,"type":"rpc"}`}},
		{rpc("10", strings.Repeat("m", 300)), []string{`{"error":"method has 300 bytes, the limit is 256","id":"10","success":false,"type":"rpc"}`}},
		{rpc("11", "echo", make([]any, 101)...), []string{`{"error":"args has more entries than the limit of 100","id":"11","success":false,"type":"rpc"}`}},
	} {
		a.send(c.call)
		for _, want := range c.want {
			require.Equal(t, want, a.read())
		}
	}
}

// Calls run side by side: a fast one overtakes, and 64 are enough.
func TestCallsOfASocketAreConcurrentAndLimited(t *testing.T) {
	n := newNode(t, protocol.Config{})
	let, entered := make(chan struct{}), make(chan struct{}, 64)
	a, _ := n.meet("", methods(map[string]func(context.Context, []json.RawMessage, sender) (string, error){
		"slow": func(context.Context, []json.RawMessage, sender) (string, error) {
			entered <- struct{}{}
			<-let
			return `"slow"`, nil
		},
		"fast": func(context.Context, []json.RawMessage, sender) (string, error) { return `"fast"`, nil },
	}))
	a.greeted()
	for i := range 63 {
		a.send(rpc(fmt.Sprint(i), "slow"))
		<-entered
	}
	for range 3 { // each makes room for the next as soon as it is answered
		a.send(rpc("fast", "fast"))
		require.Contains(t, a.read(), `"result":"fast"`)
	}
	a.send(rpc("63", "slow"))
	<-entered
	a.send(rpc("64", "fast"))
	require.Equal(t, `{"error":"64 calls of this connection are under way, which is the limit","id":"64","success":false,"type":"rpc"}`, a.read())
	b := n.dial("").greeted()
	b.send(rpc("1", "fast"))
	require.Contains(t, b.read(), `"result":"fast"`, "another socket has a limit of its own")
	close(let)
	for range 64 {
		require.Contains(t, a.read(), `"result":"slow"`)
	}
}

func TestCallsWaitForOpened(t *testing.T) {
	n := newNode(t, protocol.Config{})
	let := make(chan struct{})
	a, p := n.meet("", func(p *peer) {
		p.opened = func(context.Context) { <-let }
		p.call = func(context.Context, string, []json.RawMessage, func(json.RawMessage) error) (json.RawMessage, error) {
			p.heard <- "called"
			return nil, nil
		}
	})
	a.greeted()
	a.send(rpc("1", "m"))
	a.send(`{"type":"cf_agent_stream_resume_request"}`)
	require.Contains(t, a.read(), "resume_none", "the chat does not wait")
	require.Empty(t, p.heard)
	close(let)
	require.Equal(t, "opened", <-p.heard)
	require.Equal(t, "called", <-p.heard)
}

// A call that was sent is carried out, even if the page is closed right after it.
func TestCallBeforeCloseIsCarriedOut(t *testing.T) {
	n := newNode(t, protocol.Config{})
	let, called := make(chan struct{}), make(chan error, 1)
	a, p := n.meet("", func(p *peer) {
		p.opened = func(context.Context) { <-let }
		p.call = func(ctx context.Context, _ string, _ []json.RawMessage, _ func(json.RawMessage) error) (json.RawMessage, error) {
			called <- ctx.Err()
			return []byte("1"), nil
		}
	})
	a.greeted()
	a.send(rpc("1", "m"))
	require.NoError(t, a.Ping(a.CloseRead(t.Context())), "it has been read")
	a.CloseNow()
	close(let)
	require.Equal(t, "opened", <-p.heard)
	require.NoError(t, <-called)
	require.Equal(t, "closed 1006", <-p.heard)
}

// One that streams has nobody to stream to any more.
func TestStreamingCallEndsWithItsSocket(t *testing.T) {
	n := newNode(t, protocol.Config{})
	ended := make(chan error, 1)
	a, _ := n.meet("", methods(map[string]func(context.Context, []json.RawMessage, sender) (string, error){
		"stream": func(ctx context.Context, _ []json.RawMessage, send sender) (string, error) {
			err := send([]byte("1"))
			<-ctx.Done()
			ended <- errors.Join(err, send([]byte("2")))
			return "", nil
		},
	}))
	a.greeted()
	a.send(rpc("1", "stream"))
	require.Contains(t, a.read(), `"result":1`)
	a.CloseNow()
	require.Error(t, <-ended)
}

// After its end a call says nothing more, whatever the author's goroutines try.
func TestACallEndsOnce(t *testing.T) {
	n := newNode(t, protocol.Config{})
	late := make(chan sender, 1)
	a, _ := n.meet("", methods(map[string]func(context.Context, []json.RawMessage, sender) (string, error){
		"leak": func(_ context.Context, _ []json.RawMessage, send sender) (string, error) {
			late <- send
			return "1", nil
		},
	}))
	a.greeted()
	a.send(rpc("1", "leak"))
	require.Contains(t, a.read(), `"done":true`)
	require.Error(t, (<-late)([]byte("2")))
	a.send(`{"type":"cf_agent_stream_resume_request"}`)
	require.Contains(t, a.read(), "resume_none")
}

// A method is faster than any network: it waits, and its socket is not closed for
// lagging. What cannot wait still finds room.
func TestStreamingCallWaitsForItsClient(t *testing.T) {
	n := newNode(t, protocol.Config{LagFrames: 20, LagBytes: 1 << 20})
	const pieces = 600
	text := strings.Repeat("x", 10<<10) // in all more than the network's buffers hold
	a, p := n.meet("", methods(map[string]func(context.Context, []json.RawMessage, sender) (string, error){
		"stream": func(_ context.Context, _ []json.RawMessage, send sender) (string, error) {
			for i := range pieces {
				if err := send(fmt.Appendf(nil, `[%d,%q]`, i, text)); err != nil {
					return "", err
				}
			}
			return "", nil
		},
	}))
	a.greeted()
	a.send(rpc("1", "stream"))
	next := 0
	for next < pieces {
		if next%100 == 0 {
			require.True(t, p.Send([]byte("meanwhile"), false))
		}
		if frame := a.read(); frame != "meanwhile" {
			require.Contains(t, frame, fmt.Sprintf(`"result":[%d,`, next))
			next++
		}
	}
}

// Checklist 436, 437: as recorded in 26-state.
func TestState(t *testing.T) {
	n := newNode(t, protocol.Config{})
	n.state = `{"count":0}`
	var mu sync.Mutex // one state at a time
	shape := func(p *peer) {
		p.state = func(state string) error {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case p.terms.Readonly:
				return &protocol.Error{Code: protocol.Denied, Message: "Connection is readonly"}
			case strings.Contains(state, "-"):
				return fmt.Errorf("validator: %s", "secret")
			}
			n.put(roomOne, feed.State{JSON: []byte(state), By: p.ID()})
			return nil
		}
		p.call = func(context.Context, string, []json.RawMessage, func(json.RawMessage) error) (json.RawMessage, error) {
			n.put(roomOne, feed.State{JSON: []byte("6")})
			return []byte("6"), nil
		}
	}
	greet := func(c *client) *client {
		require.Contains(t, c.read(), `"stateFollows":true`)
		require.Contains(t, c.read(), `"cf_agent_state"`)
		require.Contains(t, c.read(), "cf_agent_mcp_servers")
		return c
	}
	a, _ := n.meet("", shape)
	b, _ := n.meet("", shape)
	readonly, _ := n.meet("", func(p *peer) { p.terms.Readonly = true; shape(p) })
	spared, _ := n.meet("", func(p *peer) { p.terms.NoProtocol = true; shape(p) })
	greet(a)
	greet(b)
	greet(readonly)

	a.send(`{"state":{"count":5},"type":"cf_agent_state"}`)
	require.Equal(t, `{"state":{"count":5},"type":"cf_agent_state"}`, b.read())
	require.Equal(t, `{"state":{"count":5},"type":"cf_agent_state"}`, readonly.read())
	a.send(`{"state":{"count":-1},"type":"cf_agent_state"}`)
	require.Equal(t, `{"error":"State update rejected","type":"cf_agent_state_error"}`, a.read())
	readonly.send(`{"state":{"count":9},"type":"cf_agent_state"}`)
	require.Equal(t, `{"error":"Connection is readonly","type":"cf_agent_state_error"}`, readonly.read())
	a.send(rpc("s1", "bump"))
	require.Equal(t, `{"state":6,"type":"cf_agent_state"}`, a.read(), "the state comes before the reply")
	require.Contains(t, a.read(), `"id":"s1"`)
	require.Equal(t, `{"state":6,"type":"cf_agent_state"}`, b.read())
	spared.send(`{"state":null,"type":"cf_agent_state"}`)
	require.Equal(t, `{"state":null,"type":"cf_agent_state"}`, a.read())
	require.Equal(t, `{"state":null,"type":"cf_agent_state"}`, b.read())
	spared.send(`{"type":"cf_agent_stream_resume_request"}`)
	require.Contains(t, spared.read(), "resume_none", "the first that it hears")
}

// What a page does one after the other is done in that order: the state that it
// sets is set when its next message or call is looked at.
func TestStateComesBeforeWhatWasSentAfterIt(t *testing.T) {
	n := newNode(t, protocol.Config{})
	did := make(chan string, 10)
	let := make(chan struct{})
	n.submit = func(context.Context, feed.Submit) error { did <- "submit"; return nil }
	a, p := n.meet("", func(p *peer) {
		p.state = func(string) error { <-let; did <- "state"; return nil }
		p.call = func(context.Context, string, []json.RawMessage, func(json.RawMessage) error) (json.RawMessage, error) {
			did <- "call"
			return nil, nil
		}
	})
	a.greeted()
	require.Equal(t, "opened", <-p.heard)
	a.send(`{"type":"cf_agent_state","state":1}`)
	a.send(rpc("1", "m"))
	a.send(chat("r1", "hi"))
	a.send("hello")
	close(let)
	require.Equal(t, "state", <-did)
	require.ElementsMatch(t, []string{"call", "submit"}, []string{<-did, <-did})
	require.Equal(t, "message false hello", <-p.heard)
}
