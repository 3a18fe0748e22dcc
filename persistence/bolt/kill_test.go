package bolt

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-dev/holdfast/persistence"
)

// killedPath is set for child processes that this test starts of its own binary.
const killedPath = "HOLDFAST_TEST_KILLED_JOURNAL"

// appendUntilKilled is all that a child process of the test does: it appends to 20
// streams and prints each number that is durable.
func appendUntilKilled(path string) {
	s, err := Open(Config{Path: path})
	if err != nil {
		panic(err)
	}
	lines := make(chan string, 1000)
	for i := range 20 {
		go func() {
			if err := appendAndRebase(s, fmt.Sprint("s", i), lines); err != nil {
				panic(err)
			}
		}()
	}
	for line := range lines {
		if _, err := os.Stdout.WriteString(line); err != nil {
			return
		}
	}
}

func appendAndRebase(s *Store, name string, lines chan<- string) error {
	info, _, err := s.Find(context.Background(), name, persistence.Batch{})
	for head := info.Head; err == nil; head++ {
		if head%50 == 49 {
			if err := s.Rebase(context.Background(), name, head-10, payload, nil); err != nil {
				return err
			}
		}
		err = <-start(s, name, head, payload)
		lines <- fmt.Sprintf("ack %s %d\n", name, head+1)
	}
	return err
}

func TestAKilledProcessKeepsWhatItAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	acked := make(map[string]uint64)
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), killedPath+"="+path)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if n == 30+37*round {
				require.NoError(t, child.Process.Kill())
			}
			if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "ack" {
				if seq, err := strconv.ParseUint(fields[2], 10, 64); err == nil {
					acked[fields[1]] = seq
				}
			}
		}
		_ = child.Wait() // "killed"
		s, err := Open(Config{Path: path})
		require.NoError(t, err)
		for name, seq := range acked {
			info, _, err := s.Find(t.Context(), name, persistence.Batch{})
			require.NoError(t, err)
			require.GreaterOrEqual(t, info.Head, seq, "%s has lost what was acknowledged", name)
		}
		for fault := range s.Check(t.Context()) {
			t.Error(fault)
		}
		require.NoError(t, s.Close())
	}
	require.NotEmpty(t, acked)
}
