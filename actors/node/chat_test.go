package node_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/node"
	"github.com/holdfast-dev/holdfast/persistence/memory"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func TestChatAnswersLineByLineAndEndsWithItsInput(t *testing.T) {
	s := serve(t, start(t, node.Config{Agents: []*actors.Agent{echo()}}).Handler())
	c := chatWith(t, s)
	c.types("one")
	c.types("two")
	require.NoError(t, c.ends())
	require.Equal(t, "agent: you said one\nagent: you said two\n", c.conversation())
}

func TestChatShowsWhatWasSaidBefore(t *testing.T) {
	s := serve(t, start(t, node.Config{Agents: []*actors.Agent{echo()}}).Handler())
	first := chatWith(t, s)
	first.types("one")
	require.NoError(t, first.ends())
	second := chatWith(t, s)
	second.sees("agent: you said one")
	second.types("two")
	require.NoError(t, second.ends())
	require.Equal(t, "you: one\nagent: you said one\nagent: you said two\n", second.conversation())
}

func TestChatsOfOneRoomSeeEachOther(t *testing.T) {
	s := serve(t, start(t, node.Config{Agents: []*actors.Agent{echo()}}).Handler())
	other := chatWith(t, s, "--room", "ours")
	other.sees("/quit")
	other.types("here")
	other.sees("you said here")
	mine := chatWith(t, s, "--room", "ours")
	mine.sees("you said here")
	mine.types("hello")
	other.sees("you: hello\nagent: you said hello\n")
	require.NoError(t, mine.ends())
	require.NoError(t, other.ends())
}

// teller writes each piece when it may, and notices when it is stopped.
func teller(may chan string) *actors.Agent {
	return &actors.Agent{Name: "Echo", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		for {
			select {
			case piece, more := <-may:
				if !more {
					return nil
				}
				if _, err := turn.Stream.Write([]byte(piece)); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}}
}

func TestChatEmptyLineStopsTheAnswer(t *testing.T) {
	may := make(chan string, 1)
	s := serve(t, start(t, node.Config{Agents: []*actors.Agent{teller(may)}}).Handler())
	c := chatWith(t, s)
	c.types("go")
	may <- "I begin"
	c.sees("agent: I begin")
	c.types("")
	c.sees("(stopped)")
	require.NoError(t, c.ends())
}

func TestChatClearLeavesNothingOfWhatItHadShown(t *testing.T) {
	may := make(chan string, 1)
	agent := teller(may)
	n := start(t, node.Config{Agents: []*actors.Agent{agent}})
	c := chatWith(t, serve(t, n.Handler()))
	c.types("go")
	may <- "I begin"
	c.sees("I begin")
	c.types("/clear")
	c.sees("(stopped)")
	c.types("again")
	may <- "A new one"
	c.sees("A new one")
	close(may)
	require.NoError(t, c.ends())
	messages, err := n.Agent(agent, "terminal").Messages(t.Context())
	require.NoError(t, err)
	require.Len(t, messages, 2)
	require.Equal(t, "again", lastText(messages[0]))
	require.Equal(t, "A new one", lastText(messages[1]))
}

// TestChatGoesOnAfterACrash: the node dies in mid-answer, and what it had said
// last is not on the disk.
func TestChatGoesOnAfterACrash(t *testing.T) {
	disk := new(memory.Disk)
	store := memory.Open(memory.Config{Disk: disk})
	may := make(chan string)
	n := start(t, node.Config{Agents: []*actors.Agent{teller(may)}, Store: store})
	s := serve(t, n.Handler())
	c := chatWith(t, s)
	c.types("go")
	may <- "One two"
	may <- " three"
	c.sees("agent: One two three")

	s.swap(http.HandlerFunc(unavailable))
	store.Crash()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Error(t, n.Stop(ctx), "nothing could be stored")
	c.sees("(the connection is gone")
	s.swap(start(t, node.Config{Agents: []*actors.Agent{teller(may)}, Store: memory.Open(memory.Config{Disk: disk})}).Handler())

	may <- ". The end."
	close(may)
	require.NoError(t, c.ends())
	answer := c.conversation()
	require.Equal(t, 1, strings.Count(answer, "One"), answer)
	require.Contains(t, answer, "The end.")
}

func unavailable(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
}

// TestChatAsksAgainWhatGotLost: the first connection swallows the question.
func TestChatAsksAgainWhatGotLost(t *testing.T) {
	n := start(t, node.Config{Agents: []*actors.Agent{echo()}})
	var connections atomic.Int32
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if connections.Add(1) > 1 {
			n.Handler().ServeHTTP(w, r)
			return
		}
		swallow(w, r)
	}))
	c := chatWith(t, s)
	c.types("are you there")
	require.NoError(t, c.ends())
	require.Equal(t, 1, strings.Count(c.screen(), "agent: you said are you there"), c.screen())
}

