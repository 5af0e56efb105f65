package cmd_test

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

var (
	testName  = regexp.MustCompile("`(?:\\w+\\.)?((?:Test|Fuzz)[A-Z]\\w*)(?:/([\\w-]+))?`")
	testDecl  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	ofPackage = regexp.MustCompile("^ \\(`?([a-z][\\w/]*)`?[;)]")
)

// declaredTests finds, for each name of a test of the repository, the packages
// that declare it. A test that is not compiled with the others (by a build
// constraint) counts as well.
func declaredTests(t *testing.T, root fs.FS) map[string][]string {
	t.Helper()
	in := map[string][]string{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "plugins/plugintest/") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		for _, m := range testDecl.FindAllSubmatch(text, -1) {
			in[string(m[1])] = append(in[string(m[1])], path.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Every test that the documentation names is there, in the package that is named
// after it, and every promise of docs/testing.md names one and stands once.
func TestPromisesAreHeld(t *testing.T) {
	testbed.Computes(t)
	root, promised := os.DirFS(".."), make(map[string]int)
	tests := declaredTests(t, root)
	pages, err := fs.Glob(root, "docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "README.md") {
		f, err := root.Open(page)
		if err != nil {
			t.Fatal(err)
		}
		lines, inPromises := bufio.NewScanner(f), false
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			for _, bad := range missingTests(root, tests, line) {
				t.Errorf("%s:%d: %s", page, n, bad)
			}
			if strings.HasPrefix(line, "#") {
				inPromises = strings.HasPrefix(line, "## Promises")
			}
			row := inPromises && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| promise |")
			if row && !testName.MatchString(line) {
				t.Errorf("%s:%d: no test holds: %s", page, n, line)
			}
			if what, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |"); row {
				if promised[what] > 0 {
					t.Errorf("%s:%d: as line %d: %s", page, n, promised[what], what)
				}
				promised[what] = n
			}
		}
		f.Close()
	}
}

// missingTests are the tests that a line names and that are not where it says.
func missingTests(root fs.FS, tests map[string][]string, line string) (bad []string) {
	for _, at := range testName.FindAllStringSubmatchIndex(line, -1) {
		name := line[at[2]:at[3]]
		in := tests[name]
		if len(in) == 0 {
			bad = append(bad, "there is no "+name)
			continue
		}
		if at[4] >= 0 && name == "TestScripts" {
			script := "testdata/script/" + line[at[4]:at[5]] + ".txtar"
			if _, err := fs.Stat(root, script); err != nil {
				bad = append(bad, err.Error())
			}
		}
		if m := ofPackage.FindStringSubmatch(line[at[1]:]); m != nil && !strings.Contains(" "+strings.Join(in, " ")+" ", " "+m[1]+" ") {
			if fi, err := fs.Stat(root, m[1]); err == nil && fi.IsDir() {
				bad = append(bad, name+" is not in "+m[1]+" but in "+strings.Join(in, ", "))
			}
		}
	}
	return bad
}
