package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
)

const turns = agentPath + "/turns"

func TestATurnOverHTTPIsAccepted(t *testing.T) {
	n := newNode(t, protocol.Config{})
	e := n.send("POST", turns, `{"text":"hi","mood":"good"}`, "Idempotency-Key: k 1")
	require.Equal(t, 202, e.StatusCode)
	require.Equal(t, "application/json", e.Header.Get("Content-Type"))
	require.JSONEq(t, `{"requestId":"k 1","status":"accepted"}`, e.text())
	s := (<-n.asked).(feed.Submit)
	require.Equal(t, "k 1", s.Request)
	require.True(t, s.Append)
	require.JSONEq(t, `{"mood":"good"}`, string(s.Body))
	require.Len(t, s.Fingerprint, 32)
	require.Len(t, s.Messages, 1)
	require.NotEmpty(t, s.Messages[0].ID)
	message, _ := json.Marshal(s.Messages[0].Parts)
	require.JSONEq(t, `[{"type":"text","text":"hi"}]`, string(message))

	e = n.send("POST", turns, `{"messages":[{"id":"u1","role":"user","parts":[]},{"id":"u2","role":"user","parts":[]}]}`)
	require.Equal(t, 202, e.StatusCode)
	s = (<-n.asked).(feed.Submit)
	require.Contains(t, e.text(), s.Request)
	require.NotEmpty(t, s.Request)
	require.Nil(t, s.Fingerprint, "nobody can send it again")
	require.Equal(t, "u2", s.Messages[1].ID)
}

// S28: a key stands for one body; how that is written makes no difference.
func TestFingerprintsTellBodiesApart(t *testing.T) {
	n := newNode(t, protocol.Config{})
	print := func(body string) string {
		require.Equal(t, 202, n.send("POST", turns, body, "Idempotency-Key: k").StatusCode)
		return string((<-n.asked).(feed.Submit).Fingerprint)
	}
	one := print(`{"text":"hi","n":12345678901234567890}`)
	require.Equal(t, one, print("{\n \"n\": 12345678901234567890, \"text\": \"h\\u0069\"}"))
	for _, other := range []string{`{"text":"ho","n":12345678901234567890}`, `{"text":"hi","n":12345678901234567891}`, `{"text":"hi"}`} {
		require.NotEqual(t, one, print(other))
	}
}

func TestTurnsThatAreRefused(t *testing.T) {
	n := newNode(t, protocol.Config{MaxFrameBytes: 1 << 20})
	long := strings.Repeat("k", 257)
	for _, c := range []struct {
		body, header string
		status       int
		says         string
	}{
		{`{}`, "X: y", 400, "request body must have either text or messages"},
		{`{"text":"x","messages":[]}`, "X: y", 400, "either text or messages"},
		{`{"text":""}`, "X: y", 400, `text is "", must be a text that is not empty`},
		{`{"text":7}`, "X: y", 400, "text is 7"},
		{`{"messages":[]}`, "X: y", 400, "messages is empty"},
		{`{"messages":[{"id":"a","role":"assistant","parts":[]}]}`, "X: y", 400, `messages[0].role is "assistant", must be "user"`},
		{`{"messages":[{"id":"a","role":"system","parts":[]}]}`, "X: y", 400, `messages[0].role is "system", must be "user"`},
		{`{"text":"x","trigger":"regenerate-message"}`, "X: y", 400, "trigger is regenerate-message"},
		{`{"text":"x"}`, "Idempotency-Key: ", 400, "Idempotency-Key has 0 bytes, must have 1 to 256"},
		{`{"text":"x"}`, "Idempotency-Key: " + long, 400, "Idempotency-Key has 257 bytes, must have 1 to 256"},
		{`{"text":"x"}`, "Idempotency-Key: k\xff", 400, "Idempotency-Key is \"k\\xff\", must be UTF-8"},
		{`{"text":"x"}`, "Prefer: wait=soon", 400, `Prefer: wait is "soon", must be a number of seconds`},
		{`{"text":"` + strings.Repeat("x", 1<<20) + `"}`, "X: y", 413, "over the limit of 1 MiB"},
	} {
		e := n.send("POST", turns, c.body, c.header)
		require.Equal(t, c.status, e.StatusCode, c.says)
		require.Contains(t, e.text(), c.says)
	}
	twice := n.send("POST", turns, `{"text":"x"}`, "Idempotency-Key: a", "Idempotency-Key: b")
	require.Equal(t, 400, twice.StatusCode)
	require.Equal(t, 400, n.send("POST", turns+"?wait=maybe", `{"text":"x"}`).StatusCode)
	require.Empty(t, n.asked)
	n.submit = func(context.Context, feed.Submit) error {
		return &protocol.Error{Code: protocol.Conflict, Message: "another request has this id"}
	}
	e := n.send("POST", turns, `{"text":"x"}`, "Idempotency-Key: "+long[:256])
	require.Equal(t, 409, e.StatusCode)
	require.Equal(t, "another request has this id", e.text())
}

