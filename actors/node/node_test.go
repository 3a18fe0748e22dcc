package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/node"
	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)

func TestConversationsOutliveTheNode(t *testing.T) {
	agent, data := echo(), t.TempDir()
	first := start(t, node.Config{Agents: []*actors.Agent{agent}, Data: data})
	answer, err := first.Agent(agent, "r").Chat(t.Context(), "hello")
	require.NoError(t, err)
	require.NoError(t, answer.Err)
	require.NoError(t, first.Stop(t.Context()))

	second := start(t, node.Config{Agents: []*actors.Agent{agent}, Data: data})
	messages, err := second.Agent(agent, "r").Messages(t.Context())
	require.NoError(t, err)
	require.Len(t, messages, 2)
	require.Equal(t, "you said hello", lastText(messages[1]))
}

func lastText(m uimessage.Message) string { return m.Parts[len(m.Parts)-1].Text }

func TestConfigMistakesAreNamed(t *testing.T) {
	a := echo()
	for want, cfg := range map[string]node.Config{
		"Config.Agents is empty":          {},
		"Config.Agents[1] is nil":         {Agents: []*actors.Agent{a, nil}},
		"Config.StopTimeout is -1s":       {Agents: []*actors.Agent{a}, StopTimeout: -time.Second},
		"Config.WakeRate is -1":           {Agents: []*actors.Agent{a}, WakeRate: -1},
		`"AI" and "Ai" have the same URL`: {Agents: []*actors.Agent{{Name: "AI"}, {Name: "Ai"}}},
		"Config.OriginPatterns":           {Agents: []*actors.Agent{a}, Protocol: protocol.Config{OriginPatterns: []string{"["}}},
	} {
		cfg.Data = filepath.Join(t.TempDir(), "data")
		_, err := node.Start(t.Context(), cfg)
		require.ErrorContains(t, err, want)
		require.NoDirExists(t, cfg.Data, "nothing is made for a node that cannot start")
	}
}

func TestAgentMistakePanicsAndLeavesTheJournalFree(t *testing.T) {
	data := t.TempDir()
	require.PanicsWithValue(t, `actors: agent "Echo": Instructions needs Model`, func() {
		_, _ = node.Start(t.Context(), node.Config{Agents: []*actors.Agent{{Name: "Echo", Instructions: "Answer."}}, Data: data, Log: quiet})
	})
	start(t, node.Config{Agents: []*actors.Agent{echo()}, Data: data})
}

func TestStartThatIsGivenUpLeavesTheJournalFree(t *testing.T) {
	data := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("not today"))
	_, err := node.Start(ctx, node.Config{Agents: []*actors.Agent{echo()}, Data: data, Log: quiet})
	require.ErrorContains(t, err, "not today")
	start(t, node.Config{Agents: []*actors.Agent{echo()}, Data: data})
}

func TestJournalThatCannotBeOpened(t *testing.T) {
	folder := func(name, content string) string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		return dir
	}
	used := t.TempDir()
	start(t, node.Config{Agents: []*actors.Agent{echo()}, Data: used})
	for name, c := range map[string]struct {
		data, want string
		is         error
	}{
		"in use":    {used, "it is in use by another process: stop that one first", persistence.ErrInUse},
		"a file":    {filepath.Join(folder("f", ""), "f"), "the data folder cannot be made", nil},
		"empty":     {folder(node.JournalFile, ""), "it is empty (0 bytes)", nil},
		"foreign":   {folder(node.JournalFile, strings.Repeat("not a journal. ", 1000)), "it is not a journal", nil},
		"too short": {folder(node.JournalFile, "hello"), "less than any journal", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := node.Start(t.Context(), node.Config{Agents: []*actors.Agent{echo()}, Data: c.data, Log: quiet})
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
}

func TestStopTwiceAndAtOnce(t *testing.T) {
	n := start(t, node.Config{Agents: []*actors.Agent{echo()}})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := n.Stop(context.Background()); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
	}
	all.Wait()
	require.NoError(t, n.Stop(t.Context()))
}

