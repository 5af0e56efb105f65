package cmd_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"gridbroker/testdata/testbed"
)

// figureNames are those of figures for Prometheus; what a guide shortens ends otherwise.
var figureNames = regexp.MustCompile(`grid_(?:scheduler|agent|manager|follow)_[a-z_]*[a-z]`)

// TestFiguresOfTheGuides: who sets an alert on a figure that a guide names has one that there is.
func TestFiguresOfTheGuides(t *testing.T) {
	testbed.Computes(t)
	there := map[string]bool{}
	parsed(t, func(dir string, _ *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				there[text] = there[text] || err == nil && figureNames.FindString(text) == text
			case *ast.CallExpr: // the scheduler's, by their own parts
				if by, ok := n.Fun.(*ast.Ident); ok && by.Name == "name" && len(n.Args) == 2 && dir == filepath.Join("..", "forecast", "scheduler") {
					if of, ok := n.Args[0].(*ast.BasicLit); ok {
						text, err := strconv.Unquote(of.Value)
						there["grid_scheduler_"+text] = err == nil
					}
				}
			}
			return true
		})
	})
	guides, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, guide := range guides {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range figureNames.FindAllString(string(text), -1) {
			if named++; !there[name] {
				t.Errorf("%s: there is no figure %s", guide, name)
			}
		}
	}
	if named < 10 {
		t.Errorf("the guides name %d figures: the test sees nothing", named)
	}
}
