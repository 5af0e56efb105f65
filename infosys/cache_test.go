package infosys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gridbroker/glue"
)

func TestCacheFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := NewCache(dir)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	c.save("key", saved{fetched: now, rs: one("a")})
	path := c.path("key")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if a, ok := c.load("key", time.Time{}); !ok || !a.fetched.Equal(now) || len(a.rs) != 1 || a.rs[0].ID != "a" || a.err != nil {
		t.Errorf("%v %v", a, ok)
	}
	if _, ok := c.load("key", now.Add(time.Nanosecond)); ok {
		t.Error("an answer older than asked for was given")
	}
	// One that was cut, spoilt, or is another source's is not used.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoilt := append([]byte(nil), whole...)
	spoilt[len(spoilt)-1] ^= 1
	for name, text := range map[string][]byte{"cut": whole[:len(whole)-3], "spoilt": spoilt, "empty": nil, "head": whole[:5]} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if a, ok := c.load("key", time.Time{}); ok {
			t.Errorf("%s: gave %v", name, a)
		}
	}
	for i := range whole { // one bit that the disk has changed
		spoilt[len(spoilt)-1] = whole[len(whole)-1]
		if spoilt[i] ^= 4; os.WriteFile(path, spoilt, 0o600) != nil {
			t.Fatal(path)
		}
		if a, ok := c.load("key", time.Time{}); ok {
			t.Errorf("byte %d of %d is another: gave an answer of %v", i, len(whole), a.fetched)
		}
		spoilt[i] = whole[i]
	}
	if err := os.WriteFile(c.path("other"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.load("other", time.Time{}); ok {
		t.Error("gave another source's answer")
	}
	// What nobody renews goes.
	long := time.Now().Add(-2 * cacheKeep)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, ".new-4711") // of a process that was killed
	if err := errors.Join(os.WriteFile(half, whole[:9], 0o600), os.Chtimes(half, long, long)); err != nil {
		t.Fatal(err)
	}
	c.save("new", saved{fetched: time.Now(), rs: one("b")})
	for _, gone := range []string{path, half} {
		if _, err := os.Stat(gone); !os.IsNotExist(err) {
			t.Errorf("the old file is still there: %v", err)
		}
	}
}

// A cache that cannot be written is no error.
func TestCacheUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Collector{Cache: NewCache(filepath.Join(file, "below")), MaxAge: time.Hour}
	if s := c.Collect(t.Context(), &fake{name: "x", rs: one("a")}); s.Outcomes[0].Err != nil || len(s.Resources) != 1 {
		t.Errorf("%+v", s.Outcomes)
	}
}

// A source that publishes more than is taken in gives the same answer again:
// it is kept, with the word that it is cut short.
func TestCutAnswersAreKept(t *testing.T) {
	src := &fake{name: "big", rs: one("a"), err: fmt.Errorf("host: %w", glue.LimitError("more than 65536 shares"))}
	c := &Collector{Cache: NewCache(t.TempDir()), MaxAge: time.Hour}
	for i, cached := range []bool{false, true} {
		s := c.Collect(t.Context(), src)
		o := s.Outcomes[0]
		if o.Cached != cached || o.Stale || o.Err == nil || o.Err.Error() != "host: more than 65536 shares" || len(s.Resources) != 1 {
			t.Errorf("%d: %+v, %d resources", i, o, len(s.Resources))
		}
	}
}
