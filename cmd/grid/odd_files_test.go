package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon runs grid and fails the test where it has not ended within a time that is many times what it needs.
func (w *world) soon(args ...string) (said string, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.exe, args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	text, err := cmd.CombinedOutput()
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		code = x.ExitCode()
	}
	if ctx.Err() != nil {
		w.t.Errorf("grid %s does not end", strings.Join(args, " "))
	}
	return string(text), code
}

// TestOutputWhereSomethingLies: where a pipe, a file, a link or a directory of somebody else has the name of a job's output
// directory, nothing is written, nothing is waited for, and the name is told.
func TestOutputWhereSomethingLies(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	out, msg, _ := w.try(append([]string{"submit", "--wait", "--info", "local:"}, w.jobs(1, "echo hello")...)...)
	id, _, _ := strings.Cut(out, " ")
	brought, _ := w.soon("output", id, "--dir", "first")
	dirs, err := filepath.Glob(filepath.Join(w.dir, "first", "*"+id))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%s%s%s", out, msg, brought)
	}
	name, elsewhere := filepath.Base(dirs[0]), t.TempDir()
	for kind, put := range map[string]func(at string) error{
		"pipe": func(at string) error { return syscall.Mkfifo(at, 0o600) },
		"file": func(at string) error { return os.WriteFile(at, nil, 0o600) },
		"link": func(at string) error { return os.Symlink(elsewhere, at) },
		"gift": func(at string) error { return errors.Join(os.Mkdir(at, 0o777), os.Chown(at, 4711, -1)) },
	} {
		at := filepath.Join(w.dir, kind, name)
		if kind == "gift" && os.Geteuid() != 0 {
			continue
		}
		if err := errors.Join(os.Mkdir(filepath.Dir(at), 0o700), put(at)); err != nil {
			t.Fatal(err)
		}
		if said, code := w.soon("output", id, "--dir", kind); code != 1 || !strings.Contains(said, at) {
			t.Errorf("%s: exit code %d: %s", kind, code, said)
		}
		if there, _ := os.ReadDir(at); len(there) > 0 {
			t.Errorf("%s: %v was written", kind, there)
		}
	}
}

// TestInputsThatAreOdd: a configuration of very many settings, and pipes that say nothing, are refused by name.
func TestInputsThatAreOdd(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	var many strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&many, "[t%d]\na=1\n", i)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "many.toml"), []byte(many.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"silent", "unopened"} {
		if err := syscall.Mkfifo(filepath.Join(w.dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open, err := os.OpenFile(filepath.Join(w.dir, "silent"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, args := range [][]string{
		{"list", "--config", "many.toml"},
		{"jdl", "check", "silent"}, {"jdl", "check", "unopened"},
		{"sim", "forecast", "--trace", "unopened"},
	} {
		if said, code := w.soon(args...); code == 0 || !strings.Contains(said, args[len(args)-1]) {
			t.Errorf("grid %s: exit code %d: %s", strings.Join(args, " "), code, said)
		}
	}
}

// TestConfigurationsThatCostMuch: texts of TOML in which much is little (keys that are none, each of which the reader looks up in the
// whole text; keys in one another; lists and tables without a line of their own; a large file that is well) are told in a time and
// memory that grows with them, as configuration, scheduler's configuration and scenario.
func TestConfigurationsThatCostMuch(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	var clusters, deep, keys, unknown strings.Builder
	clusters.WriteString("database = 'sqlite:x.db'\n")
	for i := range 6600 {
		fmt.Fprintf(&clusters, "[[cluster]]\nname = 'c%d'\nendpoint = 'local:'\n", i)
	}
	for i := range 1300 {
		fmt.Fprintf(&deep, "[t%s]\n", strings.Repeat(".t", i))
	}
	for i := range 400_000 {
		fmt.Fprintf(&keys, "k%d=1,", i)
	}
	for i := range 4900 {
		fmt.Fprintf(&unknown, "k%d = 1\n", i)
	}
	all := []string{"config check --config", "scheduler doctor --file", "sim grid"}
	for name, c := range map[string]struct {
		text  string
		verbs []string
	}{
		"unknown": {unknown.String() + strings.Repeat("#", 15<<20) + "\n", all[:2]}, "deep": {deep.String(), all[:2]}, "keys": {"x = {" + keys.String() + "z=1}\n", all},
		"list": {"policies = [" + strings.Repeat("'a',", 3e6) + "]\n", all}, "tables": {strings.Repeat("[[site]]\n", 1e6), all[2:]},
		"well": {clusters.String(), all[1:2]},
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range c.verbs {
			cmd := exec.CommandContext(t.Context(), w.exe, append(strings.Fields(verb), name)...)
			cmd.Env, cmd.Dir = w.env, w.dir
			var said strings.Builder
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			peak := watchMemory(cmd.Process.Pid)
			_ = cmd.Wait() // its exit code tells
			took, memory := cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), <-peak
			if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(said.String(), name) || took > 10*time.Second || memory > 400<<20 {
				t.Errorf("grid %s %s: exit code %d after %v of processor time, %d MB: %.200s", verb, name, cmd.ProcessState.ExitCode(), took, memory>>20, said.String())
			}
		}
	}
}
