package scheduler

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A file of a job whose name no database takes is named, and is not asked for again and again; the others are kept.
func TestNamesThatNoDatabaseTakes(t *testing.T) {
	seal, err := NewSeal(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	store, err := OpenStore("sqlite:"+filepath.Join(t.TempDir(), "x.db"), seal)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := outbox{New(Config{MaxOutput: 1 << 20}, store, nil, time.Now, slog.New(slog.DiscardHandler))}
	long := strings.Repeat(strings.Repeat("d", 200)+"/", 11) + "f"
	for bad, said := range map[string]string{"a\xff": `"a\xff" was not brought`, long: "more than 2000 bytes"} {
		dir := t.TempDir()
		files := []string{bad, "good"}
		for _, name := range files {
			at := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var r result
		if err := o.keepOutput(t.Context(), &Job{ID: "j"}, dir, files, &r); err != nil || !slices.Equal(r.Output, []string{"good"}) || !strings.Contains(r.Said, said) {
			t.Errorf("%.20q: %v, kept %.100q: %s", bad, err, r.Output, r.Said)
		}
	}
}
