package arrows

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// A layer is a set of packages, what they may import of ours, and why no more.
type layer struct {
	pattern string
	may     []string
	why     string
}

// A home is where a library may be imported.
type home struct {
	library string
	files   []string
	why     string
}

func wrongImports(t tree) []string {
	var found []string
	for _, s := range t {
		if s.test || s.pkg() == "." {
			continue
		}
		l, ok := layerOf(s.pkg())
		if !ok {
			found = append(found, fmt.Sprintf("%s: package %s has no place in the plan of the house; give it a line in layers, with a reason", s.name, s.pkg()))
			continue
		}
		for _, imported := range ours(s) {
			if imported != s.pkg() && !within(imported, l.may) {
				found = append(found, s.at(s.imports()[modulePath+"/"+imported], "%s must not import %s: %s", s.pkg(), imported, l.why))
			}
		}
	}
	return found
}

func layerOf(pkg string) (layer, bool) {
	for _, l := range layers {
		if within(pkg, []string{l.pattern}) {
			return l, true
		}
	}
	return layer{}, false
}

// ours are the file's imports of this module, without the module's path.
func ours(s source) []string {
	var all []string
	for _, imported := range slices.Sorted(maps.Keys(s.imports())) {
		if p, ok := strings.CutPrefix(imported, modulePath+"/"); ok {
			all = append(all, p)
		}
	}
	return all
}

func strayLibraries(t tree) []string {
	var found []string
	for _, s := range t {
		if s.test {
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(s.imports())) {
			for _, h := range homes {
				if within(imported, []string{h.library + "/..."}) && !matches(s.name, h.files) {
					found = append(found, s.at(s.imports()[imported], "%s is imported in %s only: %s",
						h.library, strings.Join(h.files, ", "), h.why))
				}
			}
		}
	}
	return found
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// impureCores finds in the cores: imports that do things, looks at the clock,
// and goroutines.
func impureCores(t tree) []string {
	var found []string
	for _, s := range t {
		if s.test || !within(s.pkg(), cores) {
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(s.imports())) {
			for library, why := range outOfReach {
				if imported == library || strings.Contains(library, ".") && within(imported, []string{library + "/..."}) {
					found = append(found, s.at(s.imports()[imported], "a core must not import %s: %s", imported, why))
				}
			}
		}
		found = append(found, impureCode(s)...)
	}
	return found
}

func impureCode(s source) []string {
	var found []string
	timeName := localName(s, "time")
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, s.at(n.Pos(), "a core must not start a goroutine: the order of its steps is the order of its events"))
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && timeName != "" && x.Name == timeName && clock[n.Sel.Name] {
				found = append(found, s.at(n.Pos(), "a core must not call time.%s: the time enters as a field of a command, so that a replay decides the same", n.Sel.Name))
			}
		}
		return true
	})
	return found
}

// localName is what the file calls the package; "" if it does not import it.
func localName(s source, imported string) string {
	for _, i := range s.file.Imports {
		if i.Path.Value == `"`+imported+`"` {
			if i.Name != nil {
				return i.Name.Name
			}
			return path.Base(imported)
		}
	}
	return ""
}

func rootFiles(t tree) []string {
	var found []string
	for _, s := range t {
		if s.pkg() == "." {
			found = append(found, s.name+": the module's root has no Go files: each package has a folder that says what it is for")
		}
	}
	return found
}
