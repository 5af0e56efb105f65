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

// httpTwo are the clients that speak HTTP/2, to whom they know by his certificate: the links
// of managers are streams of it.
var httpTwo = []string{"../forecast/managers/daemon"}

// Whoever answers over HTTP is not believed to mean well: every client's transport is made a
// wary one (credential.Wary) where it is made.
func TestClientsAreWary(t *testing.T) {
	testbed.Computes(t)
	parsed(t, func(dir string, set *token.FileSet, f *ast.File) {
		if strings.HasPrefix(dir, "../testdata") || slices.Contains(httpTwo, dir) {
			return
		}
		wary := map[ast.Expr]bool{}
		ast.Inspect(f, func(n ast.Node) bool { // from the outside inwards
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && calls(call, "Wary") {
				wary[call.Args[0]] = true
				if ref, ok := call.Args[0].(*ast.UnaryExpr); ok {
					wary[ref.X] = true
				}
			}
			if e, ok := n.(ast.Expr); ok && makesTransport(e) && !wary[e] {
				t.Errorf("%s: a transport that is not wary", set.Position(n.Pos()))
			}
			return true
		})
	})
}

// makesTransport tells of http.Transport{...} and http.DefaultTransport.(*http.Transport).Clone().
func makesTransport(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		s, ok := e.Type.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "Transport" && named(s.X, "http")
	case *ast.CallExpr:
		if s, ok := e.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Clone" {
			a, ok := s.X.(*ast.TypeAssertExpr)
			return ok && isDefault(a.X)
		}
	}
	return false
}

// calls tells whether a call is of that function, here or of another package.
func calls(call *ast.CallExpr, name string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name || named(call.Fun, name)
}

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func isDefault(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "DefaultTransport" && named(s.X, "http")
}
