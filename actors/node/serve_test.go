package node_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
)

// listens runs `serve` and returns where.
func listens(t *testing.T, c *command) string {
	t.Helper()
	c.sees("(journal in ")
	url := regexp.MustCompile(`http://[^ ]+`).FindString(c.screen())
	require.NotEmpty(t, url, c.screen())
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return url
}

func demo() *actors.Agent {
	m := scripted.Demo()
	m.Remark = "A script answers."
	return &actors.Agent{Name: "SupportDesk", Model: m}
}

func TestServeGivesThePageAndStopsInOrder(t *testing.T) {
	c := run(t, []*actors.Agent{demo()}, "--listen", "127.0.0.1:0", "--data", t.TempDir())
	url := listens(t, c)
	c.sees("A script answers.")
	status, body := get(t, url+"/")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "<html")
	status, _ = get(t, url+"/healthz")
	require.Equal(t, http.StatusOK, status)
	status, body = get(t, url+"/agents/support-desk/r/get-messages")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "[]", body)
	c.stop()
	require.NoError(t, c.wait())
}

func TestInfoTellsThePageWhoAnswers(t *testing.T) {
	plain := &actors.Agent{Name: "Counter", InitialState: 0}
	c := run(t, []*actors.Agent{plain, demo()}, "--listen", "127.0.0.1:0", "--data", t.TempDir())
	_, body := get(t, listens(t, c)+"/holdfast/info")
	var info struct {
		Version string
		Model   struct {
			Name, Note string
			Scripted   bool
		}
		Agents []struct{ Class, Path string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &info), body)
	require.NotEmpty(t, info.Version)
	require.Equal(t, "scripted/demo", info.Model.Name)
	require.Equal(t, "A script answers.", info.Model.Note)
	require.True(t, info.Model.Scripted)
	require.Len(t, info.Agents, 1, "nobody can chat with the other one")
	require.Equal(t, "SupportDesk", info.Agents[0].Class)
	require.Equal(t, "/agents/support-desk", info.Agents[0].Path)
}

func TestServeWithoutThePage(t *testing.T) {
	c := run(t, []*actors.Agent{demo()}, "--listen", "127.0.0.1:0", "--no-page", "--data", t.TempDir())
	url := listens(t, c)
	status, _ := get(t, url+"/")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = get(t, url+"/healthz")
	require.Equal(t, http.StatusOK, status)
}
