package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// command runs one of Slurm's commands at the cluster.
func (s *slurm) command(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "SLURM_CONF="+s.conf)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// fill takes all nodes of the cluster for so many minutes, as its user says, and
// returns the id of the job.
func (s *slurm) fill(t *testing.T, minutes int) string {
	t.Helper()
	id := s.command(t, "sbatch", "--parsable", "--nodes=8", "--exclusive", fmt.Sprint("--time=", minutes), "--output=/dev/null", "--wrap=sleep 7200")
	for end := time.Now().Add(time.Minute); s.command(t, "squeue", "--noheader", "--format=%t", "--jobs="+id) != "R"; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("job %s does not start", id)
		}
	}
	return id
}

// ours are the jobs of a cluster's queue that come from here.
func (s *slurm) ours(t *testing.T, w *world) int {
	t.Helper()
	return strings.Count(s.command(t, "squeue", "--noheader", "--array", "--format=%Z"), w.dir)
}

// moved is what the test looks at in a job's record.
type moved struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Resource string `json:"resource"`
	Attempts int    `json:"attempts"`
	Past     []struct {
		State    string `json:"state"`
		Resource string `json:"resource"`
	} `json:"past"`
}

func (w *world) recorded() []moved {
	w.t.Helper()
	var doc struct {
		Jobs []moved `json:"jobs"`
	}
	out, msg, _ := w.try("list", "--json")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		w.t.Fatalf("%v in %q\n%s", err, out, msg)
	}
	return doc.Jobs
}

// Two real Slurms: jobs that wait at the one, behind a job of twenty minutes,
// stay there as long as the other is worse; when the other becomes free long
// before its time, grid follow takes them back and sends them there. Each runs
// once, and none goes back when the first becomes free, too.
func TestReplannedAtAnotherCluster(t *testing.T) {
	t.Parallel()
	first, second := newSlurm(t, 27831), newSlurm(t, 27861)
	w, urls := userOf(t, first, second)
	sources := append(w.infos(urls...), "--no-cache", "--site", "*/short")
	for i, url := range urls { // both are known to run jobs: one that takes a second here and none there
		if _, msg, code := w.try(append([]string{"submit", "--wait", "--info", url, "--site", "*/short"}, w.jobs(1, []string{"sleep 1", "true"}[i])...)...); code != 0 {
			t.Fatal(msg)
		}
	}
	short, long := first.fill(t, 20), second.fill(t, 55)

	ran := filepath.Join(w.dir, "ran")
	files := w.jobs(8, "echo # >> "+ran+"; sleep 3")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, append(text, "WallTime = 120; JobName = \"moved\";\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, msg, code := w.try(append(append([]string{"submit"}, sources...), files...)...)
	if code != 0 {
		t.Fatal(msg)
	}
	if n := first.ours(t, w); n != len(files) {
		t.Fatalf("%d of %d jobs wait behind the shorter job, %d behind the longer\n%s", n, len(files), second.ours(t, w), msg)
	}

	var said bytes.Buffer
	follow := w.command(append([]string{"follow", "--replan", "5s", "--pause", "2s", "--metrics", ""}, sources...)...)
	follow.Stdout, follow.Stderr = &said, &said
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() { _ = follow.Process.Signal(syscall.SIGTERM); _ = follow.Wait() }
	time.Sleep(15 * time.Second) // several looks
	if n, m := first.ours(t, w), second.ours(t, w); n != len(files) || m != 0 {
		t.Errorf("nothing has changed, and %d jobs are at the first cluster, %d at the second", n, m)
	}

	second.command(t, "scancel", long)
	began := time.Now()
	for end := began.Add(4 * time.Minute); second.ours(t, w)+w.ended() < len(files) && time.Now().Before(end); {
		time.Sleep(500 * time.Millisecond)
	}
	first.command(t, "scancel", short) // now both are free
	for end := began.Add(4 * time.Minute); w.ended() < len(files) && time.Now().Before(end); {
		time.Sleep(500 * time.Millisecond)
	}
	took := time.Since(began)
	stop()

	for _, j := range w.recorded() {
		if j.Name != "moved" {
			continue
		}
		if j.State != "done" || !strings.Contains(j.Resource, "cluster1") || j.Attempts != 2 ||
			len(j.Past) != 1 || !strings.Contains(j.Past[0].Resource, "cluster0") {
			t.Errorf("%+v", j)
		}
	}
	text, err := os.ReadFile(ran)
	if err != nil {
		t.Error(err)
	}
	lines := strings.Fields(string(text))
	slices.Sort(lines)
	if got, want := strings.Join(lines, " "), "0 1 2 3 4 5 6 7"; got != want {
		t.Errorf("these ran: %s; want %s", got, want)
	}
	t.Logf("all had ended %v after the second cluster became free; the first would have taken them after 20 minutes", took.Round(time.Second))
	if t.Failed() {
		t.Log(said.String())
		terms, msg, _ := w.try(append(append([]string{"match", "--terms"}, sources...), files[0])...) // what is thought of the two, errors included
		t.Log(terms, msg)
	}
}

// ended is how many of the jobs that may move are done, without asking anybody.
func (w *world) ended() (n int) {
	for _, j := range w.recorded() {
		if j.Name == "moved" && j.State == "done" {
			n++
		}
	}
	return n
}
