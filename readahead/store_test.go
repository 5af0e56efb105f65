package readahead

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A quota that is smaller than the last one is kept from the beginning, and what has
// room in it is held still.
func TestQuotaShrinks(t *testing.T) {
	f, dir := testFile(10_000), t.TempDir()
	read := func(quota int64, portions ...int64) {
		c := open(t, dir, Options{Portion: 1000, Quota: quota, Ahead: -1})
		defer c.Close()
		if info, err := os.Stat(filepath.Join(dir, "cells")); err != nil || info.Size() > quota {
			t.Errorf("quota %d: %d bytes on disk, %v", quota, info.Size(), err)
		}
		for _, at := range portions {
			if _, err := c.Reader(File{Name: "f", Size: 10_000, From: f}).ReadAt(make([]byte, 1000), 1000*at); err != nil {
				t.Fatal(err)
			}
		}
	}
	read(10_000, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0) // cells are taken from the last on
	read(4_000, 3, 2, 1, 0)
	if n := f.reads.Load(); n != 10 {
		t.Errorf("%d requests for ten portions", n)
	}
}

// A link in the directory is not written through, and a pipe is not waited for.
func TestNoFilesInTheDirectory(t *testing.T) {
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cells", "index", "index.new", "lock"} {
		for what, put := range map[string]func(path string) error{
			"link": func(path string) error { return os.Symlink(precious, path) },
			"pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"":     func(path string) error { return os.Mkdir(path, 0o700) },
		} {
			dir := t.TempDir()
			if err := put(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			c, err := Open(dir, Options{})
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
				t.Errorf("%s is a %s: %v", name, what, err)
			}
			if text, _ := os.ReadFile(precious); string(text) != "precious" {
				t.Errorf("%s: the file that a link names is %q now", name, text)
			}
		}
	}
}
