package tags

import (
	"os"
	"path/filepath"
	"testing"
)

// Several may write to a store: whatever lies in its files, it is read or refused.
func FuzzStore(f *testing.F) {
	f.Add([]byte(`[{"name":"VEE-A","state":"published"}]`))
	f.Add([]byte("[vo]\na = [\"x\"]\n"))
	f.Add([]byte(`{"at":"2026-01-01T00:00:00Z","by":"x","verb":"add","tags":["A"]}` + "\n{\"at"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newStore(t)
		if err := os.Mkdir(s.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"site.json", "vo-a.json", "writers.toml", "history.jsonl"} {
			if err := os.WriteFile(filepath.Join(s.Dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = s.All()
		_, _ = s.writers()
		_, _ = s.History()
		_ = s.ofAnother("a", "VO-a-b")
	})
}
