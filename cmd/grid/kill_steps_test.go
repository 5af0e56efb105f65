package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// A killed submission dies at a call of one of its threads: strace(1) sends
// SIGKILL there. Sending, receiving and recording are all such calls.
type killStep struct {
	call string
	n    int
}

// killSteps are the calls at which a submission is killed: some of them in an
// ordinary run, each of the first 120 of every kind in a long one.
func killSteps(t *testing.T) []killStep {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	some := map[string][]int{"write": {3, 5, 7, 9, 12}, "pwrite64": {20, 60, 90}, "fsync": {4, 6}}
	if os.Getenv("GRID_LONG") != "" {
		for call := range some {
			some[call] = nil
			for n := range 120 {
				some[call] = append(some[call], n+1)
			}
		}
	}
	var steps []killStep
	for call, ns := range some {
		for _, n := range ns {
			steps = append(steps, killStep{call, n})
		}
	}
	return steps
}

// killedAt sends five jobs, is killed at the step, and holds what grid status
// finds out against the jobs that are truly there, by our ids: in both
// directions, and none twice.
func (w *world) killedAt(step killStep, info string, there func() map[string]int) {
	w.t.Helper()
	args := append([]string{"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + step.call,
		"-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", step.call, step.n), w.exe,
		"submit", "--no-cache", "--info", info}, w.jobs(5, "sleep 600")...)
	cmd := exec.Command("strace", args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	out, err := cmd.Output()
	recorded := map[string]jobLine{}
	for _, j := range w.settle("submitting") {
		recorded[j.ID] = j
	}
	has := there()
	for _, line := range strings.Fields(string(out)) {
		if id, _, _ := strings.Cut(line, " "); len(id) == 15 && recorded[id].ID == "" {
			w.t.Errorf("%v: %s was printed and is not recorded", step, id)
		}
	}
	if n := len(recorded); n != 0 && n != 5 {
		w.t.Errorf("%v: %d of 5 jobs are recorded", step, n)
	}
	accepted := 0
	for id, j := range recorded {
		if has[id] > 1 {
			w.t.Errorf("%v: job %s is there %d times", step, id, has[id])
		}
		if strings.Contains("accepted preparing queued running", j.State) != (has[id] > 0) {
			w.t.Errorf("%v: job %s is %s and is there %d times", step, id, j.State, has[id])
		}
		accepted += has[id]
	}
	w.t.Logf("killed at %s number %d (%v): %d recorded, %d there", step.call, step.n, err, len(recorded), accepted)
}

// A submission to a real A-REX that is killed at any of its calls leaves
// records that agree with what the CE has.
func TestARCKilledAtCalls(t *testing.T) {
	t.Parallel()
	testbed.NeedARC(t)
	for _, step := range killSteps(t) {
		t.Run(fmt.Sprintf("%s/%d", step.call, step.n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			url := w.bed.REST10[0]
			if len(w.bed.REST11) > 0 {
				url = w.bed.REST11[0]
			}
			w.killedAt(step, url, func() map[string]int { return w.names(url) })
		})
	}
}

// The same at a real Slurm.
func TestSlurmKilledAtCalls(t *testing.T) {
	t.Parallel()
	conf := filepath.Join(testbed.Dir(), "slurm", "slurm.conf")
	if out, err := (&exec.Cmd{Path: "/usr/bin/sinfo", Args: []string{"sinfo"}, Env: []string{"SLURM_CONF=" + conf}}).CombinedOutput(); err != nil {
		t.Skipf("no Slurm here: %v %s", err, out)
	}
	for _, step := range killSteps(t) {
		t.Run(fmt.Sprintf("%s/%d", step.call, step.n), func(t *testing.T) {
			t.Parallel()
			w := newMachine(t)
			w.env = append(w.env, "SLURM_CONF="+conf)
			w.killedAt(step, "slurm:"+filepath.Join(w.dir, "jobs"), func() map[string]int {
				return w.atSlurm(conf)
			})
		})
	}
}

// atSlurm counts the jobs that Slurm has of this world, by our ids. One that no
// record names counts under its own id.
func (w *world) atSlurm(conf string) map[string]int {
	w.t.Helper()
	out, _, _ := w.try("list", "--json")
	var doc struct {
		Jobs []struct {
			ID     string
			Handle struct{ ID string }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	ours := map[string]string{}
	for _, j := range doc.Jobs {
		id, _, _ := strings.Cut(j.Handle.ID, "/") // NUMBER/DIRECTORY
		ours[id] = j.ID
	}
	cmd := exec.Command("squeue", "--noheader", "--array", "--format=%i|%Z")
	cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
	queue, err := cmd.Output()
	if err != nil {
		w.t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(queue)) {
		id, dir, _ := strings.Cut(strings.TrimSpace(line), "|")
		if !strings.HasPrefix(dir, w.dir+"/") {
			continue
		}
		if ours[id] == "" {
			w.t.Errorf("Slurm has job %s, and no record names it", id)
		}
		count[ours[id]]++
	}
	return count
}
