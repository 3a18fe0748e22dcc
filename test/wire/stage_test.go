package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
	"github.com/holdfast-dev/holdfast/test/wire/match"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The scenarios wait far more than they work.
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	process.Main(m)
}

// stage is where one scenario plays: its rooms, connections and requests.
type stage struct {
	t    *testing.T
	node *process.Node
	run  string // makes the names of rooms unique; RUN in recordings

	conns    []*client.Conn
	requests int
	settles  int
	https    []any           // responses, as events
	refused  map[string]any  // upgrades that were refused, as events
	deaf     map[string]bool // connections whose end is the scenario's doing
}

var runs atomic.Int64

func newStage(t *testing.T, n *process.Node) *stage {
	return &stage{t: t, node: n, run: fmt.Sprintf("r%dx%d", os.Getpid(), runs.Add(1)), deaf: map[string]bool{}, refused: map[string]any{}}
}

// room is the path of a ChatAgent of this scenario.
func (s *stage) room(name string) string { return s.agent("chat-agent", name) }

func (s *stage) agent(class, name string) string {
	return "/agents/" + class + "/" + name + "-" + s.run
}

// open connects; the connection's name is that of the recording, and its _pk.
func (s *stage) open(name, path string) *client.Conn {
	s.t.Helper()
	return s.openAs(name, name, path)
}

func (s *stage) openAs(name, pk, path string) *client.Conn {
	s.t.Helper()
	c := s.openDeaf(pk, path).Greeted()
	c.Name = name
	return c
}

// openDeaf is open without waiting for what the node says first.
func (s *stage) openDeaf(name, path string) *client.Conn {
	s.t.Helper()
	c := client.Open(s.t, s.node.Addr, name, path)
	s.conns = append(s.conns, c)
	return c
}

// turnedAway is a connection that the node refuses, at once or with a close code.
func (s *stage) turnedAway(name, path string) {
	s.t.Helper()
	c, err := client.TryOpen(s.t, s.node.Addr, name, path)
	if err != nil {
		var refused *client.Refused
		require.ErrorAs(s.t, err, &refused)
		s.refused[name] = map[string]any{"upgradeStatus": float64(refused.Status), "body": refused.Body}
		return
	}
	c.WaitClosed()
	s.conns = append(s.conns, c)
}

// observer is a connection that is no part of the recording.
func (s *stage) observer(path string) *client.Conn {
	s.t.Helper()
	return client.Open(s.t, s.node.Addr, "observer", path).Greeted()
}

// request returns the next request id, as the recordings have them.
func (s *stage) request() string {
	s.requests++
	return fmt.Sprintf("req%05d", s.requests)
}

// settle returns when everything that is due to these connections has come: the
// agent has answered a question, and after that each socket has. An ACK of a
// request that never was is always answered while nothing streams.
func (s *stage) settle(path string, conns ...*client.Conn) {
	s.t.Helper()
	s.do(http.MethodGet, path+"/get-messages")
	for _, c := range conns {
		s.ask(c, client.Ack)
	}
}

// settleCalls is settle for agents that do not chat: they answer calls.
func (s *stage) settleCalls(conns ...*client.Conn) {
	s.t.Helper()
	for _, c := range conns {
		s.ask(c, func(id string) any { return client.Call(id, "missing") })
	}
}

func (s *stage) ask(c *client.Conn, question func(id string) any) {
	s.t.Helper()
	s.settles++
	id := fmt.Sprintf("%s%d", settlePrefix, s.settles)
	c.Send(question(id))
	c.Wait("the answer to "+id, func(f *client.Frame) bool { return f.ID == id })
}

const settlePrefix = "settle-"

// messages reads the transcript; the response is part of the recording.
func (s *stage) messages(path string) []json.RawMessage {
	s.t.Helper()
	var list []json.RawMessage
	require.NoError(s.t, json.Unmarshal(s.http(http.MethodGet, path+"/get-messages"), &list))
	return list
}