func TestStopLeavesAStoreThatWasGiven(t *testing.T) {
	store := memory.Open(memory.Config{})
	n := start(t, node.Config{Agents: []*actors.Agent{echo()}, Store: store})
	require.NoError(t, n.Stop(t.Context()))
	require.NoError(t, store.Health())
	require.NoError(t, store.Close())
}

// open opens a socket of a room.
func open(t *testing.T, s *server, room string) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/agents/echo/"+room, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func ask(t *testing.T, conn *websocket.Conn) {
	t.Helper()
	frame := `{"type":"cf_agent_use_chat_request","id":"q","init":{"method":"POST","body":"{\"messages\":[{\"id\":\"u\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"go\"}]}]}"}}`
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(frame)))
}

// wait reads until a frame has text, or the socket closes.
func wait(t *testing.T, conn *websocket.Conn, text string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil || text != "" && strings.Contains(string(data), text) {
			return err
		}
	}
}

// endless talks until it is stopped, quickly but not as fast as it can.
func endless() *actors.Agent {
	return &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		words := time.NewTicker(5 * time.Millisecond)
		defer words.Stop()
		for {
			if _, err := turn.Stream.Write([]byte("and on ")); err != nil {
				return err
			}
			select {
			case <-words.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}}
}

func TestStopUnderLoadClosesSocketsSoThatClientsComeBack(t *testing.T) {
	agent := endless()
	data := t.TempDir()
	n := start(t, node.Config{Agents: []*actors.Agent{agent}, Data: data})
	s := serve(t, n.Handler())
	const sockets = 20
	closed := make(chan error, sockets)
	for i := range sockets {
		conn := open(t, s, fmt.Sprint("room", i))
		ask(t, conn)
		require.NoError(t, wait(t, conn, "and on"))
		go func() { closed <- wait(t, conn, "") }()
	}
	require.NoError(t, n.Stop(t.Context()))
	for range sockets {
		require.Equal(t, websocket.StatusServiceRestart, websocket.CloseStatus(<-closed))
	}
	_, res, err := websocket.Dial(t.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/agents/echo/late", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)

	// Each answer goes on at the next start.
	again := serve(t, start(t, node.Config{Agents: []*actors.Agent{agent}, Data: data}).Handler())
	require.NoError(t, wait(t, open(t, again, "room0"), "cf_agent_stream_resuming"))
}

// TestStopIsNotHeldUpByAClientThatHangs: its socket is cut off while there is
// still time for the agents.
func TestStopIsNotHeldUpByAClientThatHangs(t *testing.T) {
	agent := endless()
	n := start(t, node.Config{Agents: []*actors.Agent{agent}, StopTimeout: 2 * time.Second})
	conn := open(t, serve(t, n.Handler()), "r")
	ask(t, conn)
	require.NoError(t, wait(t, conn, "and on")) // and reads nothing from here on
	require.NoError(t, n.Stop(t.Context()))
}

func TestHandlerFitsIntoAnotherMux(t *testing.T) {
	agent := echo()
	n := start(t, node.Config{Agents: []*actors.Agent{agent}})
	_, err := n.Agent(agent, "r").Chat(t.Context(), "hello")
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/agents/", n.Handler())
	mux.Handle("GET /healthz", n.Handler())
	s := serve(t, mux)
	status, body := get(t, s.URL+"/agents/echo/r/get-messages")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "you said hello")
	status, _ = get(t, s.URL+"/elsewhere")
	require.Equal(t, http.StatusNotFound, status)
	status, body = get(t, s.URL+"/agents/nobody/r/get-messages")
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "Invalid request", body)
}

func TestHealth(t *testing.T) {
	var down atomic.Bool
	store := memory.Open(memory.Config{Down: func() error {
		if down.Load() {
			return errors.New("the disk is full of secrets")
		}
		return nil
	}})
	n := start(t, node.Config{Agents: []*actors.Agent{echo()}, Store: store})
	s := serve(t, n.Handler())
	status, body := get(t, s.URL+"/healthz")
	require.Equal(t, http.StatusOK, status, body)

	down.Store(true)
	status, body = get(t, s.URL+"/healthz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "the journal cannot be written\n", body)

	down.Store(false)
	require.NoError(t, n.Stop(t.Context()))
	status, body = get(t, s.URL+"/healthz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "the node is stopping\n", body)
}
