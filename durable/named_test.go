package durable

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A directory's own name is taken as it is, whatever stands in it.
func TestNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `[old] *?\`)
	must(t, os.MkdirAll(filepath.Join(dir, "below"), 0o700))
	for _, name := range []string{"b.toml", "a.toml", "a.json", "below/c.toml"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for pattern, want := range map[string][]string{"*.toml": {"a.toml", "b.toml"}, "*/*.toml": {"below/c.toml"}, "x*": nil} {
		got, err := Named(dir, pattern)
		for i := range want {
			want[i] = filepath.Join(dir, want[i])
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
	if got, err := Named(filepath.Join(dir, "nowhere"), "*"); len(got) > 0 || err != nil {
		t.Errorf("a directory that is not there: %q, %v", got, err)
	}
	if _, err := Named(dir, "["); err == nil {
		t.Error("a pattern that is none")
	}
}
