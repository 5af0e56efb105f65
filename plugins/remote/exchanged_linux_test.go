package remote

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDirectoriesThatAreExchanged: a job that puts a link in the place of a directory while its
// output is brought has nothing brought from where that leads.
func TestDirectoriesThatAreExchanged(t *testing.T) {
	_, work := leaving(t, false)
	secrets := t.TempDir()
	for name, text := range map[string]string{filepath.Join(work.Name(), "dir/key"): "result", filepath.Join(secrets, "key"): "secret"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secrets, filepath.Join(work.Name(), "link")); err != nil {
		t.Fatal(err)
	}
	opened, err := work.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	at := int(opened.Fd())
	var ended atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !ended.Load() {
			_ = unix.Renameat2(at, "dir", at, "link", unix.RENAME_EXCHANGE)
		}
	}()
	got := 0
	for begun := time.Now(); got < 500 && time.Since(begun) < 20*time.Second; {
		src, _, err := disk{}.Get(filepath.Dir(work.Name()), "work/dir/key", 0)
		if err != nil {
			continue
		}
		text := make([]byte, 6)
		if _, err := src.Read(text); err == nil && string(text) == "secret" {
			t.Error("what lies elsewhere was read")
			got = 500
		}
		src.Close()
		got++
	}
	ended.Store(true)
	<-stopped
}
