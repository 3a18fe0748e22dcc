package bad

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/test/process"
)

// refuses launches a node that must not start: it ends with an exit code and one
// line that says why, and no trace of its inside.
func refuses(t *testing.T, n *process.Node, says ...string) {
	t.Helper()
	n.Launch()
	require.Equal(t, 1, n.Exit(), n.Log())
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(n.Log()), "\n"), func(line string) bool {
		return strings.Contains(line, "setting=OriginPatterns") // a warning about the test node itself
	})
	require.Len(t, lines, 1, "one line says why")
	for _, words := range says {
		require.Contains(t, lines[0], words)
	}
	require.NotContains(t, lines[0], "goroutine")
	require.NotContains(t, lines[0], ".go:")
}

// used is a node that has been talked to and stopped.
func used(t *testing.T, path string) *process.Node {
	t.Helper()
	n := process.Start(t, process.Options{})
	answers(t, n, path)
	require.Zero(t, n.Stop())
	return n
}

func TestAFolderInUseIsRefused(t *testing.T) {
	const path = "/agents/chat-agent/first"
	n := process.Start(t, process.Options{})
	answers(t, n, path)
	refuses(t, process.New(t, process.Options{Data: n.Data}), "in use by another process", journal(n))
	require.Len(t, stored(t, n, path), 2, "the first goes on")
	answers(t, n, "/agents/chat-agent/second")
}

func TestAJournalThatIsNoneIsRefusedAndLeftAsItIs(t *testing.T) {
	whole, err := os.ReadFile(journal(used(t, "/agents/chat-agent/x")))
	require.NoError(t, err)
	cases := []struct {
		name string
		data []byte
	}{
		{"an empty file", nil},
		{"zeros", make([]byte, len(whole))},
		{"a text", []byte("Dear journal, today nothing happened.\n")},
		{"a short file", whole[:100]},
		{"one page", whole[:4096]},
		{"a few pages of a journal", whole[:5*4096]},
		{"a journal cut in a page", whole[:5*4096+1234]},
		{"another magic", append(append([]byte{}, bytes.Replace(whole[:8192], []byte{0xED, 0xDA, 0x0C, 0xED}, []byte("EVIL"), -1)...), whole[8192:]...)},
		{"a program", readSelf(t)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := process.New(t, process.Options{})
			require.NoError(t, os.MkdirAll(n.Data, 0o700))
			require.NoError(t, os.WriteFile(journal(n), c.data, 0o600))
			refuses(t, n, journal(n))
			after, err := os.ReadFile(journal(n))
			require.NoError(t, err)
			require.True(t, bytes.Equal(c.data, after), "the file is left as it is")
		})
	}
}

// readSelf is some file that is no journal and larger than one.
func readSelf(t *testing.T) []byte {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	return data[:1<<20]
}

func TestFoldersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Run("a file where the folder should be", func(t *testing.T) {
		n := process.New(t, process.Options{})
		require.NoError(t, os.WriteFile(n.Data, nil, 0o600))
		refuses(t, n, n.Data)
	})
	t.Run("a folder where the journal should be", func(t *testing.T) {
		n := process.New(t, process.Options{})
		require.NoError(t, os.MkdirAll(journal(n), 0o700))
		refuses(t, n, journal(n))
	})
	t.Run("a link to nowhere", func(t *testing.T) {
		n := process.New(t, process.Options{})
		require.NoError(t, os.Symlink(filepath.Join(t.TempDir(), "gone", "further"), n.Data))
		refuses(t, n, n.Data)
	})
}

// Nobody is a user without rights: who runs the tests as root may write anywhere.
const nobody = 65534

func TestAReadOnlyFolderIsRefused(t *testing.T) {
	n := process.New(t, process.Options{Data: readOnly(t), User: nobodyIfRoot()})
	refuses(t, n, journal(n), "permission denied")
}

func TestAReadOnlyJournalIsRefused(t *testing.T) {
	whole, err := os.ReadFile(journal(used(t, "/agents/chat-agent/x")))
	require.NoError(t, err)
	dir := readOnly(t)
	require.NoError(t, os.Chmod(dir, 0o755))                                         //nolint:gosec // another user must get in
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.db"), whole, 0o444)) //nolint:gosec // likewise
	require.NoError(t, os.Chmod(dir, 0o555))                                         //nolint:gosec // likewise
	n := process.New(t, process.Options{Data: dir, User: nobodyIfRoot()})
	refuses(t, n, journal(n), "permission denied")
}

func nobodyIfRoot() uint32 {
	if os.Geteuid() == 0 {
		return nobody
	}
	return 0
}

// readOnly is a folder that its user can enter and not write to.
func readOnly(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-readonly-") // the test's own folder lets no other user in
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o555)) //nolint:gosec // another user must get in
	t.Cleanup(func() {
		_ = os.Chmod(dir, 0o700) //nolint:gosec // to be removed
		_ = os.RemoveAll(dir)
	})
	return dir
}

func TestAPortInUseIsRefused(t *testing.T) {
	n := process.New(t, process.Options{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", n.Addr)
	require.NoError(t, err)
	defer l.Close()
	refuses(t, n, n.Addr, "address already in use")
	require.Empty(t, events(t, n, "ChatAgent/x"), "the journal was made and closed again")
}
