package bad

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/persistence"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

// quarantined proves that one agent cannot be used and says so, that the others
// can, and that nothing of its journal has changed.
func quarantined(t *testing.T, n *process.Node, agent string, says string) {
	t.Helper()
	path := "/agents/chat-agent/" + agent
	res := raw(t, n.Addr, "GET", path+"/get-messages")
	require.Equal(t, 503, res.status, res.body)
	require.Contains(t, res.body, says)
	require.NotContains(t, res.body, "ChatAgent/", "nothing internal leaks")
	c := client.Open(t, n.Addr, "a", path)
	code, reason := c.WaitClosed()
	require.Equal(t, websocket.StatusInternalError, code)
	require.Equal(t, says, reason)
	n.WaitLog("agent cannot be opened", "agent=ChatAgent/"+agent)
	answers(t, n, "/agents/chat-agent/healthy")
	require.Contains(t, raw(t, n.Addr, "GET", "/healthz").body, "ok")
}

func TestAnEventOfANewerVersionClosesThatAgentAlone(t *testing.T) {
	const says = "this conversation cannot be opened by this version of the program; nothing is lost"
	for _, c := range []struct {
		name string
		wake persistence.Wake
	}{{"asleep", persistence.Never}, {"with work of its own", persistence.Now}} {
		t.Run(c.name, func(t *testing.T) {
			n := used(t, "/agents/chat-agent/newer")
			before := records(t, n, "ChatAgent/newer")
			appendUnknown(t, n, "ChatAgent/newer", uint64(len(before)), c.wake)
			n.Up()
			quarantined(t, n, "newer", says)
			require.Contains(t, n.WaitLog("agent cannot be opened"), "newer one")
			require.Zero(t, n.Stop())
			after := records(t, n, "ChatAgent/newer")
			require.Len(t, after, len(before)+1, "nothing was added, nothing lost")
			require.Equal(t, before, after[:len(before)])
		})
	}
}

// appendUnknown adds an event that no version has yet.
func appendUnknown(t *testing.T, n *process.Node, stream string, head uint64, wake persistence.Wake) {
	t.Helper()
	store := looks(t, n)
	defer store.Close()
	e := &journalv1.Event{}
	e.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 999, protowire.BytesType), "from the future"))
	data, err := proto.Marshal(&journalv1.Record{Incarnation: 1, Batch: 1, Event: e})
	require.NoError(t, err)
	done := make(chan error, 1)
	store.Append(persistence.Append{
		Stream: stream, Expected: head, Batch: persistence.Batch{Incarnation: 1, N: 1},
		Records: []persistence.Record{{Data: data}}, Wake: wake,
	}, func(err error) { done <- err })
	require.NoError(t, <-done)
}

func TestADamagedRecordClosesThatAgentAlone(t *testing.T) {
	const secret = "the words that will be damaged"
	n := process.Start(t, process.Options{})
	c := client.Open(t, n.Addr, "a", "/agents/chat-agent/damaged").Greeted()
	c.Send(client.Chat("r", []any{client.User("u", secret)}, nil))
	c.Wait("an answer", client.Done("r"))
	n.Kill() // a planned stop would leave a snapshot, which is as good
	damage(t, n, secret)
	n.Up()
	quarantined(t, n, "damaged", "this conversation's journal is damaged and cannot be opened; an operator must look")
	require.Contains(t, n.WaitLog("agent cannot be opened"), "ChatAgent/damaged")
	require.Zero(t, n.Stop())

	store := looks(t, n)
	defer store.Close()
	faults := 0
	for err := range store.Check(context.Background()) {
		require.ErrorIs(t, err, persistence.ErrCorrupt)
		require.ErrorContains(t, err, "ChatAgent/damaged")
		faults++
	}
	require.NotZero(t, faults, "an operator is told where")
}

// damage flips a bit in each place of the file where text stands.
func damage(t *testing.T, n *process.Node, text string) {
	t.Helper()
	data, err := os.ReadFile(journal(n))
	require.NoError(t, err)
	found := 0
	for at := bytes.Index(data, []byte(text)); at >= 0; at = bytes.Index(data, []byte(text)) {
		data[at] ^= 1
		found++
	}
	require.NotZero(t, found)
	require.NoError(t, os.WriteFile(journal(n), data, 0o600))
}
