package actors_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

func registered(e *journalv1.Event) bool { return e.GetSubAgentRegistered() != nil }
func created(e *journalv1.Event) bool    { return e.GetAgentCreated() != nil }

func names(t testing.TB, r *actors.Ref) []string {
	t.Helper()
	list, err := r.SubAgents(t.Context())
	require.NoError(t, err)
	out := []string{}
	for _, c := range list {
		out = append(out, c.Class+"/"+c.Name)
	}
	return out
}

// A sub-agent is an agent like any other, that its parent knows of for ever.
func TestASubAgentIsRegisteredOnce(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	root := h.Agent(agent, "root")
	for range 2 {
		child, err := root.SubAgent(t.Context(), agent, "a/b c")
		require.NoError(t, err)
		_, err = child.Chat(t.Context(), "hi")
		require.NoError(t, err)
		h.Crash()
		root = h.Agent(agent, "root")
	}
	_, err := root.SubAgent(t.Context(), agent, "second")
	require.NoError(t, err)
	require.Equal(t, []string{"Echo/a/b c", "Echo/second"}, names(t, root))
	require.Equal(t, 2, count(journal(t, h, root.Address()), registered))
	require.Empty(t, conversation(t, root), "what is said to a sub-agent is not said to its parent")

	child, err := root.SubAgent(t.Context(), agent, "a/b c")
	require.NoError(t, err)
	require.Len(t, conversation(t, child), 4)
	require.Equal(t, "Echo/root/sub/Echo/a%2Fb%20c", child.Address().Path())
	require.Equal(t, "Echo/root", journal(t, h, child.Address())[0].GetAgentCreated().GetParent())
	parent, ok := child.Parent()
	require.True(t, ok)
	require.Equal(t, root.Address(), parent.Address())
	_, ok = root.Parent()
	require.False(t, ok)
	deep, err := child.SubAgent(t.Context(), agent, "deep")
	require.NoError(t, err)
	require.Equal(t, []feed.Address{root.Address(), child.Address()}, deep.ParentPath())
	require.Empty(t, root.ParentPath())
}

func TestSubAgentsThatCannotBe(t *testing.T) {
	agent := echo()
	h := actorstest.New(t, agent)
	for name, want := range map[string]string{
		"":                        "agent name has 0 bytes; 1 to 512 are allowed",
		strings.Repeat("x", 513):  "agent name has 513 bytes; 1 to 512 are allowed",
		"a\x00b":                  `agent name "a\x00b" is not UTF-8, or has a NUL`,
		"\xff":                    `agent name "\xff" is not UTF-8, or has a NUL`,
		strings.Repeat("é", 200):  "path of the sub-agent has 1219 bytes; the limit is 1024",
		strings.Repeat("/", 100):  "",
		"agent-tool:call_1 / x %": "",
	} {
		_, err := h.Agent(agent, "root").SubAgent(t.Context(), agent, name)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
	}
	at := h.Agent(agent, "deep")
	for range 8 {
		child, err := at.SubAgent(t.Context(), agent, "x")
		require.NoError(t, err)
		at = child
	}
	_, err := at.SubAgent(t.Context(), agent, "x")
	require.EqualError(t, err, "sub-agent is nested 9 deep; the limit is 8")
	require.PanicsWithValue(t, `actors: agent "Echo" is not registered`, func() {
		_, _ = at.SubAgent(t.Context(), echo(), "x")
	})
}

func TestAskingForASubAgentBringsNothingIntoBeing(t *testing.T) {
	agent := echo()
	var f faults
	h, root := open(t, &f, agent)
	has, err := root.HasSubAgent(t.Context(), agent, "x")
	require.NoError(t, err)
	require.False(t, has)
	require.Empty(t, names(t, root))
	require.NoError(t, root.DeleteSubAgent(t.Context(), agent, "x"))
	require.Empty(t, f.appends())
	_, err = root.SubAgent(t.Context(), agent, "x")
	require.NoError(t, err)
	has, err = root.HasSubAgent(t.Context(), agent, "x")
	require.NoError(t, err)
	require.True(t, has)
	require.Zero(t, count(journal(t, h, root.Address().Child("Echo", "x")), created), "it has no journal before it is used")
}

// family is agents of which each may be told, by its text, to ask another and
// wait: "ask parent: …", "ask NAME: …" for a sub-agent; anything else is echoed.
func family() *actors.Agent {
	agent := &actors.Agent{Name: "Member"}
	agent.OnChatMessage = func(ctx context.Context, turn *actors.Turn) error {
		text := textOf(turn.Question[len(turn.Question)-1])
		who, rest, ask := strings.Cut(strings.TrimPrefix(text, "ask "), ": ")
		if !ask {
			return turn.Stream.Text("echo: " + text)
		}
		self := turn.Self
		other, _ := self.Parent()
		if who != "parent" {
			var err error
			if other, err = self.SubAgent(ctx, agent, who); err != nil {
				return err
			}
		}
		answer, err := other.Chat(ctx, rest)
		if errors.Is(err, actors.ErrInsideTurn) {
			return turn.Stream.Text("refused")
		}
		if err != nil {
			return err
		}
		return turn.Stream.Text(fmt.Sprintf("%s says: %s", who, answer.Text()))
	}
	return agent
}

