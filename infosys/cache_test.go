package infosys

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCacheFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := NewCache(dir)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	c.save("key", now, one("a"))
	path := c.path("key")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if fetched, rs, ok := c.load("key", time.Time{}); !ok || !fetched.Equal(now) || len(rs) != 1 || rs[0].ID != "a" {
		t.Errorf("%v %v %v", fetched, rs, ok)
	}
	if _, _, ok := c.load("key", now.Add(time.Nanosecond)); ok {
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
		if _, rs, ok := c.load("key", time.Time{}); ok {
			t.Errorf("%s: gave %v", name, rs)
		}
	}
	if err := os.WriteFile(c.path("other"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := c.load("other", time.Time{}); ok {
		t.Error("gave another source's answer")
	}
	// What nobody renews goes.
	long := time.Now().Add(-2 * cacheKeep)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	c.save("new", time.Now(), one("b"))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the old file is still there: %v", err)
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
