package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// TestAToolRunsOnceWhereverTheProcessDies has a conversation with two server tools
// at once, a third that may be repeated, an approval and a client's tool, and kills
// the process at each of its appends, before and after it is durable. The page
// reconnects to the next process and answers what is open. The turn ends, no tool
// has run twice but the one that may, and the model was told of each what is true.
func TestAToolRunsOnceWhereverTheProcessDies(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		for n := 1; ; n++ {
			e := newErrand(t, fmt.Sprintf("%s:%d", when, n))
			died := e.run()
			e.check()
			if t.Failed() {
				return
			}
			if !died {
				t.Logf("%s: %d points", when, n-1)
				require.Greater(t, n, 10, "the conversation has fewer appends than events")
				break
			}
		}
	}
}

// errand is one such conversation.
type errand struct {
	t    *testing.T
	at   string
	data string
	node *process.Node
	room string
}

func newErrand(t *testing.T, at string) *errand {
	return &errand{t: t, at: at, data: filepath.Join(t.TempDir(), strings.ReplaceAll(at, ":", "-")), room: "/agents/errand-agent/one"}
}

// run has the conversation to its end, and tells whether the first process has died.
func (e *errand) run() (died bool) {
	ctx, cancel := context.WithTimeout(e.t.Context(), process.Patience)
	defer cancel()
	e.node = process.New(e.t, process.Options{Data: e.data, Args: []string{"-die", e.at}})
	e.node.Launch()
	err := e.node.Ready()
	if err == nil {
		err = e.visit(ctx)
	}
	if err != nil {
		require.NoError(e.t, ctx.Err(), "died at %s: the conversation does not go on: %v", e.at, err)
		_ = e.node.ExitError()
		e.node = process.Start(e.t, process.Options{Data: e.data})
		if err := e.visit(ctx); err != nil {
			list, _ := e.messages(context.WithoutCancel(ctx))
			e.t.Fatalf("died at %s: %v; the conversation is %+v", e.at, err, list)
		}
		died = true
	}
	e.node.Kill()
	return died
}

// visit is what the page does until the conversation is over. An error says that
// the process is gone.
func (e *errand) visit(ctx context.Context) error {
	s, err := client.Dial(ctx, "ws://"+e.node.Addr+e.room, nil)
	if err != nil {
		return err
	}
	defer s.Drop()
	if err := s.Send(ctx, client.Probe("p")); err != nil {
		return err
	}
	for {
		f, err := s.Read(ctx)
		if err != nil {
			return err
		}
		switch {
		case f.Type == client.Resuming:
			err = s.Send(ctx, client.Ack(f.ID))
		case f.Type == client.None, f.Type == client.Pending, f.Terminal(), f.Type == "cf_agent_message_updated":
			var over bool
			if over, err = e.answer(ctx, s); over && (f.Type == client.None || f.Terminal()) {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

type toolPart struct {
	Type       string
	ToolCallID string
	State      string
	Text       string
	Output     json.RawMessage
	ErrorText  string
	Approval   struct{ ID string }
}

type toolMessage struct {
	ID, Role string
	Parts    []toolPart
}

func (e *errand) messages(ctx context.Context) (list []toolMessage, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.node.Addr+e.room+"/get-messages", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(body, &list)
}

// answer asks if nobody has, and answers what is open; over if the answer is there.
func (e *errand) answer(ctx context.Context, s *client.Socket) (over bool, err error) {
	list, err := e.messages(ctx)
	if err != nil {
		return false, err
	}
	if len(list) == 0 {
		return false, s.Send(ctx, client.Chat("errand", []any{client.User("u", "Run the errand.")}, nil))
	}
	for _, p := range list[len(list)-1].Parts {
		switch {
		case p.Type == "text" && strings.HasPrefix(p.Text, "All done."):
			return true, nil
		case p.State == "approval-requested":
			err = s.Send(ctx, map[string]any{"type": "cf_agent_tool_approval", "toolCallId": p.ToolCallID, "approved": true, "autoContinue": true})
		case p.Type == "tool-locate" && p.State == "input-available":
			err = s.Send(ctx, map[string]any{
				"type": "cf_agent_tool_result", "toolCallId": p.ToolCallID, "toolName": "locate",
				"output": "Oslo", "state": "output-available", "autoContinue": true,
			})
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// check compares what the model was told with what the tools have done.
func (e *errand) check() {
	t := e.t
	e.node = process.Start(t, process.Options{Data: e.data})
	defer e.node.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	list, err := e.messages(ctx)
	require.NoError(t, err)
	require.Len(t, list, 2, "died at %s", e.at)
	said := ""
	done, unknown, cut := map[string]int{}, map[string]int{}, map[string]int{}
	for _, p := range list[1].Parts {
		said += p.Text
		tool := strings.TrimPrefix(p.Type, "tool-")
		switch {
		case p.ToolCallID == "":
		case p.State == "output-available":
			done[tool]++
		case strings.Contains(p.ErrorText, "outcome is unknown"):
			unknown[tool]++
		case strings.Contains(p.ErrorText, "interrupted before"): // its input was cut off, it has not run
			cut[tool]++
		default:
			t.Errorf("died at %s: the call of %s is %s %q", e.at, tool, p.State, p.ErrorText)
		}
	}
	effects := e.effects()
	for _, tool := range []string{"debit", "credit", "refund", "repeat"} {
		ran := len(effects[tool])
		if tool == "repeat" {
			slices.Sort(effects[tool])
			ran = len(slices.Compact(effects[tool])) // by idempotency key
		}
		require.GreaterOrEqual(t, ran, done[tool], "died at %s: the model was told that %s is done", e.at, tool)
		require.LessOrEqual(t, ran, done[tool]+unknown[tool], "died at %s: %s has run %d times", e.at, tool, ran)
		require.Positive(t, done[tool]+unknown[tool]+cut[tool], "died at %s: the model was told nothing of %s", e.at, tool)
	}
	require.Positive(t, done["locate"]+cut["locate"], "died at %s", e.at)
	told := 0
	for _, n := range unknown {
		told += n
	}
	require.Equal(t, told, strings.Count(said, "outcome is unknown"), "died at %s: the model says that it was told %s", e.at, said)
	require.NotContains(t, said, "not answered yet", "died at %s", e.at)
	require.Contains(t, said, "All done.", "died at %s", e.at)
}

// effects are the idempotency keys of the runs of each tool.
func (e *errand) effects() map[string][]string {
	data, err := os.ReadFile(filepath.Join(e.data, "effects"))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(e.t, err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		tool, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[tool] = append(found[tool], key)
	}
	return found
}
