package durable_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/durable"
)

// A copy is another place, what was moved or written to is the same.
func TestPlaces(t *testing.T) {
	root := t.TempDir()
	from, moved := filepath.Join(root, "a"), filepath.Join(root, "b")
	place := func(path string) string {
		t.Helper()
		p, err := durable.PlaceOf(path)
		if err != nil || p == "" {
			t.Fatalf("%q %v", p, err)
		}
		return p
	}
	if err := os.Mkdir(from, 0o700); err != nil {
		t.Fatal(err)
	}
	was := place(from)
	time.Sleep(50 * time.Millisecond) // file systems count by the kernel's ticks
	if out, err := exec.Command("cp", "-a", from, filepath.Join(root, "copy")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if durable.SamePlace(was, place(filepath.Join(root, "copy"))) {
		t.Error("a copy is the same place")
	}
	if err := os.WriteFile(filepath.Join(from, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(from, moved); err != nil || !durable.SamePlace(was, place(moved)) {
		t.Errorf("moved: %v, %q was %q", err, place(moved), was)
	}
	if _, err := durable.PlaceOf(from); err == nil {
		t.Error("nothing is a place")
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{{"1", "1", true}, {"1", "2", false}, {"1 5.0", "2 5.0", true}, {"1 5.0", "1 6.0", false}, {"1", "1 5.0", true}} {
		if durable.SamePlace(c.a, c.b) != c.same {
			t.Errorf("%q and %q", c.a, c.b)
		}
	}
}
