package plain

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/process"
)

func TestAStoredMessageIsRead(t *testing.T) {
	n := process.Start(t, process.Options{})
	a := agent{t, n, "/agents/chat-agent/message"}
	a.ask("u/1 ä", "script:text").whole()
	list := a.stored()
	require.Equal(t, "u/1 ä", list[0].ID)
	require.JSONEq(t, string(list[0].AppendJSON(nil)), a.text(a.do("GET", "/messages/u%2F1%20%C3%A4", "")))
	require.JSONEq(t, string(list[1].AppendJSON(nil)), a.text(a.do("GET", "/messages/"+list[1].ID, "")))
	require.Equal(t, http.StatusNotFound, a.do("GET", "/messages/none", "").StatusCode)
}