// http sends a request whose response is part of the recording.
func (s *stage) http(method, path string) []byte {
	s.t.Helper()
	status, header, body := s.do(method, path)
	var parsed any
	if json.Unmarshal(body, &parsed) != nil {
		parsed = string(body)
	}
	headers := map[string]any{}
	for _, h := range []string{"content-type", "access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers", "access-control-max-age"} {
		if v := header.Get(h); v != "" {
			headers[h] = v
		}
	}
	s.https = append(s.https, map[string]any{
		"request": method + " " + path, "status": float64(status), "headers": headers, "body": parsed,
	})
	return body
}

func (s *stage) do(method, path string) (status int, header http.Header, body []byte) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.node.Addr+path, nil)
	require.NoError(s.t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, res.Header, body
}

// chat asks for a turn.
func (s *stage) chat(c *client.Conn, request string, messages ...any) {
	s.t.Helper()
	c.Send(client.Chat(request, messages, nil))
}

// drop loses the connection; what the node does about it is not recorded.
func (s *stage) drop(c *client.Conn) {
	s.deaf[c.Name] = true
	c.Drop()
}

// list is what comes before further messages in a request.
func list(stored []json.RawMessage, more ...any) []any {
	all := make([]any, len(stored), len(stored)+len(more))
	for i, m := range stored {
		all[i] = m
	}
	return append(all, more...)
}

// events is what each connection has received, as the recordings have it.
func (s *stage) events() map[string][]any {
	s.t.Helper()
	all := map[string][]any{}
	for _, c := range s.conns {
		events := []any{}
		for _, f := range c.Frames() {
			if strings.HasPrefix(f.ID, settlePrefix) || !match.Known(f.Type) {
				continue
			}
			events = append(events, s.event(f.Raw))
		}
		if e := c.Closed(); e != nil && !s.deaf[c.Name] {
			events = append(events, map[string]any{"close": float64(e.Code), "reason": e.Reason})
		}
		all[c.Name] = withoutRepeatedPush(events)
	}
	for name, refusal := range s.refused {
		all[name] = []any{refusal}
	}
	if s.https != nil {
		raw, err := json.Marshal(s.https)
		require.NoError(s.t, err)
		var events []any
		require.NoError(s.t, json.Unmarshal(bytes.ReplaceAll(raw, []byte(s.run), []byte("RUN")), &events))
		all["http"] = events
	}
	return all
}

var padding = regexp.MustCompile("x{1000,}")

// event decodes a frame and, if it is JSON, its body.
func (s *stage) event(raw []byte) any {
	s.t.Helper()
	var e map[string]any
	raw = padding.ReplaceAllFunc(raw, func(x []byte) []byte { return fmt.Appendf(nil, "<%d x>", len(x)) })
	require.NoError(s.t, json.Unmarshal(bytes.ReplaceAll(raw, []byte(s.run), []byte("RUN")), &e), "%s", raw)
	var body any
	if text, ok := e["body"].(string); ok && strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &body) == nil {
		e["body"] = body
	}
	return e
}

// withoutRepeatedPush: a node may push the transcript again right before the
// "idle" that answers a probe, since the push on connect can reach a page before
// its chat hook listens.
func withoutRepeatedPush(events []any) []any {
	is := func(e any, want map[string]any) bool {
		m, _ := e.(map[string]any)
		for k, v := range want {
			if m[k] != v {
				return false
			}
		}
		return true
	}
	push := map[string]any{"type": client.Messages, "connect": true}
	idle := map[string]any{"type": client.None, "reason": "idle"}
	var out []any
	for i, e := range events {
		repeated := slices.ContainsFunc(events[:i], func(e any) bool { return is(e, push) })
		if is(e, push) && repeated && i+1 < len(events) && is(events[i+1], idle) {
			continue
		}
		out = append(out, e)
	}
	return out
}
