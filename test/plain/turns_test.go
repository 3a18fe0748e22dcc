package plain

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/process"
)

// reply is the answer to POST …/turns.
type reply struct {
	RequestID string          `json:"requestId"`
	Status    string          `json:"status"`
	Error     string          `json:"error"`
	Message   json.RawMessage `json:"message"`
}

func (a agent) turn(status int, query, body, key string) (r reply) {
	a.t.Helper()
	resp := a.do("POST", "/turns"+query, body, "Idempotency-Key: "+key)
	text := a.text(resp)
	require.Equal(a.t, status, resp.StatusCode, text)
	if status < http.StatusBadRequest {
		require.NoError(a.t, json.Unmarshal([]byte(text), &r))
	}
	return r
}

// S21, S28: a key is one turn with one answer, asked for at once, again, and
// after a kill; another body under it is refused and changes nothing.
func TestAKeyIsOneTurn(t *testing.T) {
	const body, other = `{"text":"script:text","n":1}`, `{"text":"script:text","n":2}`
	n := process.Start(t, process.Options{})
	a := agent{t, n, "/agents/chat-agent/keyed"}
	replies := make([]reply, 8)
	var asking sync.WaitGroup
	for i := range replies {
		asking.Go(func() { replies[i] = a.turn(http.StatusOK, "?wait=1", body, "k") })
	}
	asking.Wait()
	for _, r := range replies {
		require.Equal(t, replies[0], r)
	}
	require.Equal(t, "completed", replies[0].Status)
	list := a.stored()
	require.Len(t, list, 2)
	require.JSONEq(t, string(list[1].AppendJSON(nil)), string(replies[0].Message))
	a.turn(http.StatusConflict, "", other, "k")

	n.Kill()
	n.Up()
	require.Equal(t, replies[0], a.turn(http.StatusOK, "?wait=1", body, "k"))
	a.turn(http.StatusConflict, "?wait=1", other, "k")
	require.Equal(t, list, a.stored())
}

// A turn that was accepted is answered after a kill, and told to who asks again.
func TestAnAcceptedTurnIsAnsweredAfterAKill(t *testing.T) {
	n := process.Start(t, process.Options{})
	a := agent{t, n, "/agents/recover-agent/killed-turn"}
	require.Equal(t, reply{RequestID: "k", Status: "accepted"}, a.turn(http.StatusAccepted, "", `{"text":"script:slow"}`, "k"))
	a.resume().until("chunk3 ")
	n.Kill()
	n.Up()
	r := a.turn(http.StatusOK, "?wait=1", `{"text":"script:slow"}`, "k")
	require.Equal(t, "completed", r.Status)
	list := a.stored()
	require.Len(t, list, 2)
	require.JSONEq(t, string(list[1].AppendJSON(nil)), string(r.Message))
}

// Turns are added to the conversation; a page's list may be older.
func TestTurnsAreAdded(t *testing.T) {
	n := process.Start(t, process.Options{})
	a := agent{t, n, "/agents/chat-agent/added"}
	a.ask("u1", "script:text").whole()
	r := a.turn(http.StatusOK, "?wait=1", `{"messages":[{"id":"u2","role":"user","parts":[{"type":"text","text":"script:modelerror"}]}]}`, "k")
	require.Equal(t, "error", r.Status)
	require.NotEmpty(t, r.Error)
	require.Equal(t, "u2", a.stored()[2].ID)
}
