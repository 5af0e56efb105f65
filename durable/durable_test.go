package durable_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gridbroker/durable"
)

func TestMkdirAll(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "a/b/c", "a/b/d/", "a/./e/../f", "."} {
		if err := durable.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if st, err := os.Stat(filepath.Join(root, dir)); err != nil || !st.IsDir() || st.Mode().Perm()&0o077 != 0 && dir != "." {
			t.Errorf("%s: %v %v", dir, st, err)
		}
	}
	if err := durable.MkdirAll(filepath.Join(file, "x"), 0o700); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
	t.Chdir(root)
	if err := durable.MkdirAll("relative/one", 0o700); err != nil {
		t.Error(err)
	}
}

// Who reads while a file is replaced sees one of the contents whole, and
// nothing is left beside it.
func TestReplaceIsWholeForReaders(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	old, other := bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<17)
	if err := durable.WriteFile(path, old); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, text := range [][]byte{old, other} {
		writers.Go(func() {
			for range 20 {
				if err := durable.WriteFile(path, text); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, old) && !bytes.Equal(got, other) {
			t.Fatalf("a reader saw %d bytes, %v", len(got), err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("beside it: %v %v", left, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
}

// What cannot be put in its place leaves what was there, and nothing beside it.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "within"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(taken, []byte("x")); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if err := durable.WriteFile(filepath.Join(dir, "missing", "f"), []byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no directory: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || !left[0].IsDir() {
		t.Errorf("left: %v %v", left, err)
	}
	path := filepath.Join(dir, "of-all")
	if err := durable.Replace(path, ".x-*", 0o644, []byte("y")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", st, err)
	}
}

// What a writer that was killed has left goes with the next writing beside it, and nothing else: no file that is being written, and
// nothing that is called otherwise or is no file.
func TestLeftoversOfKilledWriters(t *testing.T) {
	dir := t.TempDir()
	long := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".new-123", ".new-0", ".new-99", ".new-12a", "new-5", ".new-"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name != ".new-99" {
			if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".new-7"), 0o700), os.Chtimes(filepath.Join(dir, ".new-7"), long, long)); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(filepath.Join(dir, "file"), []byte("whole")); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := ".new- .new-12a .new-7 .new-99 file new-5"; err != nil || strings.Join(left, " ") != want {
		t.Errorf("%v: there is %q, want %q", err, left, want)
	}
}
