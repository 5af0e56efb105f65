package main_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestStandardOutputIsClosed: who submits with standard output closed is told the ids on standard error; who sends them to
// the null device is not.
func TestStandardOutputIsClosed(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	for redirect, told := range map[string]bool{">&-": true, "--json >&-": true, ">/dev/null": false} {
		cmd := exec.Command("sh", "-c", `"$0" submit --info local: /dev/stdin `+redirect, w.exe)
		cmd.Env, cmd.Dir = w.env, w.dir
		var msg bytes.Buffer
		cmd.Stdin, cmd.Stderr = strings.NewReader(`Executable = "/bin/true";`), &msg
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v: %s", redirect, err, msg.String())
		}
		all := w.status()
		id := all[len(all)-1].ID
		if is := strings.Contains(msg.String(), id) && strings.Contains(msg.String(), "standard output is closed"); is != told {
			t.Errorf("%s: job %s, standard error says: %s", redirect, id, msg.String())
		}
		w.try("cancel", "--all")
		w.try("clean", "--all", "--forget")
	}
}
