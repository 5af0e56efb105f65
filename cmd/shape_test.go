package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// What is bound here keeps the program readable: a function fits on a screen,
// and a type has one task.
const (
	mostLines   = 50 // of a function, its signature and last brace included
	usualLines  = 30 // that nine functions of ten keep to
	mostMethods = 25 // of a type
)

// parsed reads every Go file of the program itself.
func parsed(t *testing.T, each func(dir string, set *token.FileSet, f *ast.File)) {
	t.Helper()
	parsedAll(t, func(dir string, test bool, set *token.FileSet, f *ast.File) {
		if !test {
			each(dir, set, f)
		}
	})
}

// parsedAll reads every Go file, those of tests too.
func parsedAll(t *testing.T, each func(dir string, test bool, set *token.FileSet, f *ast.File)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err == nil {
			each(filepath.Dir(path), strings.HasSuffix(path, "_test.go"), set, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFunctionsAreShort(t *testing.T) {
	testbed.Computes(t)
	var lengths []int
	parsed(t, func(_ string, set *token.FileSet, f *ast.File) {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			from, to := set.Position(fn.Pos()), set.Position(fn.End())
			n := to.Line - from.Line + 1
			lengths = append(lengths, n)
			if n > mostLines {
				t.Errorf("%s:%d: %s has %d lines; at most %d", from.Filename, from.Line, fn.Name.Name, n, mostLines)
			}
		}
	})
	slices.Sort(lengths)
	p90 := lengths[len(lengths)*9/10]
	if t.Logf("%d functions, nine of ten up to %d lines", len(lengths), p90); p90 > usualLines {
		t.Errorf("nine of ten functions have up to %d lines; want %d", p90, usualLines)
	}
}

func TestTypesHaveOneTask(t *testing.T) {
	testbed.Computes(t)
	methods := map[string]int{}
	parsed(t, func(dir string, _ *token.FileSet, f *ast.File) {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[dir+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	})
	if len(methods) == 0 {
		t.Fatal("no type has a method: nothing was read")
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods; at most %d", name, n, mostMethods)
		}
	}
}

// receiver is the name of a method's type, without pointer and parameters.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// Whoever answers over HTTP is not believed to have few headers: what net/http takes of them by itself costs
// a hundred megabytes.
func TestHeadersOfAnswersAreBounded(t *testing.T) {
	parsed(t, func(dir string, set *token.FileSet, f *ast.File) {
		var made []token.Pos
		bounded := 0
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Transport" && named(s.X, "http") {
					made = append(made, n.Pos())
				}
			case *ast.CallExpr: // http.DefaultTransport.(*http.Transport).Clone()
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Clone" {
					if a, ok := s.X.(*ast.TypeAssertExpr); ok && isDefault(a.X) {
						made = append(made, n.Pos())
					}
				}
			case *ast.Ident:
				if n.Name == "MaxResponseHeaderBytes" {
					bounded++
				}
			}
			return true
		})
		if len(made) > bounded && !strings.HasPrefix(dir, "../testdata") {
			t.Errorf("%s: %d clients are made, of %d the headers of answers are bounded", set.Position(made[0]), len(made), bounded)
		}
	})
}

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func isDefault(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "DefaultTransport" && named(s.X, "http")
}
