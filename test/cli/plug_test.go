package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func launched(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	n, err := launch(dir, args...)
	require.NoError(t, err)
	t.Cleanup(n.kill)
	return n
}

// TestChatGoesOnWhereAKilledNodeBrokeOff: somebody reads a story in a terminal,
// and the node is killed and started again meanwhile.
func TestChatGoesOnWhereAKilledNodeBrokeOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := launched(t, dir, "--listen", "127.0.0.1:0")
	c, err := spawn(dir, bytes.NewBufferString("tell me a long story\n"), "chat", "--url", n.url)
	require.NoError(t, err)
	t.Cleanup(c.kill)
	_, err = c.await(`older kelp laughed`)
	require.NoError(t, err)

	n.kill()
	_, err = c.await(`\(the connection is gone, trying again: .*\)`)
	require.NoError(t, err)
	launched(t, dir, "--listen", n.addr())
	require.NoError(t, c.wait(), c.log())

	// The next one gets the whole story from the journal.
	again, err := spawn(dir, new(bytes.Buffer), "chat", "--url", n.url)
	require.NoError(t, err)
	require.NoError(t, again.wait(), again.log())
	_, story, _ := strings.Cut(again.log(), "agent: ")
	require.Contains(t, story, "And that is the end.")

	_, read, _ := strings.Cut(c.log(), "agent: ")
	require.Equal(t, words(story), words(withoutNews(read)), "what was read is not the story, once")
}

// withoutNews leaves out the terminal's own line.
func withoutNews(text string) string {
	before, rest, _ := strings.Cut(text, "(the connection is gone")
	_, after, _ := strings.Cut(rest, "\n")
	return before + after
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestSecondSignalEndsAtOnce: a client that hangs holds up the first.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	n := launched(t, t.TempDir(), "--listen", "127.0.0.1:0")
	conn, err := net.Dial("tcp", n.addr())
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET /agents/assistant/r HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", n.addr())
	_, err = bufio.NewReader(conn).ReadString('}') // of the first frame: the socket takes part
	require.NoError(t, err)

	require.NoError(t, n.cmd.Process.Signal(syscall.SIGTERM))
	_, err = n.await(`stopping: answers under way are stored`)
	require.NoError(t, err)
	require.NoError(t, n.cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.ErrorAs(t, n.wait(), &exit)
	require.Equal(t, 1, exit.ExitCode())
}

func TestInterruptedChatLeavesTheAnswerToTheNode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := launched(t, dir, "--listen", "127.0.0.1:0")
	c, err := spawn(dir, bytes.NewBufferString("count to 60\n"), "chat", "--url", n.url)
	require.NoError(t, err)
	_, err = c.await(`1, 2, 3`)
	require.NoError(t, err)
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, c.wait())

	again, err := spawn(dir, new(bytes.Buffer), "chat", "--url", n.url)
	require.NoError(t, err)
	require.NoError(t, again.wait())
	require.Contains(t, again.log(), "59, 60. There we are.")
}
