package cli_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/forecast/scheduler"
	"gridbroker/plugins/all"
)

// serveFrom runs a scheduler until the test ends, and gives what it says.
func serveFrom(t *testing.T, dir, file string) *bufio.Reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "grid", "-v", "scheduler", "serve", "--file", file)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return bufio.NewReader(says)
}

// saidLine waits for a line.
func saidLine(t *testing.T, says *bufio.Reader, words ...string) {
	t.Helper()
	var all strings.Builder
	for {
		line, err := says.ReadString('\n')
		all.WriteString(line)
		has := true
		for _, w := range words {
			has = has && strings.Contains(line, w)
		}
		if has {
			return
		}
		if err != nil {
			t.Fatalf("%v after\n%s", err, all.String())
		}
	}
}

// A replica that has another cluster and other administrators than the one that leads warns of both by name, and so does doctor;
// one for which only the order differs, and its own name and address, does not.
func TestReplicaWithOtherSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("scheduler.key", scheduler.NewKey())
	const head = "database = \"sqlite:s.db\"\nkey_file = \"scheduler.key\"\nlisten = \"127.0.0.1:0\"\n"
	const one, two = "[[cluster]]\nname = \"one\"\nendpoint = \"local:localhost\"\nagents = [\"b\", \"a\"]\n", "[[cluster]]\nname = \"two\"\nendpoint = \"local:localhost\"\nagents = [\"a\", \"b\"]\n"
	first := write("first.toml", "name = \"first\"\nadmins = [\"x\", \"y\"]\n"+head+one+two)
	same := write("same.toml", "name = \"same\"\nadmins = [\"y\", \"x\"]\n"+head+two+strings.Replace(one, `"b", "a"`, `"a", "b"`, 1))
	other := write("other.toml", "name = \"other\"\nadmins = [\"x\"]\n"+head+one)
	if code, out, errs := oneShotWith(t, dir, all.Backends(), "scheduler", "init", "--file", first); code != 0 {
		t.Fatal(code, out, errs)
	}
	doctor := func(file string) string {
		_, out, _ := oneShotWith(t, dir, all.Backends(), "scheduler", "doctor", "--file", file)
		return out
	}
	const differ = "other settings than these: admins, cluster;"
	if said := doctor(other); strings.Contains(said, "other settings") {
		t.Errorf("while nobody leads doctor says\n%s", said)
	}
	leader := serveFrom(t, dir, first)
	saidLine(t, leader, "leading")
	go io.Copy(io.Discard, leader)
	second := serveFrom(t, dir, other)
	saidLine(t, second, "level=WARN", "leader=first", `settings="admins, cluster"`)
	go io.Copy(io.Discard, second)
	if said := doctor(other); !strings.Contains(said, "WRONG the replica that leads, first,") || !strings.Contains(strings.Join(strings.Fields(said), " "), differ) {
		t.Errorf("doctor says\n%s", said)
	}
	if said := doctor(same); strings.Contains(said, "other settings") {
		t.Errorf("of another order doctor says\n%s", said)
	}
}
