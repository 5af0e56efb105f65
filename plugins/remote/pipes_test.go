package remote

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipesAreNoFiles: a job that leaves a pipe, a directory or a loop of links where a file was asked for keeps nobody waiting,
// neither here nor over SSH.
func TestPipesAreNoFiles(t *testing.T) {
	d := newSSHD(t)
	over, err := d.open(d.home()).Machine.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	dir := t.TempDir()
	for name, create := range map[string]func(string) error{
		"pipe": func(at string) error { return syscall.Mkfifo(at, 0o600) },
		"dir":  func(at string) error { return syscall.Mkdir(at, 0o700) },
		"loop": func(at string) error { return syscall.Symlink("loop", at) },
		"link": func(at string) error { return syscall.Symlink("pipe", at) },
	} {
		if err := create(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for where, files := range map[string]Files{"here": disk{}, "over SSH": over} {
		for _, name := range []string{"pipe", "dir", "loop", "link"} {
			got := make(chan error, 1)
			go func() {
				r, _, err := files.Get(dir, name, 0)
				if err == nil {
					r.Close()
				}
				got <- err
			}()
			select {
			case err := <-got:
				if err == nil || name != "loop" && !strings.Contains(err.Error(), name+" is not a regular file") {
					t.Errorf("%s %s: %v", name, where, err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s %s: no answer", name, where)
			}
		}
		if list, err := files.List(dir); err != nil || len(list) > 0 {
			t.Errorf("%s: listed %v %v", where, list, err)
		}
	}
}
