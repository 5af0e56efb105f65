package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTraceNamesFiles holds the trace of a submission in the documentation to
// the files that there are. A name without a directory is in that of the one
// before it; a star stands for several.
func TestTraceNamesFiles(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, trace, ok := strings.Cut(string(text), "## One `grid submit`, file by file")
	if !ok {
		t.Fatal("there is no trace")
	}
	trace, _, _ = strings.Cut(trace, "\n## ")
	quoted, files := regexp.MustCompile("`([a-z0-9_*/.]+)`"), 0
	for line := range strings.Lines(trace) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		dir := ""
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			name := m[1]
			if strings.Contains(name, "/") {
				dir = filepath.Dir(name)
			} else {
				name = filepath.Join(dir, name)
			}
			if found, err := filepath.Glob("../" + name); err != nil || len(found) == 0 {
				t.Errorf("%s: there is no %s", strings.TrimSpace(line), name)
			}
			files++
		}
	}
	if files < 20 {
		t.Errorf("the trace names %d files", files)
	}
}
