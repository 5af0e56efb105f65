package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gridbroker/testdata/testbed"
)

const adoptable = `[
	JobType = "parametric"; Parameters = 3; JobName = "adoptable";
	Executable = "/bin/sh"; Arguments = "-c 'echo run >> out.txt; sleep 3'";
	StdOutput = "log.txt"; OutputSandbox = {"out.txt"};
]`

// Jobs at a real A-REX of either version come back into lost records under
// their ids, with their descriptions, once, and go on as if nothing had been.
func TestAdoptARC(t *testing.T) {
	t.Parallel()
	bed := testbed.NeedARC(t)
	for _, url := range []string{bed.REST10[0], bed.REST11[0]} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			newUser(t, bed).adopts(url)
		})
	}
}

// The same at a real Slurm.
func TestAdoptSlurm(t *testing.T) {
	conf := filepath.Join(testbed.Dir(), "slurm", "slurm.conf")
	if out, err := (&exec.Cmd{Path: "/usr/bin/sinfo", Args: []string{"sinfo"}, Env: []string{"SLURM_CONF=" + conf}}).CombinedOutput(); err != nil {
		t.Skipf("no Slurm here: %v %s", err, out)
	}
	dir := testbed.Home(t)
	u := &user{t, dir, map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "SLURM_CONF": conf, "GRID_STATE_DIR": filepath.Join(dir, "state")}}
	u.adopts("slurm:" + filepath.Join(dir, "jobs"))
}

// And at a real HTCondor.
func TestAdoptHTCondor(t *testing.T) {
	env := testbed.Env(t, "condor")
	base, err := os.MkdirTemp(env["GRID_CONDOR_JOBS"], "adopt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	dir := testbed.Home(t)
	u := &user{t, dir, map[string]string{"HOME": dir, "PATH": env["GRID_CONDOR_BIN"] + ":" + os.Getenv("PATH"), "GRID_STATE_DIR": filepath.Join(dir, "state")}}
	u.adopts("condor:" + base + "/jobs")
}

// adopts sends jobs, loses the records, and has the jobs back.
func (u *user) adopts(url string) {
	u.t.Helper()
	u.grid(0, "submit", "--info", url, u.write("sweep.jdl", adoptable))
	before := u.jobs()
	var ids []string
	for _, j := range before {
		ids = append(ids, j.ID)
	}
	u.t.Cleanup(func() { u.grid(0, append([]string{"cancel", "--yes"}, ids...)...) })
	if err := os.RemoveAll(filepath.Join(u.dir, "state")); err != nil {
		u.t.Fatal(err)
	}
	u.grid(0, "adopt", "--dry-run", url)
	if n := len(u.jobs()); n != 0 {
		u.t.Fatalf("%d jobs recorded by a dry run", n)
	}
	out, _ := u.grid(0, "adopt", "--json", url)
	var doc struct {
		Jobs []struct{ ID, JDL, Name string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		u.t.Fatal(err)
	}
	found := 0
	for _, j := range doc.Jobs {
		if !slices.Contains(ids, j.ID) {
			continue // the user's other jobs there
		}
		if found++; j.JDL == "" || j.Name == j.ID {
			u.t.Errorf("job %s came back as %q, described as %q", j.ID, j.Name, j.JDL)
		}
	}
	if found != 3 {
		u.t.Fatalf("%d of 3 jobs came back: %s", found, out)
	}
	u.grid(0, append([]string{"watch"}, ids...)...)
	if out, _ := u.grid(0, "adopt", "--json", "--dry-run", url); slices.ContainsFunc(ids, func(id string) bool { return contains(out, id) }) {
		u.t.Errorf("adopted twice: %s", out)
	}
	u.grid(0, append([]string{"output", "--dir", "out"}, ids...)...)
	for _, j := range u.jobs() {
		if !slices.Contains(ids, j.ID) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(j.Output, "out.txt"))
		if err != nil || string(text) != "run\n" || j.State != "done" {
			u.t.Errorf("job %s is %s and left %q (%v)", j.ID, j.State, text, err)
		}
	}
	if len(before) != 3 {
		u.t.Error(fmt.Errorf("%d jobs were sent", len(before)))
	}
}

// contains reports whether a document names a job.
func contains(doc, id string) bool {
	var d struct{ Jobs []struct{ ID string } }
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		return true
	}
	return slices.ContainsFunc(d.Jobs, func(j struct{ ID string }) bool { return j.ID == id })
}