// A parent may wait for its sub-agent and the other way round; to wait for each
// other is refused, however many are between.
func TestWaitsInAFamily(t *testing.T) {
	agent := family()
	h := actorstest.New(t, agent)
	root := h.Agent(agent, "root")
	for text, want := range map[string]string{
		"ask a: hello":                          "a says: echo: hello",
		"ask a: ask b: hello":                   "a says: b says: echo: hello",
		"ask a: ask parent: hello":              "a says: refused",
		"ask a: ask b: ask parent: hello":       "a says: b says: refused",
		"ask a: ask b: ask c: ask parent: x":    "a says: b says: c says: refused",
		"ask a: ask b: ask c: ask d: ask e: ok": "a says: b says: c says: d says: e says: echo: ok",
	} {
		answer, err := root.Chat(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, want, answer.Text(), text)
	}
	child, err := root.SubAgent(t.Context(), agent, "a")
	require.NoError(t, err)
	answer, err := child.Chat(t.Context(), "ask parent: hello")
	require.NoError(t, err)
	require.Equal(t, "parent says: echo: hello", answer.Text())
}

// A sub-agent's turn that began before its parent waits for another behind it is
// no way round.
func TestWaitsInAFamilyBehindAnotherTurn(t *testing.T) {
	goOn, asked := make(chan struct{}), make(chan struct{})
	var parent, child *actors.Agent
	child = &actors.Agent{Name: "Child", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		if textOf(turn.Question[0]) != "first" {
			return turn.Stream.Text("second answer")
		}
		<-goOn
		up, _ := turn.Self.Parent()
		_, err := up.Chat(ctx, "are you there?")
		return turn.Stream.Text(fmt.Sprint(errors.Is(err, actors.ErrInsideTurn)))
	}}
	parent = &actors.Agent{Name: "Parent", OnChatMessage: func(ctx context.Context, turn *actors.Turn) error {
		c, err := turn.Self.SubAgent(ctx, child, "c")
		if err != nil {
			return err
		}
		close(asked)
		answer, err := c.Chat(ctx, "second")
		if err != nil {
			return err
		}
		return turn.Stream.Text(answer.Text())
	}}
	bubble(t, func(t *testing.T) {
		goOn, asked = make(chan struct{}), make(chan struct{})
		h := actorstest.New(t, parent, child)
		root := h.Agent(parent, "root")
		c, err := root.SubAgent(t.Context(), child, "c")
		require.NoError(t, err)
		require.NoError(t, c.Submit(t.Context(), submit("r1", "first")))
		require.NoError(t, root.Submit(t.Context(), submit("r1", "go")))
		<-asked
		pass(time.Second)
		close(goOn)
		pass(time.Second)
		require.Equal(t, "assistant: second answer", conversation(t, root)[1])
		require.Contains(t, conversation(t, c), "assistant: true")
	})
}

func TestTheGate(t *testing.T) {
	agent := echo()
	closed := &actors.Agent{Name: "Closed", OnChatMessage: agent.OnChatMessage}
	agent.BeforeSubAgent = func(ctx context.Context, self *actors.Self, r *http.Request, child actors.ChildAddress) error {
		switch child.Name {
		case "no":
			return actors.Deny(http.StatusTeapot, "short and stout")
		case "error":
			return errors.New("secret")
		case "panic":
			panic("secret")
		case "known":
			if has, err := self.HasSubAgent(ctx, agent, child.Name); err != nil || !has {
				return errors.Join(err, actors.Deny(http.StatusNotFound, "Not Found"))
			}
		}
		return nil
	}
	h := actorstest.New(t, agent, closed)
	root := h.Agent(agent, "root")
	plain, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	require.NoError(t, err)
	socket := plain.Clone(t.Context())
	socket.Header.Set("Upgrade", "websocket")
	enter := func(r *http.Request, name string) error {
		return h.Enter(t.Context(), r, root.Address(), root.Address().Child("Echo", name))
	}
	var refusal *actors.Error
	require.ErrorAs(t, enter(socket, "no"), &refusal)
	require.Equal(t, http.StatusTeapot, refusal.Status)
	require.Equal(t, "short and stout", refusal.Message)
	for _, name := range []string{"error", "panic"} {
		err := enter(socket, name)
		require.ErrorContains(t, err, "secret")
		require.False(t, errors.As(err, &refusal), "no text for clients")
	}
	require.ErrorAs(t, h.Enter(t.Context(), socket, feed.Address{Class: "Closed", Name: "x"}, feed.Address{Class: "Echo", Name: "y", Parent: "Closed/x"}), &refusal)
	require.Equal(t, http.StatusForbidden, refusal.Status, "closed by default")

	require.ErrorContains(t, enter(socket, "known"), "Not Found")
	require.NoError(t, enter(plain, "x"))
	require.Empty(t, journal(t, h, root.Address()), "a plain request brings nothing into being")
	require.NoError(t, enter(socket, "x"))
	require.NoError(t, enter(socket, "x"))
	require.Equal(t, []string{"Echo/x"}, names(t, root))
	require.Equal(t, 1, count(journal(t, h, root.Address()), registered))
	post := plain.Clone(t.Context())
	post.Method = http.MethodPost
	require.NoError(t, enter(post, "posted"))
	require.Equal(t, []string{"Echo/x", "Echo/posted"}, names(t, root), "what can be asked something over HTTP is in the list")
	_, err = root.SubAgent(t.Context(), agent, "known")
	require.NoError(t, err)
	require.NoError(t, enter(socket, "known"))
}
