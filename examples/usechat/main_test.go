package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/actors/node"
)

// started returns a server as main has it.
func started(t *testing.T, folder string) (url string, stop func()) {
	t.Helper()
	cfg := config(&actors.Agent{Name: "Assistant", Model: scripted.New(func(r model.Request) scripted.Answer {
		return scripted.Say("Certainly.")
	})})
	cfg.Data, cfg.Log = folder, slog.New(slog.DiscardHandler)
	n, err := node.Start(t.Context(), cfg)
	require.NoError(t, err)
	server := httptest.NewServer(routes(n))
	return server.URL, func() {
		require.NoError(t, n.Stop(context.WithoutCancel(t.Context())))
		server.Close()
	}
}

func ask(t *testing.T, method, url, user, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if user != "" {
		r.AddCookie(&http.Cookie{Name: "user", Value: user})
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(all)
}

func conversation(t *testing.T, url, user string) (said []string) {
	t.Helper()
	status, all := ask(t, "GET", url+"/api/get-messages", user, "")
	require.Equal(t, http.StatusOK, status, all)
	var messages []struct {
		Role  string
		Parts []struct{ Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(all), &messages))
	for _, m := range messages {
		text := m.Role + ": "
		for _, p := range m.Parts {
			text += p.Text
		}
		said = append(said, text)
	}
	return said
}

const question = `{"id": "any", "trigger": "submit-message", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}]}`

func TestEachUserHasOneConversation(t *testing.T) {
	url, stop := started(t, t.TempDir())
	defer stop()
	status, stream := ask(t, "POST", url+"/api/chat", "ada", question)
	require.Equal(t, http.StatusOK, status, stream)
	require.Contains(t, stream, `"delta":"Certainly."`)
	require.True(t, strings.HasSuffix(stream, "data: [DONE]\n\n"), stream)
	require.Equal(t, []string{"user: Hello", "assistant: Certainly."}, conversation(t, url, "ada"))
	require.Empty(t, conversation(t, url, "bob"))
	status, _ = ask(t, "GET", url+"/api/get-messages", "", "")
	require.Equal(t, http.StatusNotFound, status, "nobody's")
	status, _ = ask(t, "GET", url+"/agents/assistant/ada/get-messages", "bob", "")
	require.Equal(t, http.StatusNotFound, status, "there is no other way in")
}

func TestAMailThatComesTwiceIsAnsweredOnce(t *testing.T) {
	folder := t.TempDir()
	url, stop := started(t, folder)
	const mail = `{"id": "mail-1", "from": "ada", "text": "Please help."}`
	status, first := ask(t, "POST", url+"/mails", "", mail)
	require.Equal(t, http.StatusAccepted, status, first)
	ask(t, "GET", url+"/api/chat/any/stream", "ada", "") // until it is answered
	stop()

	url, stop = started(t, folder)
	defer stop()
	status, second := ask(t, "POST", url+"/mails", "", mail)
	require.Equal(t, http.StatusAccepted, status, second)
	require.JSONEq(t, first, second)
	status, other := ask(t, "POST", url+"/mails", "", `{"id": "mail-1", "from": "ada", "text": "Something else."}`)
	require.Equal(t, http.StatusConflict, status, other)
	status, last := ask(t, "POST", url+"/mails", "", `{"id": "mail-2"}`)
	require.Equal(t, http.StatusBadRequest, status, last)
	status, done := ask(t, "POST", url+"/api/turns?wait=1", "ada", `{"text": "And now?"}`)
	require.Equal(t, http.StatusOK, status, done)
	require.Equal(t, []string{"user: Please help.", "assistant: Certainly.", "user: And now?", "assistant: Certainly."}, conversation(t, url, "ada"))
}