func TestATurnIsWaitedFor(t *testing.T) {
	n := newNode(t, protocol.Config{})
	end := protocol.Outcome{Status: feed.Completed, Message: []byte(`{"id":"a1"}`)}
	n.await = func(_ context.Context, request string) (protocol.Outcome, error) {
		if (<-n.asked).(feed.Submit).Request != request {
			return end, errors.New("waits for something else")
		}
		return end, nil
	}
	answer := func(query string, header ...string) string {
		e := n.send("POST", turns+query, `{"text":"hi"}`, append(header, "Idempotency-Key: k")...)
		require.Equal(t, 200, e.StatusCode)
		return e.text()
	}
	for _, prefer := range []string{"wait", "respond-async, wait=10", "x=y, wait"} {
		require.JSONEq(t, `{"requestId":"k","status":"completed","message":{"id":"a1"}}`, answer("", "Prefer: "+prefer))
	}
	require.JSONEq(t, `{"requestId":"k","status":"completed","message":{"id":"a1"}}`, answer("?wait=1"))
	end = protocol.Outcome{Status: feed.Errored, Text: "boom"}
	require.JSONEq(t, `{"requestId":"k","status":"error","error":"boom"}`, answer("?wait=1"))
	require.Equal(t, 202, n.send("POST", turns+"?wait=0", `{"text":"hi"}`, "Prefer: wait").StatusCode)
}

func TestAWaitThatIsNotAnswered(t *testing.T) {
	n := newNode(t, protocol.Config{})
	failure := make(chan error, 1)
	n.await = func(ctx context.Context, _ string) (protocol.Outcome, error) {
		<-n.asked
		err := <-failure
		if errors.Is(err, context.DeadlineExceeded) {
			end, ok := ctx.Deadline()
			require.True(t, ok && time.Until(end) < time.Hour)
		}
		return protocol.Outcome{}, err
	}
	failure <- context.DeadlineExceeded
	e := n.send("POST", turns, `{"text":"hi"}`, "Prefer: wait=3600", "Idempotency-Key: k")
	require.Equal(t, 202, e.StatusCode, "the time is over, the turn is not")
	require.JSONEq(t, `{"requestId":"k","status":"accepted"}`, e.text())

	failure <- &protocol.Error{Code: protocol.NotFound, Message: "too long ago"}
	e = n.send("POST", turns+"?wait=1", `{"text":"hi"}`)
	require.Equal(t, 404, e.StatusCode)

	require.NoError(t, n.h.Close(t.Context()))
	failure <- errors.New("interrupted")
	e = n.send("POST", turns+"?wait=1", `{"text":"hi"}`)
	require.Equal(t, 503, e.StatusCode)
	require.Contains(t, e.text(), "ask again with the same Idempotency-Key")
}
