package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopiedState: a state directory that was copied while jobs of this machine run and wait, and is used beside
// the first: nothing runs twice, none is ended, and each takes new jobs.
func TestCopiedState(t *testing.T) {
	t.Parallel()
	w := newMachine(t)
	if err := os.WriteFile(filepath.Join(w.dir, "grid.toml"), []byte("[[local]]\nname = \"here\"\nslots = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := func() []string {
		text, _ := os.ReadFile(filepath.Join(w.dir, "ran"))
		return strings.Fields(string(text))
	}
	w.grid(append([]string{"submit", "--info", "local:"}, w.jobs(2, "echo # >>"+w.dir+"/ran; until test -e "+w.dir+"/go; do sleep 0.1; done")...)...)
	w.until("one runs", func() bool { return len(ran()) == 1 })
	if out, err := exec.Command("cp", "-a", filepath.Join(w.dir, "state"), filepath.Join(w.dir, "copy")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	c := *w
	c.env = append(c.env[:len(c.env):len(c.env)], "GRID_STATE_DIR="+filepath.Join(w.dir, "copy"))
	for _, j := range c.status() {
		if j.State != "queued" && j.State != "accepted" && j.State != "running" {
			t.Errorf("in the copy: %+v", j)
		}
	}
	if out, msg, code := c.try("status", "--all"); code == 0 || !strings.Contains(out+msg, "copy of the job's files") {
		t.Errorf("nothing says that it is a copy: %d %s%s", code, out, msg)
	}
	out, msg, code := c.try("run", "--info", "local:", "--", "/bin/echo", "well")
	if code != 0 || !strings.Contains(out, "well") {
		t.Errorf("a new job in the copy: %d %s%s", code, out, msg)
	}
	if out, msg, code := c.try("cancel", "--all", "--yes"); code != 0 {
		t.Errorf("cancel in the copy: %d %s%s", code, out, msg)
	}
	if _, _, code := c.try("clean", "--all", "--yes"); code != 0 {
		t.Errorf("clean in the copy: %d", code)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, j := range w.settle("submitting accepted queued running") {
		if j.State != "done" || j.ExitCode == nil || *j.ExitCode != 0 {
			t.Errorf("where they were copied from: %+v", j)
		}
	}
	if got := ran(); len(got) != 2 {
		t.Errorf("they ran: %q", got)
	}
}
