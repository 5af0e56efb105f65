package slurm

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/plugins"
)

// lab is a back-end whose Slurm commands are the scripts of testdata/fake.
type lab struct {
	*Backend
	t    *testing.T
	dir  string
	url  string
	time time.Time
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, dir: t.TempDir(), url: "slurm:" + t.TempDir() + "/base", time: time.Now()}
	if err := os.CopyFS(l.dir, os.DirFS("testdata/fake")); err != nil {
		t.Fatal(err)
	}
	l.write("jobs", "")
	l.waits(700 * time.Millisecond)
	t.Cleanup(func() {
		l.Close()
		base := strings.TrimPrefix(l.url, "slurm:")
		for range 100 { // the stand-in's jobs run in the background
			if os.RemoveAll(base) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	return l
}

// waits opens the back-end that waits so long for a command.
func (l *lab) waits(most time.Duration) {
	l.Backend = New(Options{
		Environ: []string{"PATH=" + l.dir + ":" + os.Getenv("PATH"), "SECRET=do not tell"}, Home: l.t.TempDir(),
		Command: most, Now: func() time.Time { return l.time },
	})
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) lines(name string) []string {
	text, _ := os.ReadFile(filepath.Join(l.dir, name))
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// requests makes n jobs that end with codes 0, 1, 2 ...
func (l *lab) requests(prefix string, n int) []plugins.Request {
	var reqs []plugins.Request
	for i := range n {
		reqs = append(reqs, plugins.Request{ID: fmt.Sprint(prefix, i), Endpoint: glue.Endpoint{URL: l.url},
			Job: &jdl.Job{Executable: "/bin/sh", Args: []string{"-c", fmt.Sprint("exit ", i)}, Demand: jdl.Demand{Slots: 1}}})
	}
	return reqs
}

func (l *lab) submit(reqs []plugins.Request) []plugins.Handle {
	l.t.Helper()
	var hs []plugins.Handle
	for _, r := range l.Submit(l.t.Context(), reqs, nil) {
		if r.Err != nil {
			l.t.Fatal(r.Err)
		}
		hs = append(hs, r.Handle)
	}
	return hs
}

// outcomes waits until n jobs have written theirs.
func (l *lab) outcomes(n int) {
	l.t.Helper()
	base := strings.TrimPrefix(l.url, "slurm:")
	for range 100 {
		files, _ := filepath.Glob(base + "/jobs/*/outcome")
		ended := 0
		for _, f := range files {
			if text, _ := os.ReadFile(f); strings.Contains(string(text), "ended ") {
				ended++
			}
		}
		if ended == n {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	l.t.Fatalf("not %d outcomes", n)
}

func kind(t *testing.T, err error) plugins.Kind {
	t.Helper()
	e, ok := err.(*plugins.Error)
	if !ok {
		t.Fatalf("%v is no *plugins.Error", err)
	}
	return e.Kind
}

// Without accounting, jobs that the controller has forgotten are told by what
// they wrote themselves.
func TestAccountingOff(t *testing.T) {
	l := newLab(t)
	hs := l.submit(l.requests("a", 3))
	for _, st := range l.Status(t.Context(), hs) {
		if st.State != plugins.Queued || st.Err != nil {
			t.Errorf("%+v", st)
		}
	}
	l.outcomes(3)
	l.write("forgotten", "")
	for range 2 {
		for i, st := range l.Status(t.Context(), hs) {
			if st.State != plugins.Done || st.ExitCode != glue.Some(i) || st.Err != nil || st.Node == "" || st.Started.IsZero() {
				t.Errorf("job %d: %+v", i, st)
			}
		}
	}
	if n := len(l.lines("sacct-calls")); n != 1 {
		t.Errorf("accounting that is off was asked %d times", n)
	}
}

// TestProcessorTimeWithoutAccounting: what a job used is known from the job itself where nobody else tells it.
func TestProcessorTimeWithoutAccounting(t *testing.T) {
	l := newLab(t)
	reqs := l.requests("a", 2)
	reqs[1].Job.Args = []string{"-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 3"}
	hs := l.submit(reqs)
	l.outcomes(2)
	l.write("forgotten", "")
	sts := l.Status(t.Context(), hs)
	idle, busy := sts[0], sts[1]
	if busy.ExitCode != glue.Some(3) || busy.CPUTime < 20*time.Millisecond || busy.CPUTime > time.Minute || idle.CPUTime >= busy.CPUTime {
		t.Errorf("idle %v; busy %+v", idle.CPUTime, busy)
	}
}

// TestFilesAreReadWhileAccountingThinks: accounting that answers only when the jobs' own files were asked for holds nobody up.
func TestFilesAreReadWhileAccountingThinks(t *testing.T) {
	l := newLab(t)
	l.Backend = New(Options{Environ: []string{"PATH=" + l.dir + ":" + os.Getenv("PATH")}, Home: t.TempDir(), Command: time.Minute, Now: time.Now})
	t.Cleanup(func() { l.Backend.Close() })
	hs := l.submit(l.requests("a", 1))
	l.outcomes(1)
	l.write("forgotten", "")
	for name, text := range map[string]string{
		"cat":   "#!/bin/sh\n: >\"${0%/*}/read\"\nPATH=/bin:/usr/bin exec cat \"$@\"\n",
		"sacct": "#!/bin/sh\nfor i in $(seq 200); do [ -e \"${0%/*}/read\" ] && { echo 'Slurm accounting storage is disabled' >&2; exit 1; }; sleep 0.05; done\nexit 2\n",
	} {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if st := l.Status(t.Context(), hs)[0]; st.State != plugins.Done || st.Err != nil || !l.acctOff() {
		t.Errorf("%+v", st)
	}
}

// acctOff tells whether the cluster has said that it keeps no accounting.
func (l *lab) acctOff() bool {
	s, err := l.At(l.url)
	return err == nil && s.acctOff
}

// Equal options make an array, whatever the jobs' own words.
func TestOneArrayForEqualOptions(t *testing.T) {
	l := newLab(t)
	reqs := l.requests("a", 5)
	reqs[4].Job.Demand.WallTime = time.Hour
	hs := l.submit(reqs)
	if jobs := l.lines("jobs"); len(jobs) != 2 || !strings.HasSuffix(jobs[0], " 1-4") || jobs[1] != "2 a4 " {
		t.Errorf("jobs at Slurm: %q", jobs)
	}
	if hs[3].ID != "1_4/a3" || hs[4].ID != "2/a4" {
		t.Errorf("handles %v", hs)
	}
	if options := strings.Join(l.lines("options"), "\n"); strings.Contains(options, "exit") {
		t.Errorf("a word of a job among sbatch's options: %s", options)
	}
}

func TestHangingQueue(t *testing.T) {
	l := newLab(t)
	hs := l.submit(l.requests("a", 2))
	l.outcomes(2)
	l.write("hang", "")
	start := time.Now()
	for _, st := range l.Status(t.Context(), hs) {
		if st.State != plugins.Unknown || kind(t, st.Err) != plugins.Unavailable {
			t.Errorf("%+v", st)
		}
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("a hanging squeue cost %v", took)
	}
}

// Accounting that does not answer is no verdict on jobs that wrote nothing,
// and is not waited for in every sweep.
func TestHangingAccounting(t *testing.T) {
	l := newLab(t)
	l.write("sacct-hang", "")
	hs := l.submit(l.requests("a", 2))
	l.outcomes(2)
	l.write("forgotten", "")
	base := strings.TrimPrefix(l.url, "slurm:")
	if err := os.Remove(base + "/jobs/a1/outcome"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		sts := l.Status(t.Context(), hs)
		if sts[0].State != plugins.Done || sts[0].ExitCode != glue.Some(0) {
			t.Errorf("with an outcome: %+v", sts[0])
		}
		if sts[1].State != plugins.Unknown || kind(t, sts[1].Err) != plugins.Unavailable {
			t.Errorf("without one: %+v", sts[1])
		}
	}
	if n := len(l.lines("sacct-calls")); n != 1 {
		t.Errorf("silent accounting was asked %d times", n)
	}
	l.time = l.time.Add(acctPause)
	l.Status(t.Context(), hs)
	if n := len(l.lines("sacct-calls")); n != 2 {
		t.Errorf("after a pause asked %d times in all, want 2", n)
	}
}

// sbatch took the job and did not say so: neither lost nor sent twice.
func TestSocketTimeout(t *testing.T) {
	l := newLab(t)
	l.write("timeout", "")
	reqs := append(l.requests("a", 1), l.requests("b", 3)...)
	reqs[0].Job.Demand.WallTime = time.Hour // a group of its own
	for _, r := range l.Submit(t.Context(), reqs, nil) {
		if kind(t, r.Err) != plugins.Uncertain {
			t.Errorf("%+v", r)
		}
	}
	ids := []string{"a0", "b0", "b1", "b2", "never"}
	found, err := l.Find(t.Context(), reqs[0].Endpoint, ids)
	if err != nil || len(found) != 4 || found["a0"].ID != "1/a0" || found["b2"].ID != "2_3/b2" {
		t.Errorf("%v %v", found, err)
	}
	os.Remove(filepath.Join(l.dir, "timeout"))
	for _, r := range l.Submit(t.Context(), reqs, nil) {
		if r.Err != nil || r.Handle != found[r.ID] {
			t.Errorf("sent again: %+v, want %v", r, found[r.ID])
		}
	}
	if n := len(l.lines("jobs")); n != 2 {
		t.Errorf("Slurm has %d jobs, want 2", n)
	}
}

func TestRefusals(t *testing.T) {
	l := newLab(t)
	l.write("refuse", "sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission failed: Invalid partition name specified\n")
	reqs := l.requests("a", 1)
	r := l.Submit(t.Context(), reqs, nil)[0]
	if kind(t, r.Err) != plugins.Refused || !strings.Contains(r.Err.Error(), "Invalid partition name") {
		t.Errorf("%v", r.Err)
	}
	for id, c := range map[string]struct {
		said string
		want plugins.Kind
	}{
		"closed": {notConnected, plugins.Unavailable},
		"slow":   {"Socket timed out on send/recv operation\nsbatch: error: Batch job submission failed: " + notConnected, plugins.Uncertain},
		"cut":    {"Unable to contact slurm controller (send failure)", plugins.Uncertain},
	} {
		l.write("refuse", "sbatch: error: Batch job submission failed: "+c.said+"\n")
		if r := l.Submit(t.Context(), l.requests(id, 1), nil)[0]; kind(t, r.Err) != c.want {
			t.Errorf("%s: %v", c.said, r.Err)
		}
	}
	twice := append(l.requests("b", 1), l.requests("b", 1)...)
	if rs := l.Submit(t.Context(), twice, nil); kind(t, rs[1].Err) != plugins.Invalid {
		t.Errorf("one id twice: %v", rs[1].Err)
	}
	for name, change := range map[string]func(*plugins.Request){
		"path as id":     func(q *plugins.Request) { q.ID = "../x" },
		"output outside": func(q *plugins.Request) { q.Job.StdOutput = "../x" },
		"input outside": func(q *plugins.Request) {
			q.Job.InputSandbox = []jdl.InputFile{{Source: "/etc/passwd", Name: "a/../../x"}}
		},
		"line break":      func(q *plugins.Request) { q.Job.StdError = "a\nb" },
		"zero byte":       func(q *plugins.Request) { q.Job.Args = []string{"a\x00b"} },
		"variable's name": func(q *plugins.Request) { q.Job.Environment = []jdl.EnvVar{{Name: "A=1; touch x #"}} },
	} {
		q := l.requests("c", 1)
		change(&q[0])
		if k := kind(t, l.Submit(t.Context(), q, nil)[0].Err); k != plugins.Invalid {
			t.Errorf("%s: %v", name, k)
		}
	}
	long := l.requests("d", 1)
	long[0].Resource = &glue.Resource{Queue: "short", MaxWallTime: glue.Some(time.Hour)}
	long[0].Job.Demand.WallTime = 2 * time.Hour
	if k := kind(t, l.Submit(t.Context(), long, nil)[0].Err); k != plugins.Refused {
		t.Errorf("longer than the partition's limit: %v", k)
	}
}

// A Slurm that has lost its state gives its numbers anew: a job whose number another
// of ours has now, alone or in an array, keeps its own end, and nothing of it ends the other.
func TestNumbersThatBeginAnew(t *testing.T) {
	l := newLab(t)
	l.waits(time.Minute) // a busy machine starts programs late
	old := append(l.requests("a", 3), l.requests("c", 1)...)
	old[3].Job.Demand.WallTime = time.Hour // a group of its own
	hs := l.submit(old)
	l.outcomes(4)
	l.write("jobs", "")
	anew := append(l.requests("b", 4), l.requests("d", 1)...)
	anew[4].Job.Demand.WallTime = time.Hour
	if got := l.submit(anew); got[1].ID != "1_2/b1" || got[4].ID != "2/d0" {
		t.Fatal(got)
	}
	for i, st := range l.Status(t.Context(), hs) {
		if st.State != plugins.Done || st.ExitCode != glue.Some(i%3) {
			t.Errorf("job %d: %+v", i, st)
		}
	}
	l.Cancel(t.Context(), hs)
	if got := l.lines("cancelled"); len(got) != 1 || got[0] != "" {
		t.Errorf("told scancel %q", got)
	}
}

// A job whose submission left no id, and that had ended and was forgotten by a Slurm
// without accounting before it was looked for, is found all the same: it ran.
func TestEndedBeforeItIsLookedFor(t *testing.T) {
	l := newLab(t)
	l.write("lost", "")
	reqs := append(l.requests("a", 1), l.requests("b", 3)...)
	reqs[0].Job.Demand.WallTime = time.Hour // a group of its own
	for _, r := range l.Submit(t.Context(), reqs, nil) {
		if kind(t, r.Err) != plugins.Uncertain {
			t.Errorf("%+v", r)
		}
	}
	l.outcomes(4)
	l.write("forgotten", "")
	found, err := l.Find(t.Context(), reqs[0].Endpoint, []string{"a0", "b0", "b1", "b2"})
	if err != nil || len(found) != 4 || found["a0"].ID != "1/a0" || found["b2"].ID != "2_3/b2" {
		t.Fatalf("%v %v", found, err)
	}
	for i, st := range l.Status(t.Context(), []plugins.Handle{found["b0"], found["b1"], found["b2"]}) {
		if st.State != plugins.Done || st.ExitCode != glue.Some(i) {
			t.Errorf("%+v", st)
		}
	}
}

// What Slurm was asked about and did not have runs nothing when it comes all the
// same, from a submission that had waited on its way.
func TestLateArrivalsRunNothing(t *testing.T) {
	l := newLab(t)
	l.write("timeout", "")
	reqs := l.requests("a", 1)
	ran := filepath.Join(t.TempDir(), "ran")
	reqs[0].Job.Args = []string{"-c", "touch " + ran}
	l.Submit(t.Context(), reqs, nil)
	l.write("jobs", "") // it is on its way
	if found, err := l.Find(t.Context(), reqs[0].Endpoint, []string{"a0"}); err != nil || len(found) != 0 {
		t.Fatal(found, err)
	}
	base := strings.TrimPrefix(l.url, "slurm:")
	batches, _ := filepath.Glob(base + "/batches/*")
	if len(batches) != 1 {
		t.Fatal(batches)
	}
	cmd := exec.Command("sh", "job.sh", "g0")
	cmd.Dir = batches[0]
	if err := cmd.Run(); err == nil {
		t.Error("it ran to its end")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the job's program ran")
	}
}

// Only jobs that the queue shows as ours are named to scancel.
func TestCancelNamesOwnJobsOnly(t *testing.T) {
	l := newLab(t)
	hs := l.submit(l.requests("a", 2))
	hs = append(hs, plugins.Handle{Endpoint: l.url, ID: "1/somebody"}, plugins.Handle{Endpoint: l.url, ID: "99/x"}, plugins.Handle{Endpoint: l.url, ID: "1; rm -rf /"})
	for _, err := range l.Cancel(t.Context(), hs) {
		if err != nil {
			t.Error(err)
		}
	}
	if got := l.lines("cancelled"); len(got) != 1 || got[0] != "--quiet 1_1 1_2" {
		t.Errorf("told scancel %q", got)
	}
}

func TestJobsDoNotSeeTheCallersSecrets(t *testing.T) {
	l := newLab(t)
	reqs := l.requests("a", 1)
	reqs[0].Job.Args = []string{"-c", "env"}
	reqs[0].Job.StdOutput = "out"
	hs := l.submit(reqs)
	l.outcomes(1)
	dir := t.TempDir()
	got := l.Fetch(t.Context(), []plugins.FetchRequest{{Handle: hs[0], Dir: dir}}, nil)
	text, err := os.ReadFile(filepath.Join(dir, "out"))
	if got[0].Err != nil || err != nil || strings.Contains(string(text), "do not tell") || !strings.Contains(string(text), "PATH=") {
		t.Errorf("%v %v %s", got[0].Err, err, text)
	}
}

// Files by URL are fetched and sent by the node itself; one that is not there
// fails the job before it starts.
func TestFilesByURL(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	l := newLab(t)
	var sent string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, _ := io.ReadAll(req.Body)
		switch {
		case req.Method == http.MethodPut && req.URL.Path == "/out it's":
			sent = string(text)
		case req.URL.Path == "/in":
			fmt.Fprint(w, "from afar")
		default:
			http.NotFound(w, req)
		}
	}))
	defer srv.Close()
	job := &jdl.Job{Executable: "/bin/cp", Args: []string{"local name", "result"}, Demand: jdl.Demand{Slots: 1},
		InputSandbox:  []jdl.InputFile{{Source: srv.URL + "/in", Name: "local name"}},
		OutputSandbox: []jdl.OutputFile{{Name: "result", DestURL: srv.URL + "/out%20it's"}}}
	missing := *job
	missing.InputSandbox = []jdl.InputFile{{Source: srv.URL + "/missing", Name: "local name"}}
	ep := glue.Endpoint{URL: l.url}
	hs := l.submit([]plugins.Request{{ID: "a", Job: job, Endpoint: ep}, {ID: "b", Job: &missing, Endpoint: ep}})
	l.outcomes(2)
	l.write("forgotten", "")
	sts := l.Status(t.Context(), hs)
	if sts[0].State != plugins.Done || sent != "from afar" {
		t.Errorf("%+v, sent %q", sts[0], sent)
	}
	if sts[1].State != plugins.Failed || sts[1].Reason != "stage-in failed" {
		t.Errorf("%+v", sts[1])
	}
}

// TestNumbersOfOthersJobs: numbers begin anew where a controller lost its state. Another user's job that has the number and
// the name of ours, by an account to which accounting shows everybody's, says nothing of ours.
func TestNumbersOfOthersJobs(t *testing.T) {
	l := newLab(t)
	hs := l.submit(l.requests("a", 1))
	l.outcomes(1)
	l.write("forgotten", "")
	number, id, _ := strings.Cut(hs[0].ID, "/")
	theirs := strings.Join([]string{number, id, "CANCELLED by 1000", "0:0", "1700000000", "1700000001", "1700000002", "00:00:00", "", "n7", "None"}, "|")
	l.write("theirs", theirs+"\n")
	sacct := "#!/bin/sh\ncase \" $* \" in *\" --user=$(id -un) \"*) ;; *) cat \"${0%/*}/theirs\" ;; esac\n"
	if err := os.WriteFile(filepath.Join(l.dir, "sacct"), []byte(sacct), 0o700); err != nil {
		t.Fatal(err)
	}
	if st := l.Status(t.Context(), hs)[0]; st.State != plugins.Done || st.ExitCode != glue.Some(0) || st.Node == "n7" {
		t.Errorf("%+v", st)
	}
}