// swallow is a node that has nothing to resume, takes a question and dies.
func swallow(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	_, probe, err := conn.Read(r.Context())
	if err != nil {
		return
	}
	answer := strings.Replace(string(probe), "cf_agent_stream_resume_request", "cf_agent_stream_resume_none", 1)
	if conn.Write(r.Context(), websocket.MessageText, []byte(answer)) == nil {
		_, _, _ = conn.Read(r.Context())
	}
}

func TestChatTellsOfAFailedAnswer(t *testing.T) {
	agent := &actors.Agent{Name: "Echo", OnChatMessage: func(context.Context, *actors.Turn) error { return actors.Errorf("no more today") }}
	c := chatWith(t, serve(t, start(t, node.Config{Agents: []*actors.Agent{agent}}).Handler()))
	c.types("go")
	require.ErrorContains(t, c.ends(), "the last answer has failed")
	require.Contains(t, c.screen(), "(error: no more today)")
}

func TestChatWritesNoControlCharacters(t *testing.T) {
	agent := &actors.Agent{Name: "Echo", OnChatMessage: func(_ context.Context, turn *actors.Turn) error {
		return turn.Stream.Text("a\x1b[2Jb\u009b1mc\td\r\ne")
	}}
	c := chatWith(t, serve(t, start(t, node.Config{Agents: []*actors.Agent{agent}}).Handler()))
	c.types("go")
	require.NoError(t, c.ends())
	require.Equal(t, "agent: a[2Jb1mc\td\ne\n", c.conversation())
}

func TestChatEndsWhereTryingAgainIsOfNoUse(t *testing.T) {
	gate := func(*http.Request, feed.Address) (*http.Request, error) {
		return nil, &protocol.Error{Code: protocol.Unauthenticated, Message: "who are you?"}
	}
	good := serve(t, start(t, node.Config{Agents: []*actors.Agent{echo()}}).Handler())
	closed := serve(t, start(t, node.Config{Agents: []*actors.Agent{echo()}, Protocol: protocol.Config{BeforeConnect: gate}}).Handler())
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"agent":    {[]string{"chat", "Nobody", "--url", good.URL}, `knows no agent "Nobody"`},
		"refused":  {[]string{"chat", "--url", closed.URL}, "refuses: who are you? (401)"},
		"no node":  {[]string{"chat", "--url", serve(t, http.NotFoundHandler()).URL}, "is no node"},
		"nobody":   {[]string{"chat", "--url", "http://127.0.0.1:1"}, "no node answers at http://127.0.0.1:1"},
		"scheme":   {[]string{"chat", "--url", "localhost:8787"}, "is not the address of a node"},
		"room":     {[]string{"chat", "--room", ".."}, "cannot be part of an address"},
		"no agent": {[]string{"chat", "--url", good.URL, "--room", ""}, "cannot be part of an address"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, run(t, []*actors.Agent{echo()}, c.args...).wait(), c.want)
		})
	}
	require.ErrorContains(t, run(t, nil, "chat").wait(), "name the agent")
}

// wait returns how the command ends though its input goes on.
func (c *command) wait() error {
	select {
	case <-c.ended:
		return c.err
	case <-time.After(patience):
		return errors.New("it does not end")
	}
}
