package arrows

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// oversize finds files and functions that no longer fit a reader's head.
func oversize(t tree) []string {
	var found []string
	for _, s := range t {
		if s.generated {
			continue
		}
		if s.lines > maxFileLines {
			found = append(found, fmt.Sprintf("%s: %d lines, the limit is %d: a file is one noun or one verb; split it by what it is about", s.name, s.lines, maxFileLines))
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			name := ""
			switch f := n.(type) {
			case *ast.FuncDecl:
				name = f.Name.Name
			case *ast.FuncLit:
				name = "function literal"
			default:
				return true
			}
			start := n.Pos()
			if f, ok := n.(*ast.FuncDecl); ok {
				start = f.Type.Pos()
			}
			if lines := s.fset.Position(n.End()).Line - s.fset.Position(start).Line + 1; lines > maxFunctionLines {
				found = append(found, s.at(start, "%s has %d lines, the limit is %d: a function fits a screen; give its steps names", name, lines, maxFunctionLines))
				return false // a literal inside is no second finding
			}
			return true
		})
	}
	return found
}

// undocumented finds exported names without a doc comment in the packages that
// other people import.
func undocumented(t tree) []string {
	documented := documentedTypes(t)
	var found []string
	for _, s := range t {
		if s.test || s.generated || !public(s) {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				found = append(found, undocumentedFunc(s, d)...)
			case *ast.GenDecl:
				found = append(found, undocumentedDecl(s, d, documented)...)
			}
		}
	}
	return found
}

func public(s source) bool {
	p := "/" + s.pkg() + "/"
	return s.file.Name.Name != "main" && !strings.Contains(p, "/internal/") &&
		!strings.HasPrefix(p, "/test/") && !strings.HasPrefix(p, "/cmd/")
}

// selfEvident are the methods of interfaces that every Go programmer knows.
var selfEvident = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "As": true, "String": true, "GoString": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
	"Len": true, "Less": true, "Swap": true, "LogValue": true, "Format": true,
}

func undocumentedFunc(s source, d *ast.FuncDecl) []string {
	if d.Doc != nil || !d.Name.IsExported() {
		return nil
	}
	if d.Recv != nil && (selfEvident[d.Name.Name] || !ast.IsExported(receiver(d))) {
		return nil
	}
	return []string{missing(s, d.Name)}
}

func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// undocumentedDecl accepts a comment on the group, and constants whose type is
// documented: the type's comment says what they are for.
func undocumentedDecl(s source, d *ast.GenDecl, documented map[string]bool) []string {
	if d.Doc != nil {
		return nil
	}
	var found []string
	kind := "" // a constant without type and value repeats the one before it
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && spec.Doc == nil && spec.Comment == nil {
				found = append(found, missing(s, spec.Name))
			}
		case *ast.ValueSpec:
			if id, ok := spec.Type.(*ast.Ident); ok {
				kind = id.Name
			} else if len(spec.Values) > 0 {
				kind = ""
			}
			if spec.Doc != nil || spec.Comment != nil || d.Tok == token.CONST && documented[s.pkg()+"."+kind] {
				continue
			}
			for _, n := range spec.Names {
				if n.IsExported() {
					found = append(found, missing(s, n))
				}
			}
		}
	}
	return found
}

func documentedTypes(t tree) map[string]bool {
	all := map[string]bool{}
	for _, s := range t {
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				if ts := spec.(*ast.TypeSpec); ts.Doc != nil || g.Doc != nil {
					all[s.pkg()+"."+ts.Name.Name] = true
				}
			}
		}
	}
	return all
}

func missing(s source, name *ast.Ident) string {
	return s.at(name.Pos(), "exported %s has no doc comment: say what it means, its units, defaults and errors, and what may run concurrently", name.Name)
}
