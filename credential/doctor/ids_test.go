package doctor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var idForm = regexp.MustCompile(`^(x509|user|token|trust|voms|vomses|vomsdir|server|refused|endpoint|clock|login|agent|file|life|credential)\.[a-z0-9-]+$`)

// literals collects the string literals of Go files that look like ids.
func literals(t *testing.T, dir string, tests bool, into map[string]bool) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") != tests {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && idForm.MatchString(s) {
					into[s] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allIDs are those of the source, and those it puts together.
func allIDs(t *testing.T) map[string]bool {
	all := map[string]bool{}
	literals(t, "..", false, all)
	for _, kind := range []string{"x509", "token", "file"} {
		for _, what := range []string{"unreadable", "owner", "permissions", "malformed"} {
			all[kind+"."+what] = true
		}
	}
	for _, kind := range []string{"x509", "token"} {
		all["endpoint."+kind+"-accepted"], all["endpoint."+kind+"-refused"] = true, true
	}
	all["trust.unreadable"], all["file.absent"] = true, true
	src, err := os.ReadFile("../voms/verify.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`fail\("([a-z-]+)"`).FindAllStringSubmatch(string(src), -1) {
		all["voms."+m[1]] = true
	}
	if len(all) < 100 {
		t.Fatalf("only %d ids found: this test no longer sees them", len(all))
	}
	return all
}

// Every finding has a test that causes it and a line in the documentation,
// and the documentation names no other.
func TestEveryFindingIsTestedAndDocumented(t *testing.T) {
	all, tested := allIDs(t), map[string]bool{}
	literals(t, "..", true, tested)
	literals(t, "../../cmd", true, tested)
	doc, err := os.ReadFile("../../docs/credentials.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9.-]+)`").FindAllStringSubmatch(string(doc), -1) {
		documented[m[1]] = true
	}
	for id := range all {
		if !tested[id] {
			t.Errorf("%s: no test causes it", id)
		}
		if !documented[id] {
			t.Errorf("%s: not in docs/credentials.md", id)
		}
	}
	for id := range documented {
		if !all[id] {
			t.Errorf("%s: documented, but nothing gives it", id)
		}
	}
}
