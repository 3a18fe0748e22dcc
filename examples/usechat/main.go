// Command usechat is a back end for pages that have only the AI SDK, in a server of
// its own that knows who is asking. A page needs no address of a conversation:
//
//	const stored = await (await fetch("/api/get-messages")).json();
//	const { messages, sendMessage } = useChat({ messages: stored, resume: true });
//
// Mails that a mail service posts to /mails are turns of the same conversations.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/model/env"
	"github.com/holdfast-dev/holdfast/actors/node"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

// config makes /api/… the conversation of the one who asks. Nothing else leads to one:
// routes lets nobody name it.
func config(assistant *actors.Agent) node.Config {
	paths := func(r *http.Request) (a feed.Address, rest string, ok bool) {
		rest, ok = strings.CutPrefix(r.URL.Path, "/api/")
		user := userOf(r)
		return feed.Address{Class: assistant.Name, Name: user}, rest, ok && user != ""
	}
	return node.Config{Agents: []*actors.Agent{assistant}, Protocol: protocol.Config{Paths: paths}}
}

// userOf stands for a session of yours: never believe a cookie that anybody can write.
func userOf(r *http.Request) string {
	c, err := r.Cookie("user")
	if err != nil {
		return ""
	}
	return c.Value
}

func routes(n *node.Node) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", n.Handler())
	mux.Handle("GET /healthz", n.Handler())
	mux.HandleFunc("POST /mails", func(w http.ResponseWriter, r *http.Request) { takeMail(n, w, r) })
	return mux
}

// takeMail makes a mail a turn in its sender's conversation. A mail service delivers
// a mail again until it reads a 2xx: with the mail's id as key that is one turn with
// one answer, over restarts, too. (Here a real one checks the service's signature.)
func takeMail(n *node.Node, w http.ResponseWriter, r *http.Request) {
	var mail struct{ ID, From, Text string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&mail); err != nil || mail.ID == "" || mail.From == "" {
		http.Error(w, "want {id, from, text}", http.StatusBadRequest)
		return
	}
	body, _ := json.Marshal(map[string]string{"text": mail.Text}) // cannot fail
	turn := r.Clone(r.Context())
	turn.URL = &url.URL{Path: "/api/turns"}
	turn.Body = io.NopCloser(bytes.NewReader(body))
	turn.Header = http.Header{"Idempotency-Key": {mail.ID}, "Content-Type": {"application/json"}}
	turn.AddCookie(&http.Cookie{Name: "user", Value: mail.From})
	n.Handler().ServeHTTP(w, turn)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	m, _, err := env.Model(os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	n, err := node.Start(ctx, config(&actors.Agent{Name: "Assistant", Instructions: "Answer briefly.", Model: m}))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: "localhost:8787", Handler: routes(n)}
	go func() {
		<-ctx.Done()
		_ = n.Stop(context.WithoutCancel(ctx)) // what is under way goes on at the next start
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
