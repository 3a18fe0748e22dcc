package arrows

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A source is one Go file of the module.
type source struct {
	name      string // path from the module's root
	lines     int
	generated bool
	test      bool
	fset      *token.FileSet
	file      *ast.File
}

// A tree is all Go files of the module, in the order of their names.
type tree []source

// modulePath is what our own imports start with.
const modulePath = "github.com/holdfast-dev/holdfast"

// read parses each Go file below root, whatever its build tags are. It leaves
// out what the go command leaves out, and nested modules.
func read(root fs.FS) (tree, error) {
	var t tree
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return enter(root, name, d.Name())
		case path.Ext(name) != ".go":
			return nil
		}
		s, err := parse(root, name)
		t = append(t, s)
		return err
	})
	return t, err
}

func enter(root fs.FS, name, base string) error {
	if name == "." {
		return nil
	}
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func parse(root fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return source{}, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, fmt.Errorf("read sources: %w", err)
	}
	return source{
		name:      name,
		lines:     bytes.Count(text, []byte("\n")),
		generated: ast.IsGenerated(f),
		test:      strings.HasSuffix(name, "_test.go"),
		fset:      fset,
		file:      f,
	}, nil
}

// pkg is the path of the file's package within the module; "." at the root.
func (s source) pkg() string { return path.Dir(s.name) }

// imports yields the imported paths with their places.
func (s source) imports() map[string]token.Pos {
	all := make(map[string]token.Pos, len(s.file.Imports))
	for _, i := range s.file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			all[p] = i.Pos()
		}
	}
	return all
}

// at formats a finding.
func (s source) at(pos token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", s.name, s.fset.Position(pos).Line) + fmt.Sprintf(format, args...)
}

// within tells whether pkg is covered by one of the patterns.
func within(pkg string, patterns []string) bool {
	for _, p := range patterns {
		below, all := strings.CutSuffix(p, "/...")
		if pkg == p || all && (pkg == below || strings.HasPrefix(pkg, below+"/")) {
			return true
		}
	}
	return false
}
