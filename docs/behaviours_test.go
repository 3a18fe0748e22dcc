package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed are the numbers of behaviours.md, first and last of each run.
var listed = []struct {
	prefix      string
	first, last int
}{{"", 1, 311}, {"", 375, 393}, {"", 396, 396}, {"", 436, 440}, {"W", 1, 30}}

var (
	row      = regexp.MustCompile(`(?m)^\| (W?\d+) \| .+ \| (.+) \|$`)
	named    = regexp.MustCompile("`([^`]+)`")
	sentence = regexp.MustCompile(`\*[A-Z].+\.\*$`)
)

func TestEachBehaviourHasATestOrASentence(t *testing.T) {
	var want, numbers []string
	for _, run := range listed {
		for n := run.first; n <= run.last; n++ {
			want = append(want, fmt.Sprint(run.prefix, n))
		}
	}
	all := &tests{t: t, folders: map[string]map[string][]string{}}
	for _, match := range row.FindAllStringSubmatch(read(t, "behaviours.md"), -1) {
		number, proof := match[1], match[2]
		numbers = append(numbers, number)
		names := named.FindAllStringSubmatch(proof, -1)
		if len(names) == 0 {
			require.Regexp(t, sentence, proof, number)
		}
		for _, name := range names {
			require.True(t, all.has(name[1]), "%s: there is no %s", number, name[1])
		}
	}
	require.Equal(t, want, numbers)
}

// tests of the module: the strings that stand beside each, by folder and name.
type tests struct {
	t       *testing.T
	folders map[string]map[string][]string
}

func (all *tests) has(name string) bool {
	folder, rest, _ := strings.Cut(name, " ")
	if file, title, ok := strings.Cut(rest, ": "); ok && !strings.HasPrefix(rest, "Test") {
		files, _ := filepath.Glob(filepath.Join("..", folder, "specs", file+".*.mjs"))
		begins := regexp.MustCompile(`(?m)^ *(test\()?"` + regexp.QuoteMeta(title) + `[":;,]`)
		return len(files) == 1 && begins.MatchString(read(all.t, files[0]))
	}
	test, sub, ok := strings.Cut(rest, "/")
	beside, known := all.in(folder)[test]
	if !known || !ok {
		return known
	}
	for _, s := range beside {
		if s == sub || strings.HasPrefix(s, sub+" ") {
			return true
		}
	}
	played, _ := filepath.Glob(filepath.Join("..", folder, "testdata", sub+".*"))
	deeper, _ := filepath.Glob(filepath.Join("..", folder, "testdata", "*", sub+".*"))
	return len(played)+len(deeper) == 1
}

func (all *tests) in(folder string) map[string][]string {
	if found := all.folders[folder]; found != nil {
		return found
	}
	found := map[string][]string{}
	files, _ := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(all.t, err)
		texts := literals(file)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				found[f.Name.Name] = texts
			}
		}
	}
	all.folders[folder] = found
	return found
}

func literals(file *ast.File) (texts []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
