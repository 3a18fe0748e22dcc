package bad

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-dev/holdfast/persistence"
	"github.com/holdfast-dev/holdfast/persistence/bolt"
	journalv1 "github.com/holdfast-dev/holdfast/proto/journal/v1"
	"github.com/holdfast-dev/holdfast/test/client"
	"github.com/holdfast-dev/holdfast/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }

// response is an HTTP response, read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

// raw sends a request whose path goes over the wire as it is written here.
func raw(t *testing.T, addr, method, path string, headers ...string) response {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, process.Patience)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(process.Patience)))
	request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, path, addr)
	for _, h := range headers {
		request += h + "\r\n"
	}
	_, err = io.WriteString(conn, request+"\r\n")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return response{res.StatusCode, res.Header, string(body)}
}

// post sends a body and reads the response to its end.
func post(t *testing.T, n *process.Node, path, body string) response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.Addr+path, strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return response{res.StatusCode, res.Header, string(text)}
}

// stored returns the conversation of an agent.
func stored(t *testing.T, n *process.Node, path string) []client.Message {
	t.Helper()
	res := raw(t, n.Addr, http.MethodGet, path+"/get-messages")
	require.Equal(t, http.StatusOK, res.status, res.body)
	var messages []client.Message
	require.NoError(t, json.Unmarshal([]byte(res.body), &messages))
	return messages
}

// answers proves that the agent works: it answers a request.
func answers(t *testing.T, n *process.Node, path string) {
	t.Helper()
	c := client.Open(t, n.Addr, "works", path).Greeted()
	c.Send(client.Chat("works", []any{client.User("works", "script:text")}, nil))
	end := c.Wait("an answer", client.Done("works"))
	require.False(t, end.Error, end.Body)
	c.Drop()
}

// looks opens the journal of a node that does not run.
func looks(t *testing.T, n *process.Node) *bolt.Store {
	t.Helper()
	store, err := bolt.Open(bolt.Config{Path: journal(n)})
	require.NoError(t, err)
	return store
}

func journal(n *process.Node) string { return filepath.Join(n.Data, "journal.db") }

// records are the journal of an agent of a node that does not run.
func records(t *testing.T, n *process.Node, stream string) []persistence.Record {
	t.Helper()
	store := looks(t, n)
	defer store.Close()
	var all []persistence.Record
	for r, err := range store.Read(context.Background(), stream, 1) {
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

// events are the same, decoded.
func events(t *testing.T, n *process.Node, stream string) []*journalv1.Event {
	t.Helper()
	var all []*journalv1.Event
	for _, r := range records(t, n, stream) {
		var rec journalv1.Record
		require.NoError(t, proto.Unmarshal(r.Data, &rec))
		all = append(all, rec.GetEvent())
	}
	return all
}
