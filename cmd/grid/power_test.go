package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gridbroker/durable"
	"gridbroker/durable/sqlite"
	"gridbroker/testdata/testbed"
)

// A bench is a machine whose disk is one directory, with a user who sends
// jobs to the machine itself.
type bench struct {
	exe  string
	home string   // the disk
	said string   // standard output of the programs, not on the disk
	ran  string   // a line for each job that ran, not on the disk
	env  []string // of the programs
}

const threeJobs = `[
	JobType = "parametric"; Parameters = 3;
	Executable = "/bin/sh"; Arguments = "-c 'echo _PARAM_ >>%s && cat in.txt && echo _PARAM_'";
	InputSandbox = "in.txt"; StdOutput = "out.txt"; OutputSandbox = {"out.txt"};
]`

func newBench(t *testing.T, exe string) *bench {
	t.Helper()
	dir := testbed.Home(t)
	b := &bench{exe: exe, home: filepath.Join(dir, "home"), said: filepath.Join(dir, "said"), ran: filepath.Join(dir, "ran")}
	b.env = []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH")}
	b.fresh(t)
	return b
}

// fresh is a home with nothing but the job.
func (b *bench) fresh(t *testing.T) {
	t.Helper()
	for _, path := range []string{b.home, b.said, b.ran} {
		err := os.RemoveAll(path)
		for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); err = os.RemoveAll(path) {
			time.Sleep(20 * time.Millisecond) // a job may still write that a fault has left without its runner
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"job.jdl": fmt.Sprintf(threeJobs, b.ran), "in.txt": input} {
		if err := os.WriteFile(filepath.Join(b.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// script is a user's day: submission, waiting, output.
func (b *bench) script() []string {
	return []string{"sh", "-c", `"$0" submit --wait --info local: job.jdl >"$1" 2>&1 && "$0" output --all --dir out >>"$1"; echo "exit $?" >>"$1"`, b.exe, b.said}
}

// grid runs the program and returns what it said.
func (b *bench) grid(args ...string) (string, error) {
	cmd := exec.Command(b.exe, args...)
	cmd.Env, cmd.Dir = b.env, b.home
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A listedJob is a job as list tells it; its node is the value of the sweep's
// parameter, which is what the job writes when it runs.
type listedJob struct {
	ID, State, Reason, Node string
	ExitCode                *int `json:"exit_code"`
}

// failed tells that the program itself met the fault that was put in its way:
// what it left undone is nobody's loss.
func (j listedJob) failed() bool { return j.ExitCode != nil && *j.ExitCode != 0 }

var jobID = regexp.MustCompile(`^[0-9a-z]{15}$`)

// input is the jobs' input file.
var input = strings.Repeat("input\n", 1000)

// rest waits until nothing of the bench runs any more.
func (b *bench) rest(t *testing.T) {
	t.Helper()
	f, err := os.Open(filepath.Join(b.home, ".local/state/grid/local/localhost/runner.lock"))
	if err != nil {
		return
	}
	defer f.Close()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return
		}
	}
	t.Fatal("the runner of the local jobs does not end")
}

// runs counts how often each of the jobs ran.
func (b *bench) runs() map[string]int {
	n := map[string]int{}
	text, _ := os.ReadFile(b.ran)
	for _, job := range strings.Fields(string(text)) {
		n[job]++
	}
	return n
}

// A moment is a state of the disk, and what the world outside knows then.
type moment struct {
	call string
	said string         // on standard output
	ran  map[string]int // jobs that had begun
	have func(*change) bool
}

// TestPowerLost: whatever is lost with the power, at whatever moment: ids that
// were printed name jobs that are recorded; none runs twice; what was said to
// be done is done; output that was said to be brought is there, whole. And all
// jobs can be followed to their end.
func TestPowerLost(t *testing.T) {
	t.Parallel()
	needStrace(t)
	exe := program(t)
	b := newBench(t, exe)
	d := newDisk(t, b.home)
	all := traced(t, b.home, b.env, b.script()...)
	b.rest(t)
	// Once through, to see that the model is right.
	for _, c := range all {
		d.apply(t, c)
	}
	d.compare(t)

	rng := rand.New(rand.NewPCG(1, 2))
	stride, syncs := 40, 3 // each moment costs some 0.3 s
	if os.Getenv("GRID_LONG") != "" {
		stride, syncs = 1, 1
	}
	b.fresh(t)
	d = newDisk(t, b.home)
	m := moment{ran: map[string]int{}}
	checked := 0
	for i, c := range all {
		if said := c.said(b.said); said != nil {
			m.said += string(said)
		} else if ran := c.said(b.ran); ran != nil {
			m.ran[strings.TrimSpace(string(ran))]++
		}
		before := d.marks
		d.apply(t, c)
		m.call = fmt.Sprintf("%d of %d (%s)", i+1, len(all), c.name)
		outside := c.said(b.said) != nil
		synced := strings.Contains(c.name, "sync") && d.marks > before
		if outside || synced && rng.IntN(syncs) == 0 || d.marks > before && i%stride == 0 {
			m.have = kept
			b.after(t, d, m)
			checked++
		}
		if c.queues() { // a job has its place
			m.have = without("in.txt")
			b.after(t, d, m)
			checked++
		}
		if d.marks > before && rng.IntN(stride) == 0 {
			m.have = some(rng)
			b.after(t, d, m)
			checked++
		}
		if t.Failed() {
			t.Fatalf("said until then:\n%s", m.said)
		}
	}
	t.Logf("%d calls, power lost %d times", len(all), checked)
}

// after looks at what a user finds who comes back after the power was lost.
func (b *bench) after(t *testing.T, d *disk, m moment) {
	t.Helper()
	d.restore(t, m.have)
	b.owns(t)
	os.Remove(b.ran)
	b.look(t, "power lost after call "+m.call, m.said, m.ran)
}

// owns has what was restored be what was there: its files are new ones here, as those of a copy
// are, and on a machine that comes back they are not.
func (b *bench) owns(t *testing.T) {
	t.Helper()
	state := filepath.Join(b.home, ".local/state/grid")
	site, file := filepath.Join(state, "local/localhost"), filepath.Join(state, "jobs.db")
	if place, err := durable.PlaceOf(site); err == nil && exists(filepath.Join(site, "place")) {
		if err := os.WriteFile(filepath.Join(site, "place"), []byte(place), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		return
	}
	place, err := durable.PlaceOf(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(file, sqlite.Settings{Sync: sqlite.Full, Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE place SET file = ?", place); err != nil && !strings.Contains(err.Error(), "no such table") {
		t.Fatal(err)
	}
}

// look follows all jobs to their end and holds the records against what is
// known outside: what programs said, and how often each job ran before.
func (b *bench) look(t *testing.T, when, said string, ran map[string]int) {
	t.Helper()
	defer b.rest(t)
	if out, err := b.grid("watch"); err != nil && !strings.Contains(out, "failed") {
		t.Fatalf("%s: watch: %v: %s", when, err, out)
	}
	out, err := b.grid("list", "--json")
	var doc struct{ Jobs []listedJob }
	if err != nil || json.Unmarshal([]byte(out), &doc) != nil {
		t.Fatalf("%s: list: %v: %s", when, err, out)
	}
	again := b.runs()
	jobs := map[string]listedJob{}
	for _, j := range doc.Jobs {
		jobs[j.ID] = j
		switch {
		case ran[j.Node]+again[j.Node] > 1:
			t.Errorf("%s: job %s ran %d times before and %d times after", when, j.Node, ran[j.Node], again[j.Node])
		case j.State == "done" && !j.failed() && ran[j.Node]+again[j.Node] != 1:
			t.Errorf("%s: job %s is done and never ran", when, j.Node)
		case j.State == "failed" && j.Reason == "", j.State != "done" && j.State != "failed":
			t.Errorf("%s: job %s is %s (%s)", when, j.Node, j.State, j.Reason)
		}
	}
	for _, line := range strings.Split(said, "\n") {
		b.promised(t, when, line, jobs)
	}
}

// promised holds one line that a program printed against the records and the
// disk.
func (b *bench) promised(t *testing.T, when, line string, jobs map[string]listedJob) {
	t.Helper()
	for _, word := range strings.Fields(line) {
		j, ok := jobs[word]
		switch {
		case jobID.MatchString(word) && !ok:
			t.Errorf("%s: it was said %q, and no record knows the job", when, line)
		case ok && strings.Contains(line, " done at ") && j.State != "done":
			t.Errorf("%s: it was said %q, and the job is %s", when, line, j.State)
		}
		dir := filepath.Dir(word) // out/NAME-ID
		if strings.HasPrefix(word, "out/") && !jobs[dir[strings.LastIndexByte(dir, '-')+1:]].failed() {
			text, err := os.ReadFile(filepath.Join(b.home, word))
			if err != nil || len(text) != len(input)+2 {
				t.Errorf("%s: it was said %q, and there are %d bytes (%v)", when, line, len(text), err)
			}
		}
	}
}
