// Package docs holds the documents for users. Its tests keep them true: samples
// are checked by the compiler's rules, links lead somewhere.
package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var documents = []string{"../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "guide.md", "operations.md", "protocol.md", "behaviours.md", "rough-edges.md"}

var sample = regexp.MustCompile("(?s)```go\n(.*?)```")

// A sample that is no whole program stands in this one, which has what the text
// around it speaks of.
const (
	imports = `package main
import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/actors"
	"github.com/holdfast-dev/holdfast/actors/actorstest"
	"github.com/holdfast-dev/holdfast/actors/model/scripted"
	"github.com/holdfast-dev/holdfast/actors/node"
	"github.com/holdfast-dev/holdfast/protocol"
	"github.com/holdfast-dev/holdfast/protocol/feed"
	"github.com/holdfast-dev/holdfast/protocol/uimessage"
)
var (
	model = scripted.Demo()
	cardNumber *regexp.Regexp
	lookUp func(context.Context) error
	room *actors.Ref
	turn *actors.Turn
	assistant *actors.Agent
	pages http.Handler
	requireLogin func(http.Handler) http.Handler
	n *node.Node
)
`
	statements = imports + "func _(ctx context.Context) error {\n%s\nreturn nil\n}"
)

func TestSamplesCompile(t *testing.T) {
	fset := token.NewFileSet()
	packages := importer.ForCompiler(fset, "gc", exports(t))
	samples := 0
	for _, name := range documents {
		for i, match := range sample.FindAllStringSubmatch(read(t, name), -1) {
			samples++
			code := match[1]
			switch {
			case strings.HasPrefix(code, "package "):
			case strings.HasPrefix(code, "func "):
				code = imports + code
			default:
				code = fmt.Sprintf(statements, code)
			}
			file, err := parser.ParseFile(fset, fmt.Sprintf("%s, sample %d", name, i+1), code, 0)
			require.NoError(t, err, code)
			check(t, fset, packages, file)
		}
	}
	require.GreaterOrEqual(t, samples, 5, "the samples are not found")
}

// check reports what the compiler would, but for names that are not used.
func check(t *testing.T, fset *token.FileSet, packages types.Importer, file *ast.File) {
	t.Helper()
	config := types.Config{Importer: packages, Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) || !e.Soft {
			t.Error(err)
		}
	}}
	_, _ = config.Check("main", fset, []*ast.File{file}, nil)
}

// exports finds the compiled form of the packages that samples may import.
func exports(t *testing.T) importer.Lookup {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Export", "../actors/...", "../protocol/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	files := map[string]string{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no sample may import %s", path)
		}
		return os.Open(files[path])
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noise   = regexp.MustCompile(`[^a-z0-9 -]`)
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, name := range documents {
		for _, match := range link.FindAllStringSubmatch(read(t, name), -1) {
			path, anchor := filepath.Join(filepath.Dir(name), match[1]), match[2]
			if match[1] == "" {
				path = name
			}
			require.FileExists(t, path, "%s links to it", name)
			if anchor != "" {
				require.Contains(t, anchors(t, path), anchor, "%s links to %s", name, path)
			}
		}
	}
}

// anchors are those that a page of Markdown gets for its headings.
func anchors(t *testing.T, path string) (all []string) {
	t.Helper()
	for _, match := range heading.FindAllStringSubmatch(read(t, path), -1) {
		all = append(all, "#"+strings.ReplaceAll(noise.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
	}
	return all
}

var flag = regexp.MustCompile("`--([a-z-]+)`")

// TestFlagsExist: each flag that a document names is one of the node's.
func TestFlagsExist(t *testing.T) {
	var help strings.Builder
	for _, command := range []string{"serve", "chat", "check", "dump", "delete", "compact"} {
		cmd := exec.Command("go", "run", "../cmd/node", command, "--help")
		cmd.Stdout = &help
		require.NoError(t, cmd.Run())
	}
	for _, name := range documents {
		for _, match := range flag.FindAllStringSubmatch(read(t, name), -1) {
			require.Contains(t, help.String(), "--"+match[1], "%s names it", name)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
