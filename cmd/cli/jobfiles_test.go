package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNamedPipe opens a pipe that has a writer, and one that has none.
func TestNamedPipe(t *testing.T) {
	idle, path := filepath.Join(t.TempDir(), "idle.jdl"), filepath.Join(t.TempDir(), "job.jdl")
	for _, p := range []string{idle, path} {
		if err := syscall.Mkfifo(p, 0o600); err != nil {
			t.Skip(err)
		}
	}
	if _, err := openWithin(idle, 20*time.Millisecond); err == nil || !strings.Contains(err.Error(), "nothing wrote to it for 20ms") {
		t.Errorf("no writer: %v", err)
	}
	failed := make(chan error, 1)
	go func() { failed <- os.WriteFile(path, []byte("Executable"), 0) }()
	f, err := openWithin(path, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil || len(text) == 0 {
		t.Errorf("read %q: %v", text, err)
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// TestReadNamed reads what flags and variables name: files and pipes, which a shell puts
// in the place of <(command), and neither devices nor what has no end.
func TestReadNamed(t *testing.T) {
	dir := t.TempDir()
	file, pipe, long := filepath.Join(dir, "grid.toml"), filepath.Join(dir, "pipe"), filepath.Join(dir, "long")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(long, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, maxNamed+1); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- os.WriteFile(pipe, []byte("text"), 0) }()
	for _, name := range []string{file, pipe} {
		if text, err := readNamed(name); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"/dev/zero": "neither a file nor a pipe", long: "longer than 16 MB", dir: "is a directory", file + ".absent": "no such file"} {
		if _, err := readNamed(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSilentPipes: a pipe that was opened and says nothing, or nothing more, is not waited for
// without end, and is named.
func TestSilentPipes(t *testing.T) {
	t.Parallel()
	for said, read := range map[string]func(string) error{
		"":             func(path string) error { _, err := readNamed(path); return err },
		"sources = [":  func(path string) error { _, err := readNamed(path); return err },
		"policies = [": func(path string) error { _, err := loadScenario(path); return err },
	} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Skip(err)
			}
			end := make(chan struct{})
			t.Cleanup(func() { close(end) })
			go func() {
				f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
				if err != nil {
					return
				}
				defer f.Close()
				_, _ = f.WriteString(said)
				<-end
			}()
			began := time.Now()
			if err := read(pipe); err == nil || !strings.Contains(err.Error(), pipe+" is a named pipe, and nothing wrote to it") {
				t.Error(err)
			}
			if took := time.Since(began); took > 3*pipeWait {
				t.Errorf("it took %v", took)
			}
		})
	}
}
