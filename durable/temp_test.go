package durable

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Temporary files are made where nobody else can exchange them: what TMPDIR says otherwise does not count.
func TestTempDirOfOthers(t *testing.T) {
	top := t.TempDir()
	for name, c := range map[string]struct {
		mode  fs.FileMode
		taken bool
	}{"own": {0o755, true}, "sticky": {0o777 | fs.ModeSticky, true}, "all": {0o777, false}, "all/own": {0o700, false}} {
		dir := filepath.Join(top, name)
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.Chmod(dir, c.mode))
		t.Setenv("TMPDIR", dir)
		got, err := MkdirTemp("x-*")
		must(t, err)
		defer os.Remove(got)
		if strings.HasPrefix(got, top) != c.taken {
			t.Errorf("%s: %s", name, got)
		}
	}
}
