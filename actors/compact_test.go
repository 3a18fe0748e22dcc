package actors_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

var errTooLong = &model.Error{Cause: model.TooLong, Public: "It is too long.", Err: errCable}

// narrow is a model that takes so many bytes of messages.
type narrow struct {
	mu    sync.Mutex
	most  int
	asked []string // what it was told, and has taken
}

func shownTo(q model.Request) string {
	var b strings.Builder
	for _, m := range q.Messages {
		for _, c := range m.Content {
			fmt.Fprintf(&b, "%s%s|", c.Text, c.Output)
		}
	}
	return b.String()
}

func (n *narrow) model(say func(text string) string) model.Model {
	return scripted.New(func(q model.Request) scripted.Answer {
		n.mu.Lock()
		defer n.mu.Unlock()
		text := shownTo(q)
		if len(text) > n.most {
			return scripted.Answer{scripted.Fail{Err: errTooLong}}
		}
		n.asked = append(n.asked, text)
		return scripted.Say(say(text))
	})
}

// sums asks an agent, and returns its last answer.
func sums(t *testing.T, agent *actors.Agent, questions ...string) (*actorstest.Harness, *actors.Ref, actors.ChatResponse) {
	t.Helper()
	agent.Name = "Looper"
	h := actorstest.New(t, agent)
	r := h.Agent(agent, "room")
	var last actors.ChatResponse
	for _, q := range questions {
		answer, err := r.Chat(t.Context(), q)
		require.NoError(t, err)
		last = answer
	}
	return h, r, last
}

func TestAConversationThatDoesNotFitIsSummedUpForTheModelAlone(t *testing.T) {
	main, writer := &narrow{most: 120}, &narrow{most: 1000}
	long := strings.Repeat("x", 30)
	compact := &actors.Compaction{
		Model: writer.model(func(text string) string { return fmt.Sprintf("sum %d", strings.Count(text, "User:")) }), KeepMessages: 2,
	}
	agent := &actors.Agent{Model: main.model(func(string) string { return "ok" }), Compact: compact}
	h, r, last := sums(t, agent, "a"+long, "b"+long, "c"+long, "d"+long)
	require.Equal(t, "ok", last.Text())
	require.Equal(t, "Summary of the conversation so far:\n\nsum 2|c"+long+"|ok|d"+long+"|", main.asked[3])
	require.Contains(t, writer.asked[0], "User: a"+long+"\n\nAssistant: ok\n\nUser: b"+long)
	require.Len(t, conversation(t, r), 8, "people see all of it")

	h.Crash()
	r = h.Agent(agent, "room")
	_, err := r.Chat(t.Context(), "e"+long)
	require.NoError(t, err)
	require.Len(t, writer.asked, 2, "and what does not fit again is summed up again")
	require.Contains(t, writer.asked[1], "Summary of the conversation so far:\n\nsum 2\n")
	require.NotContains(t, writer.asked[1], "a"+long)
	require.Contains(t, main.asked[4], "sum 1|")
}

func TestWhatIsTooLongForTheSummaryIsSummedUpInPieces(t *testing.T) {
	main, writer := &narrow{most: 90}, &narrow{most: 110}
	long := strings.Repeat("x", 30)
	compact := &actors.Compaction{Model: writer.model(func(string) string { return "sum" }), KeepMessages: 1}
	_, _, last := sums(t, &actors.Agent{Model: main.model(func(string) string { return long }), Compact: compact}, "a", "b", "c", "d")
	require.NoError(t, last.Err)
	require.Equal(t, "Summary of the conversation so far:\n\nsum|"+long+"|d|", main.asked[3])
	require.Len(t, writer.asked, 4)
	for i, said := range []string{"User: a\n\nAssistant: " + long, "User: b\n", "Assistant: " + long, "User: c\n"} {
		require.Contains(t, writer.asked[i], said)
		require.Equal(t, i > 0, strings.HasPrefix(writer.asked[i], "Summary of the conversation so far:\n\nsum\n"))
	}
}

func TestAnOverflowThatCannotBeHelpedIsAClearError(t *testing.T) {
	say := func(string) string { return "ok" }
	long := strings.Repeat("x", 200)
	for name, c := range map[string]struct {
		compact   *actors.Compaction
		questions []string
		want      string
	}{
		"no compaction":      {nil, []string{"a", long}, "It is too long."},
		"the question alone": {&actors.Compaction{}, []string{long}, "The conversation is too long for the assistant. Please start a new one."},
		"summed up in vain":  {&actors.Compaction{}, []string{"a", long}, "It is too long."},
		"no summary writer": {&actors.Compaction{Model: scripted.New(func(model.Request) scripted.Answer {
			return scripted.Answer{scripted.Fail{Err: &model.Error{Cause: model.Unauthorised, Public: "No credit.", Err: errCable}}}
		})}, []string{"a", long}, "No credit."},
		"no summary to be had": {&actors.Compaction{Model: scripted.New(func(model.Request) scripted.Answer { return scripted.Answer{scripted.Fail{Err: errCable}} })}, []string{"a", long}, "The conversation is too long for the assistant. Please start a new one."},
	} {
		t.Run(name, func(t *testing.T) {
			_, r, last := sums(t, &actors.Agent{Model: (&narrow{most: 100}).model(say), Compact: c.compact}, c.questions...)
			require.Equal(t, actors.StatusError, last.Status)
			require.EqualError(t, last.Err, c.want)
			require.Contains(t, conversation(t, r), "user: "+long)
		})
	}
}

func TestAnOverflowBehindAToolsResultKeepsTheStepsBeforeIt(t *testing.T) {
	long, n := strings.Repeat("x", 200), 0
	var asked []string
	m := scripted.New(func(q model.Request) scripted.Answer {
		n++
		asked = append(asked, shownTo(q))
		switch {
		case strings.HasPrefix(asked[n-1], "The conversation:"):
			return scripted.Say("sum")
		case n == 1:
			return scripted.Say("ok")
		case n == 2:
			return calls(`c1 weather {}`)
		case len(asked[n-1]) > 200:
			return scripted.Answer{scripted.Text{Pieces: []string{"hal"}}, scripted.Fail{Err: errTooLong}}
		}
		return scripted.Say("cold")
	})
	_, r, last := sums(t, &actors.Agent{Model: m, Tools: []actors.Tool{weather()}, Compact: &actors.Compaction{KeepMessages: 1}}, "a"+long, "b")
	require.NoError(t, last.Err)
	require.Equal(t, "Summary of the conversation so far:\n\nsum|ok|b||{\"for\":{}}|hal|", asked[4], "the step goes on with what it has said")
	require.Equal(t, []string{"user: a" + long, "assistant: ok", "user: b", "assistant: halcold"}, conversation(t, r))
}
