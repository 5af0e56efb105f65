package cmd_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"testing"

	"gridbroker/testdata/testbed"
)

// TestWhatIsSaidIsSafe: the command prints messages by sayOut, sayErr and say alone, which
// make safe what others wrote in them; so no verb can forget it.
func TestWhatIsSaidIsSafe(t *testing.T) {
	testbed.Computes(t)
	// Nothing else of the command writes formatted text: complaints.go has a writer of its own.
	by := map[string]bool{"say.go": true, "complaints.go": true}
	seen := 0
	parsed(t, func(dir string, set *token.FileSet, f *ast.File) {
		name := filepath.Base(set.Position(f.Pos()).Filename)
		if dir != filepath.Join("..", "cmd", "cli") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !prints(call) {
				return true
			}
			if by[name] {
				seen++
			} else if into, ok := call.Args[0].(*ast.UnaryExpr); !ok || into.Op != token.AND { // a text that is made
				t.Errorf("%s: prints by itself; sayOut, sayErr and say make safe what others wrote", set.Position(call.Pos()))
			}
			return true
		})
	})
	if seen == 0 {
		t.Error("nothing prints: the test sees nothing")
	}
}

// prints tells calls of fmt.Fprint, Fprintf and Fprintln.
func prints(call *ast.CallExpr) bool {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := fn.X.(*ast.Ident)
	return ok && of.Name == "fmt" && (fn.Sel.Name == "Fprint" || fn.Sel.Name == "Fprintf" || fn.Sel.Name == "Fprintln")
}
