package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// nodePackage is what is built.
const nodePackage = "github.com/holdfast-dev/holdfast/test/testnode"

// built is the binary, and the folder to remove with it; built when first asked for.
var built = sync.OnceValues(build)

func build() (binary, error) {
	if path := os.Getenv("HOLDFAST_TEST_NODE"); path != "" {
		path, err := filepath.Abs(path)
		return binary{path: path}, err
	}
	dir, err := os.MkdirTemp("", "holdfast-test-")
	if err != nil {
		return binary{}, err
	}
	// Another user must be able to run it, see Options.User.
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // holds a binary and nothing else
		return binary{}, err
	}
	b := binary{path: filepath.Join(dir, "node"), dir: dir}
	args := []string{"build", "-o", b.path}
	if os.Getenv("HOLDFAST_TEST_RACE") == "1" {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(context.Background(), "go", append(args, nodePackage)...).CombinedOutput()
	if err != nil {
		return b, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return b, nil
}

type binary struct{ path, dir string }

// Main builds the node, runs the tests and removes the binary. It is the whole of
// a TestMain.
func Main(m *testing.M) {
	b, err := built()
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
	os.Exit(code)
}
