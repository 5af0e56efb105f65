package durable

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What lies in the place of a directory that is to be made is used where it is a
// directory of the user's own; links on the way are followed, one in its place is not.
func TestOwnRoot(t *testing.T) {
	top, elsewhere := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	must(t, os.Symlink(elsewhere, at("link")))
	must(t, os.Symlink(at("nowhere"), at("dangling")))
	must(t, os.WriteFile(at("file"), nil, 0o600))
	must(t, syscall.Mkfifo(at("pipe"), 0o600))
	must(t, os.Mkdir(at("there"), 0o700))
	for name, want := range map[string]string{"new": "", "deep/new": "", "there": "", "link/new": "", "there/": "",
		"link": "is a link", "dangling": "is a link", "file": "no directory", "pipe": "no directory"} {
		root, err := OwnRoot(at(name), 0o700)
		if err == nil {
			err = root.Mkdir("within", 0o700)
			root.Close()
		}
		if want == "" && err != nil && !os.IsExist(err) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at(name))) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if there, err := os.ReadDir(elsewhere); err != nil || len(there) != 1 {
		t.Errorf("behind the link are %v (%v), not what was made below it alone", there, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("to give directories away takes root")
	}
	must(t, os.Chown(at("there"), 4711, -1))
	if _, err := OwnRoot(at("there"), 0o700); err == nil || !strings.Contains(err.Error(), "4711") {
		t.Errorf("a directory of somebody else: %v", err)
	}
	must(t, os.Chown(top, 4711, -1)) // as where all files of a mount belong to one user
	if _, err := OwnRoot(at("there"), 0o700); err != nil {
		t.Errorf("a directory of whom the one above belongs to: %v", err)
	}
}

// ReadFile waits for nothing, and has a bound.
func TestReadFile(t *testing.T) {
	at := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(at, []byte("text"), 0o600))
	must(t, syscall.Mkfifo(at+".pipe", 0o600))
	if text, err := ReadFile(at, 4); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	for name, limit := range map[string]int64{at: 3, at + ".pipe": 9, "/dev/zero": 9, t.TempDir(): 9} {
		if text, err := ReadFile(name, limit); err == nil || !strings.Contains(err.Error(), name) || text != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := ReadFile(at+".absent", 1); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
