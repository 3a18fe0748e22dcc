package bad

import (
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// A planned stop in mid-answer: sockets are closed so that their clients come
// back, the process ends by itself, and the next start goes on.
func TestAStopInMidAnswerIsNoCrash(t *testing.T) {
	const path, stream = "/agents/recover-agent/stopped", "RecoverAgent/stopped"
	n := process.Start(t, process.Options{})
	a, idle := client.Open(t, n.Addr, "a", path).Greeted(), client.Open(t, n.Addr, "b", "/agents/chat-agent/idle").Greeted()
	a.Send(client.Chat("r", []any{client.User("u", "script:paced")}, map[string]any{"word": "r", "words": 60, "delayMs": 20}))
	a.WaitN(10, "text", client.ChunkOf("r", "text-delta"))
	began := time.Now()
	require.Zero(t, n.Stop())
	require.Less(t, time.Since(began), 10*time.Second, "it does not wait for what is slow")
	for _, c := range []*client.Conn{a, idle} {
		code, reason := c.WaitClosed()
		require.Equal(t, websocket.StatusServiceRestart, code)
		require.Contains(t, reason, "reconnect")
	}
	require.Equal(t, []string{"ACTIVATION_CAUSE_FIRST"}, activations(t, n, stream))

	n.Up()
	b := client.Open(t, n.Addr, "a", path).Greeted()
	b.Send(client.Probe("p"))
	offer := b.Wait("an offer", client.OfType(client.Resuming))
	b.Send(client.Ack(offer.ID))
	end := b.Wait("the end", client.Done(offer.ID))
	require.False(t, end.Error, end.Body)
	require.Equal(t, []string{"u"}, end.MessageIDs)
	list := stored(t, n, path)
	require.Len(t, list, 2)
	require.Contains(t, list[1].Parts[len(list[1].Parts)-1].Text, "r.59/60")

	require.Zero(t, n.Stop())
	require.Equal(t, []string{"ACTIVATION_CAUSE_FIRST", "ACTIVATION_CAUSE_WAKE"}, activations(t, n, stream))
	detected := 0
	for _, e := range events(t, n, stream) {
		if d := e.GetRecoveryDetected(); d != nil {
			detected++
			require.Zero(t, d.GetCrashes(), "a planned stop counts as no crash")
		}
	}
	require.Equal(t, 1, detected)
}

func TestAStopWithRecoveryOffKeepsWhatWasSaid(t *testing.T) {
	const path, stream = "/agents/chat-agent/stopped", "ChatAgent/stopped"
	n := process.Start(t, process.Options{})
	a := client.Open(t, n.Addr, "a", path).Greeted()
	a.Send(client.Chat("r", []any{client.User("u", "script:paced")}, map[string]any{"word": "r", "words": 60, "delayMs": 20}))
	a.WaitN(10, "text", client.ChunkOf("r", "text-delta"))
	require.Zero(t, n.Stop())
	shown := 0
	for _, f := range a.Frames() {
		if c, ok := f.Content(); ok && c.Type == "text-delta" {
			shown++
		}
	}
	n.Up()
	list := stored(t, n, path)
	require.Len(t, list, 2)
	text := list[1].Parts[len(list[1].Parts)-1].Text
	require.GreaterOrEqual(t, len(strings.Fields(text)), shown, "a planned stop stores all that was shown")
	require.Zero(t, n.Stop())
	var outcome journalv1.TurnOutcome
	for _, e := range events(t, n, stream) {
		if end := e.GetTurnEnded(); end != nil {
			outcome = end.GetOutcome()
		}
	}
	require.Equal(t, journalv1.TurnOutcome_TURN_OUTCOME_ABORTED, outcome)
}

// A start that fails again and again without adding to the answer is given up
// with an error that clients are told.
func TestAnAnswerThatNeverGetsFurtherIsGivenUp(t *testing.T) {
	const path, most = "/agents/recover-agent/poison", 5
	n := process.Start(t, process.Options{})
	a, other := client.Open(t, n.Addr, "a", path).Greeted(), client.Open(t, n.Addr, "b", path).Greeted()
	a.Send(client.Chat("r", []any{client.User("u", "script:prestream")}, nil))
	other.Wait("the request", client.OfType(client.Messages))
	crashes := 0
	for range most - 1 {
		n.Kill()
		n.Up()
		n.WaitLog("a turn was cut off", "crashes="+string(rune('1'+crashes)))
		crashes++
		// Whoever asks is told to wait: the attempt has begun and says nothing yet.
		c := client.Open(t, n.Addr, "c", path).Greeted()
		c.Send(client.Probe("p"))
		require.Equal(t, client.Pending, c.Wait("an answer", client.AnswerTo("p")).Type)
		c.Drop()
	}
	n.Kill()
	n.Up()
	c := client.Open(t, n.Addr, "a", path).Greeted()
	c.Send(client.Probe("p"))
	offer := c.Wait("an answer", client.AnswerTo("p"))
	require.Equal(t, client.Resuming, offer.Type)
	c.Send(client.Ack(offer.ID))
	end := c.Wait("the end", client.Done(offer.ID))
	require.True(t, end.Error)
	require.Contains(t, end.Body, "could not recover")
	answers(t, n, path)
}

func activations(t *testing.T, n *process.Node, stream string) (causes []string) {
	t.Helper()
	for _, e := range events(t, n, stream) {
		if a := e.GetActivated(); a != nil {
			causes = append(causes, a.GetCause().String())
		}
	}
	return causes
}
